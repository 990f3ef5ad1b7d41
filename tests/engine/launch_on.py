"""Launches by the same words in either place, for tests: on a GPU on copies, which are written back."""

import os

import numpy as np
import pytest

from softmax_lib import emulator, gpu

FUNCTIONS_ON = os.environ.get("FUNCTIONS_ON", "cpu")
"""Where the tests of CUDA's functions run them: "cuda" holds a GPU to the same sentences."""


def launch(source, grid, block, args):
    """Launches where `FUNCTIONS_ON` says."""
    launch_on(FUNCTIONS_ON, {"source": source, "grid": grid, "block": block}, args)


def launch_on(device, words, arguments):
    """Launches, on copies of the arrays if it is a GPU, which are written back."""
    if device == "cpu":
        emulator.launch(args=arguments, **words)
        return
    import torch

    if "cluster" in words and torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("clusters came with sm_90")

    def there(value):
        if isinstance(value, list):
            return [there(array) for array in value]
        if not isinstance(value, np.ndarray):
            return value
        signed = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}.get(str(value.dtype))
        moved = torch.from_numpy(value.view(signed) if signed else value).cuda()
        return moved.view(getattr(torch, str(value.dtype))) if signed else moved

    on_gpu = [there(value) for value in arguments]
    symbols = {name: there(array) for name, array in words.get("symbols", {}).items()}
    gpu.launch(args=on_gpu, **words | {"symbols": symbols})
    torch.cuda.synchronize()
    for host, moved in zip(arguments, on_gpu, strict=True):
        if isinstance(host, np.ndarray):
            host[...] = moved.view(torch.uint8).cpu().numpy().view(host.dtype).reshape(host.shape)
