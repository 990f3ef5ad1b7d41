"""What chapter 2 claims, as relations that the book's record has to bear out."""

from softmax_lib import recorded


def test_bfloat16_halves_some_times():
    """Half the bytes take half the time of some implementations, and no less of others."""
    full, half = (recorded.times(8192, 4096, dtype) for dtype in ("float32", "bfloat16"))
    ratio = {
        name: half[name].median_us / full[name].median_us for name in ("torch", "quack", "liger")
    }
    assert ratio["torch"] > 0.95
    assert max(ratio["quack"], ratio["liger"]) < 0.55
