"""What the page on clocks claims, as relations that the book's record has to bear out."""

from softmax_lib import recorded


def test_host_outlasts_device():
    """On a small matrix every call takes the host at least twice as long as the device."""
    timed = [t for t in recorded.times(128, 96).values() if t.host_us is not None]
    called = {t.case.provider: t.host_us / t.median_us for t in timed}
    shown = ("fusion", "torch", "torch.compile", "triton-tile", "liger", "quack")
    assert min(called[name] for name in shown) > 2


def test_transfers_take_longer():
    """Both transfers that the worklog prints take more than ten times its fastest kernel."""
    assert 10 * recorded.cited.ms["shuffle"] < 26.176 + 37.321
