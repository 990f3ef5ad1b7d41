"""Explorers, steppers, questions and tables of stock ipywidgets, which work on a static page too."""
