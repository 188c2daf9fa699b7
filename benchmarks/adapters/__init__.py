"""One module a rival: each makes estimators that do the same work as ours."""
