"""Explorers, steppers, questions and tables of stock ipywidgets, which work on a static page too."""

from softmax_lib.engine.lazy import attach

_NEEDS = dict.fromkeys(("Explorer", "explorer", "predict", "stepper"), "ipywidgets")

__getattr__, __dir__ = attach(__name__, __file__, _NEEDS)
