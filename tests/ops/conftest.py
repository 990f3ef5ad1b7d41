"""What the tests of `softmax()` share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def memory_for_others():
    """Several processes test on one GPU, and some matrices take a tenth of its memory."""
    yield
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
