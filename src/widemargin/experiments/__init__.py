"""Published experiments, repeated with this package, and the demo."""
