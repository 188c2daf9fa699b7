"""Access to the machine: OpenMP threads, BLAS and files."""
