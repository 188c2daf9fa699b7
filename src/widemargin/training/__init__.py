"""How models are trained: the loop, the estimator contract, certified fits, control, paths."""
