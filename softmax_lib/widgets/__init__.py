"""Explorers, steppers, questions and tables of stock ipywidgets, which work on a static page too."""

from softmax_lib.widgets.explorers import Explorer, explorer
from softmax_lib.widgets.questions import predict
from softmax_lib.widgets.stepping import stepper
from softmax_lib.widgets.tables import table
from softmax_lib.widgets.views import View

__all__ = ["Explorer", "View", "explorer", "predict", "stepper", "table"]
