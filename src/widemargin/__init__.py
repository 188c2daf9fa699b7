"""Large-margin learning on large data: f(x) = w · Φ(x) + b, with a margin."""

from widemargin.perceptron import MarginPerceptron, Perceptron

__version__ = "0.1.0"

__all__ = [
    "MarginPerceptron",
    "Perceptron",
]
