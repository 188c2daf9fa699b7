"""What the developers run: linters of our own, mutants, the record of every model's results."""
