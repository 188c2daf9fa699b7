"""Shapes: what each input adds to the score of a sum of step functions."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from widemargin._typing import ArrayLike, FloatArray, IntArray
from widemargin.linear_svm import LinearSVC, LinearSVR

__all__ = ["learn_shapes", "shape_terms"]

SCALE = 3.0  # root mean variance of the terms, where robust inputs have about 1
C = {"classification": 0.1, "regression": 1.0}  # of the machine that gives the terms


def learn_shapes(
    stairs: FloatArray,
    y: ArrayLike,
    weights: FloatArray | None,
    places: IntArray,
    *,
    classes: bool,
) -> FloatArray:
    """The coefficients of a linear machine of stairs, such that the terms have one scale.

    Parameters
    ----------
    stairs : ndarray of shape (n, m)
        Inputs in the form "stairs".
    y : array-like of shape (n,)
        Classes or values.
    weights : ndarray of shape (n,), optional
        Weights of the rows.
    places : ndarray of shape (m,)
        The input that each column of `stairs` comes from.
    classes : bool
        Whether y holds classes.

    Returns
    -------
    ndarray of shape (k, m)
        One row per class; one for two classes, and for values.
    """
    machine: Any = LinearSVC(C=C["classification"])
    if not classes:
        machine = LinearSVR(C=C["regression"], loss="squared_epsilon_insensitive")
    coef = np.atleast_2d(machine.fit(stairs, y, sample_weight=weights).coef_)
    deviation = np.sqrt(shape_terms(stairs, coef, places).var(axis=0).mean())
    return coef * (SCALE / deviation) if deviation > 0.0 else coef


def shape_terms(stairs: FloatArray, coef: FloatArray, places: IntArray) -> FloatArray:
    """Of each class and input, what it adds to the score: an array of shape (n, k d)."""
    columns = np.arange(len(places))
    shape = (len(places), int(places.max(initial=-1)) + 1)
    sums = [sp.csr_array((row, (columns, places)), shape) for row in coef]
    return np.hstack([stairs @ one for one in sums])
