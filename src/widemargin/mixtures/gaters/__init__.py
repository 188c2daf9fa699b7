"""Gaters: which expert to trust for an input (thesis 6.3 and 6.4)."""
