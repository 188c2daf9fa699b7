"""Functions that several test files share; fixtures are in the conftest.py of each folder."""
