"""One module per library; each makes estimators that do the same work as ours."""
