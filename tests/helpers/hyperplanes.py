"""Rows on both sides of a hyperplane, and whether a hyperplane separates given rows."""

import numpy as np
from scipy.optimize import linprog


def hyperplane(seed, gap=0.2, rows=80, columns=3, offset=0.3):
    """Rows on both sides of a hyperplane, none within `gap` of it, and the side of each."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(rows, columns)), rng.normal(size=columns)
    f = X @ w / np.linalg.norm(w) + offset
    return X[np.abs(f) > gap], (f > 0)[np.abs(f) > gap]


def separable(X, y):
    """By linear programming: is there (w, b) with y (w·x + b) ≥ 1?"""
    A = -np.where(y, 1.0, -1.0)[:, None] * np.hstack([X, np.ones((len(X), 1))])
    found = linprog(np.zeros(A.shape[1]), A, -np.ones(len(X)), bounds=(None, None))
    return found.status == 0
