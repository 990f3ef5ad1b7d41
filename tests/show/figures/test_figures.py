"""Figures: each says where its numbers come from, has a text alternative, and is drawn the same twice."""

import re
from functools import partial
from unittest.mock import Mock

import matplotlib.text
import pytest
from full_tables import some
from sample_records import up_to_date, write

from softmax_lib import figures, recorded
from softmax_lib.engine.errors import BadInput, NotAvailable
from softmax_lib.engine.words import time_in_words
from softmax_lib.records.measurement import LABELS, PEERS, Case
from softmax_lib.show.figures import look, traffic
from softmax_lib.show.figures.look import NARROW_INCHES, WIDE_INCHES
from softmax_lib.show.figures.traffic import kernel_in_flight
from softmax_lib.suites.lies.record import LIES
from softmax_lib.suites.peers.record import contest_runs, contests, mean_gain
from softmax_lib.suites.plan import WORKLOG
from softmax_lib.widgets.views import draw as draw_as
from softmax_lib.widgets.views import view
from softmax_lib.worklog.registry import rungs

FIGURES = {
    "ladder": figures.ladder,
    "ladder of short rows": lambda **k: figures.ladder(1024, 512, **k),
    "traffic ledger": figures.traffic_ledger,
    "traffic ledger with foils": lambda **k: figures.traffic_ledger(64, 4096, **k),
    "bandwidth": figures.bandwidth_by_cols,
    "gains": lambda **k: figures.gains({"shuffle": "one load", "float4": "four loads"}, **k),
    "rows": figures.time_by_rows,
    "bytes in flight": figures.bytes_in_flight,
}  # fmt: skip

OF_RUNS = {
    "beside peers": figures.beside_peers,
    "conform": figures.conform,
    **{f"the lie {name}": partial(figures.lie, name) for name in LIES},
}
"""Drawn from runs of `softmax-lib bench`, not from a record."""

of_a_record = pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
EVERY = [pytest.param(draw, id=name) for name, draw in (FIGURES | OF_RUNS).items()]
every_figure = pytest.mark.parametrize("draw", EVERY)


def texts_of(figure):
    """Every piece of text that is drawn."""
    return [text for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


def texts(figure):
    """The words of every piece of text, in the picture and around it."""
    return [figure.heading, *(text.get_text() for text in texts_of(figure)), figure.notes]


def svg(figure):
    """The bytes of the figure as SVG."""
    return draw_as(figure, "svg", {"Date": None, "Creator": None})


@of_a_record
def test_a_figure_says_where_its_numbers_come_from(draw):
    figure = draw()
    assert f"on {recorded.where}" in " ".join(texts(figure)).replace("\n", " ")
    assert f"on {recorded.where}" in figure.alt


@every_figure
def test_a_figure_has_an_alternative_in_numbers_and_words(draw):
    alt = draw().alt
    assert len(alt) > 80
    assert re.search(r"\d", alt)
    assert "nan" not in alt


@pytest.mark.parametrize("draw", some(EVERY, every=4))
def test_a_figure_is_drawn_the_same_twice_whatever_look_the_reader_has_set(draw):
    first = svg(draw())
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "lines.linewidth": 9}):
        assert svg(draw()) == first
    assert b"<dc:date>" not in first


@pytest.mark.parametrize("draw", some(EVERY, every=3))
def test_a_figure_keeps_its_words_inside_and_large_enough_for_a_phone(draw):
    wide = draw()
    for figure, width in ((wide, WIDE_INCHES), (wide.narrow, NARROW_INCHES)):
        figure.draw_without_rendering()
        drawn = figure.get_tightbbox()
        assert 0 <= drawn.x0 < drawn.x1 <= figure.get_figwidth() == width
        assert 0 <= drawn.y0 < drawn.y1 <= figure.get_figheight()
        assert all(text.get_fontsize() >= 9.5 for text in texts_of(figure))


@of_a_record
def test_another_gpu_can_be_drawn_and_what_changed_since_is_starred(draw, own):
    changed = up_to_date()
    changed["gpu"]["name"] = "Tesla T4"
    changed["kernels"]["shared"] = "0" * 64
    write(own / "tesla-t4.json", changed)
    figure = draw(gpu="tesla-t4")
    drawn = " ".join(texts(figure)).replace("\n", " ")
    assert "Tesla T4" in drawn
    assert ("before this kernel changed" in drawn) == ("shared" in drawn) == ("shared*" in drawn)


def test_softmax_beside_its_peers_says_who_is_where_and_by_which_runs():
    figure = figures.beside_peers()
    told = " ".join(texts(figure)).replace("\n", " ")
    found = contests()
    for verdict in ("ahead", "level", "behind"):
        assert f"{verdict} on {sum(one.verdict == verdict for one in found)}" in figure.alt
    assert f"One run on NVIDIA H200, {contest_runs()[0]['date']}" in told
    means = [f"{mean_gain(found, dedicated):.2f}" for dedicated in (0, 2)]
    assert "{} times as fast as the best peer, and {} where 2 dedicated".format(*means) in told
    assert "8192 × 50257 float32 1.01, Liger 0.5" in figure.alt
    assert len(figure.axes[0].get_yticks()) == len(found)


def test_a_figure_shows_itself_with_its_own_alternative():
    figure = figures.ladder()
    shown = figure._repr_mimebundle_()
    assert shown.keys() == {"text/html", "image/png", "text/plain"}
    assert f'alt="{figure.alt}"' in shown["text/html"]
    assert view(figure, "a slider's words").text == figure.alt  # its own words win


def test_the_ladder_shows_every_rung_torch_the_best_peer_and_a_copy():
    words = " ".join(texts(figures.ladder()))
    times = recorded.times(*WORKLOG)
    for kernel in rungs():
        assert kernel.name in words
        if kernel.name in times:  # not one that is told to be not yet measured
            assert time_in_words(times[kernel.name].median_us) in words
    best = min((times[n] for n in PEERS if n in times), key=lambda timing: timing.median_us)
    for time_us in (best.median_us, times["torch"].median_us, best.copy_us):
        assert time_in_words(time_us) in words


@pytest.mark.parametrize("draw", [figures.ladder, figures.bandwidth_by_cols])
def test_a_figure_with_peers_names_their_versions(draw):
    software = recorded.content["software"]
    for package in ("torch", "triton", "liger-kernel", "quack-kernels"):
        assert f"{package} {software[package]}" in draw().alt


def test_each_change_is_told_with_its_time_and_its_gain():
    old, new = (recorded.times(*WORKLOG)[name].median_us for name in ("shuffle", "float4"))
    alt = figures.gains({"shuffle": "one load", "float4": "four"}).alt
    assert f"one load: {time_in_words(old)}; four: {time_in_words(new)}, {old / new:.2f}×" in alt


def test_the_line_through_the_waves_is_that_of_the_record():
    first, last = (recorded.select(provider="fusion", rows=132 * n)[0].median_us for n in (8, 31))
    told = figures.time_by_rows(["fusion"]).alt
    slope = float(re.search(r"fusion ([\d.]+) µs per row", told)[1])
    assert slope == pytest.approx((last - first) / 23, rel=0.01)


def test_bytes_in_flight_are_a_line_for_each_width_with_its_best_points():
    told = figures.bytes_in_flight().alt
    for width in (4, 16):
        probes = recorded.probed("read bandwidth", width=width, bytes=16384)
        best = max(probe.found["gb_per_s"] for probe in probes)
        assert f"16 KiB {best:.0f}" in told[told.index(f"reads by {width} bytes") :]


def test_a_kernels_mark_is_its_warps_times_what_its_threads_ask_for_and_what_it_reads_over_its_time():
    flying, gb_per_s = kernel_in_flight(recorded(), recorded.profile("float4", *WORKLOG))
    assert flying == pytest.approx(1024 * 4 * 16, rel=0.1)  # one block, four vectors a thread
    float4_us = recorded.find(Case("float4", *WORKLOG, block_size=1024)).median_us
    assert gb_per_s == pytest.approx(2 * 4 * 1024 * 32768 / float4_us / 1e3)
    naive, _ = kernel_in_flight(recorded(), recorded.profile("naive", *WORKLOG))
    assert naive == pytest.approx(1024 / 132 * 64 / 3, rel=0.02)  # 16, 4 and 4 floats at a time


def test_without_a_compiler_kernels_have_no_mark_and_a_note_says_why(monkeypatch):
    missing = Mock(side_effect=NotAvailable("CuPy cannot be imported."))
    monkeypatch.setattr(traffic, "reads", missing)
    told = figures.bytes_in_flight().alt
    assert "no marks for kernels: CuPy cannot be imported." in told
    assert "reads by 16 bytes" in told


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: figures.ladder(3, 5), r"^No rung was recorded on \(3, 5\)"),
        (lambda: figures.traffic_ledger(3, 5), r"it did on \(8, 512\), \(64, 4096\)"),
        (lambda: figures.bandwidth_by_cols(3), "No sweep over row lengths"),
        (lambda: figures.gains({"torch": "", "naiv": ""}), r"^naiv was not recorded on"),
        (lambda: figures.gains({}), "^An empty list of kernels was"),
        (lambda: figures.lie("white"), "no lie called 'white'; there are no synchronisation, "),
        (lambda: figures.topk_by_k(7, 7), "never timed on 7 × 7"),
        (lambda: figures.rmsnorm_roof(77), "not measured on nvidia-h200 on rows of 77"),
        (lambda: figures.unroll_map(7, 7), "not searched on 7 × 7"),
        (lambda: figures.unroll_map(*WORKLOG, 96), "blocks of 96 threads"),
        (lambda: figures.time_by_bytes_asked(7, 7), "not searched"),
        (lambda: figures.time_by_rows([]), "^An empty list of kernels has no times"),
        (lambda: figures.time_by_rows(["naive"]), "^naive was not recorded on whole waves"),
        (lambda: figures.plane_of_kernels("nonesuch"), "^nonesuch is not on the plane; there are the fastest, naive"),
    ],
)  # fmt: skip
def test_what_was_never_recorded_gets_one_sentence(draw, words):
    with pytest.raises(BadInput, match=words):
        draw()


def test_both_panels_of_a_sweep_are_told():
    told = figures.bandwidth_by_cols().alt
    there = {t.case.provider for t in recorded.select(rows=1024, dtype="float32")} & set(PEERS)
    assert len(there) >= 5
    assert all(LABELS.get(name, name) in told for name in (*there, "naive", "fusion"))


def test_more_peers_than_colours_can_be_drawn(monkeypatch):
    many = tuple(f"peer {number}" for number in range(12))
    monkeypatch.setattr(look, "PEERS", many)
    assert [look.mark(name)["linestyle"] for name in many] == ["--"] * 12
    assert len({(look.mark(name)["color"], look.mark(name)["marker"]) for name in many}) == 12
