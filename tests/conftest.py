"""What the tests share: where to launch, and where a reader's own records lie."""

import pytest


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request):
    """Where to launch: "cpu" is the emulator."""
    return request.param


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The folder of a reader's own records."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "softmax_lib" / "measurements"
