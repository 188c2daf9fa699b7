"""Where a solver starts from the coefficients of a problem like its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from widemargin.svm.problem import svm_problem
from widemargin.svm.solve import resume


@pytest.mark.parametrize(("before", "after"), [(0.3, 0.9), (0.6, 0.9)])
def test_what_was_at_its_bound_is_exactly_at_its_new_bound(before, after):
    """Rounding of the factor leaves it below; the solver would take such an example for free."""
    assert before * (after / before) < after
    problem = svm_problem("c_svc", np.array([1.0, 1.0, -1.0, -1.0]), C=after)
    coef = before * np.array([1.0, 0.5, -1.0, -0.5])
    beta, ratio = resume(problem, coef, after / before, dual=-float(problem.s @ coef))
    assert ratio == after / before
    assert_array_equal(beta[[0, 2]], [after, -after])
    assert_allclose(beta[[1, 3]], [after / 2, -after / 2])


def test_coefficients_do_not_grow_where_the_objective_would():
    r"""J(tβ) = ½t²‖w‖² + t s·β is at its minimum at t = 1: dual = −J = ½‖w‖², s·β = −‖w‖²."""
    problem = svm_problem("c_svc", np.array([1.0, -1.0]), C=4.0)
    coef = np.array([1.0, -1.0])
    beta, ratio = resume(problem, coef, 4.0, dual=-0.5 * float(problem.s @ coef))
    assert ratio == 1.0
    assert_array_equal(beta, coef)
