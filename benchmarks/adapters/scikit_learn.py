"""scikit-learn: stochastic gradient on the hinge, and its Perceptron."""

from sklearn.linear_model import Perceptron, SGDClassifier


def hinge_sgd(epochs: int, rate: float, seed: int) -> SGDClassifier:
    """The Margin Perceptron's updates: hinge, constant step, no penalty."""
    return SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="constant",
        eta0=rate,
        max_iter=epochs,
        tol=None,
        random_state=seed,
    )


def perceptron(epochs: int, seed: int) -> Perceptron:
    return Perceptron(max_iter=epochs, tol=None, random_state=seed)
