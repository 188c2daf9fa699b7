"""The algorithms in NumPy, as short as in the papers: an oracle for tests, and for reading.

Nothing here is part of the stable interface.
"""
