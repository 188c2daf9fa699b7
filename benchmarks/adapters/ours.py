"""widemargin itself, set up to run a given number of epochs."""

from widemargin import MarginPerceptron, Perceptron


def margin_perceptron(epochs: int, rate: float, seed: int) -> MarginPerceptron:
    return MarginPerceptron(
        learning_rate=rate, schedule="constant", max_iter=epochs, tol=None, random_state=seed
    )


def perceptron(epochs: int, seed: int) -> Perceptron:
    return Perceptron(standardize=True, max_iter=epochs, tol=None, random_state=seed)
