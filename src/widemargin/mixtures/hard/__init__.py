"""Hard mixtures of experts: divide and conquer (thesis, Chapter 6)."""
