"""What pyproject.toml cannot say: three more folders are packages, and one module of C may fail to compile."""

from setuptools import Extension, find_packages, setup

setup(
    packages=[
        *find_packages(include=["softmax_lib", "softmax_lib.*"]),
        "softmax_lib._cuda",
        "softmax_lib._measurements",
        "softmax_lib._exercises",
    ],
    package_dir={
        "softmax_lib._cuda": "kernels",
        "softmax_lib._measurements": "book/measurements",
        "softmax_lib._exercises": "book/exercises",
    },
    # without it every call is right, and takes some microseconds longer
    ext_modules=[Extension("softmax_lib.ops._calls", ["softmax_lib/ops/calls.c"], optional=True)],
)
