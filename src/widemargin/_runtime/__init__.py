"""What the package needs of the machine: threads, BLAS and files."""
