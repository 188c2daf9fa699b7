"""How often a bound that may fail with some probability fails in a simulation."""

from scipy.stats import binom

DRAWS = 1000


def violated(probability, draws=DRAWS):
    """A fraction of draws that a bound which holds with 1 − η exceeds once in a million runs."""
    return binom.isf(1e-6, draws, probability) / draws
