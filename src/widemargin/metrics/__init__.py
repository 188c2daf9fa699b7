"""Metrics learnt from the data: scales of the inputs in which a kernel machine sees better."""

from widemargin.metrics.gradient_metric import GradientMetric

__all__ = ["GradientMetric"]
