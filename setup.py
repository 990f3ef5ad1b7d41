"""Which folders are packages: pyproject.toml can find those of softmax_lib, but not map two more in."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["softmax_lib", "softmax_lib.*"]),
        "softmax_lib._cuda",
        "softmax_lib._measurements",
    ],
    package_dir={
        "softmax_lib._cuda": "kernels",
        "softmax_lib._measurements": "book/measurements",
    },
)
