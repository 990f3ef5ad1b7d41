"""Colab: the versions of its packages with which the chapters are tried. Nobody has tried them in Colab itself."""

PACKAGES = {
    "ipykernel": "6.17.1",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "jinja2": "3.1.6",
    "markdown-it-py": "4.2.0",
    "matplotlib": "3.10.0",
    "numpy": "2.1.3",
    "platformdirs": "4.11.3",
    "rich": "13.9.4",
    "traitlets": "5.7.1",
}
"""As `pip-freeze.txt` in github.com/googlecolab/backend-info had them on 2026-08-19."""
BELOW = {
    "backcall": "0.2.0",
    "decorator": "4.4.2",
    "ipython_genutils": "0.2.0",
    "pickleshare": "0.7.5",
}
"""What these of old need, and newer ones do not."""
