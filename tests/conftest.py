"""What the tests share: where to launch."""

import pytest


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Where to launch: "cpu" is the emulator."""
    return request.param
