"""Soft mixtures of experts (thesis 3.5 and 6.2)."""
