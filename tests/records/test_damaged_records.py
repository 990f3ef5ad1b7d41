"""Whatever a file of measurements holds, there is a result or one sentence, and the other files go on."""

import copy
import json
import random
import warnings
from functools import partial

import pytest
from damages import DAMAGES, remove
from sample_records import BOOK, of_another_gpu

from softmax_lib import drawings, explore, figures, lie_peak
from softmax_lib.gpu import presence
from softmax_lib.records.shelf import FOLDER, readable, recorded
from softmax_lib.suites.lies.record import LIES
from softmax_lib.suites.symptoms.record import SYMPTOMS
from softmax_lib.worklog.errors import SoftmaxLibError

pytest.importorskip("ipywidgets")

GPU = "Tesla T4"
OF_THE_RECORD = (
    figures.ladder,
    figures.bandwidth_by_cols,
    figures.traffic_ledger,
    partial(figures.bytes_in_flight, names=()),
    figures.time_by_rows,
    partial(figures.gains, {"naive": "", "shared": ""}),
)
OF_RUNS = {
    "peers": (figures.beside_peers,),
    "model": (figures.in_a_model,),
    "topk": (figures.fused_topk, figures.topk_by_k),
    "unroll": (figures.unroll_map, figures.time_by_bytes_asked),
    "warp": (figures.lanes_map, figures.time_by_blocks, figures.plane_of_kernels, partial(figures.plane_of_kernels, "shuffle")),
    "cluster": (figures.time_by_cluster,),
    "triton": (figures.tiles_by_cols,),
    "lies": (*(partial(figures.lie, lie) for lie in LIES), lie_peak),
    "symptoms": (*(partial(drawings.symptom, symptom) for symptom in SYMPTOMS), drawings.profiled_calls),
}  # fmt: skip
USES = {
    "": (
        *(partial(draw, gpu=GPU) for draw in OF_THE_RECORD),
        lambda: recorded(GPU).clock_mhz,
        lambda: explore("shared", 1024, 512),
    ),
    **{suite: tuple(partial(use, gpu=GPU) for use in uses) for suite, uses in OF_RUNS.items()},
}
"""What reads the record, and the runs of each suite."""
ODD = (None, "", "x", True, -1, 0, 7, 1e-300, 1e308, 10**400, float("nan"), [], {}, [[]], {"name": {}})  # fmt: skip


@pytest.fixture
def files(own, monkeypatch):
    """A reader's own record and a run of each suite of another GPU, by suite."""
    monkeypatch.setattr(presence, "why_no_gpu", lambda: "there is none in this test")
    paths = {suite: own / suite / "tesla-t4-1.json" for suite in USES if suite}
    paths[""] = own / "tesla-t4.json"
    for suite, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        book = FOLDER / suite / f"{BOOK.stem}-1.json" if suite else BOOK
        content = json.loads(book.read_text())
        if not suite:
            content = of_another_gpu() | {name: content[name] for name in ("counters", "probes")}
        content["gpu"]["name"] = GPU
        path.write_text(json.dumps(content))
    return paths


def slots(choose, content):
    """A place somewhere in lists and dictionaries: what holds it, and where it is there."""
    while True:
        at = choose.choice(list(content) if isinstance(content, dict) else range(len(content)))
        inner = content[at]
        if not (isinstance(inner, dict | list) and inner) or choose.random() < 0.15:
            return content, at
        content = inner


def harm(choose, content):
    """One value dropped, replaced, or swapped with another; what was done, in words."""
    holder, at = slots(choose, content)
    how = choose.choice(("dropped", "replaced", "swapped", "renamed"))
    if how == "swapped":
        other, there = slots(choose, content)
        holder[at], other[there] = copy.deepcopy(other[there]), copy.deepcopy(holder[at])
    elif how == "replaced":
        holder[at] = choose.choice(ODD)
    elif how == "renamed" and isinstance(holder, dict):
        holder[f"{at}_v2"] = holder.pop(at)
    else:
        del holder[at]
    return f"{at} {how}"


def sentences(uses):
    """What those say that refuse."""
    said = []
    for use in uses:
        try:
            use()
        except SoftmaxLibError as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.full)])
def test_there_is_a_result_or_one_sentence(files, count, pytestconfig):
    seed = pytestconfig.getoption("hypothesis_seed", None) or 0
    print("seed", seed)
    choose = random.Random(int(seed))
    texts = {suite: path.read_text() for suite, path in files.items()}
    usual = {suite: sentences(USES[suite]) for suite in USES}
    for _ in range(count):
        suite = choose.choice(list(USES))
        path = files[suite]
        if choose.random() < 0.2:
            done = choose.choice(list(DAMAGES))
            DAMAGES[done](path, choose.randrange(1 << 30))
        else:
            content = json.loads(texts[suite])
            done = harm(choose, content)
            path.write_text(json.dumps(content))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                said = sentences([choose.choice(USES[suite])])
                assert next(iter(readable())) == "NVIDIA H200"
            except Exception as error:
                raise AssertionError(f"{suite or 'record'}: {done}") from error
        assert all(sentence.strip() and "\n" not in sentence for sentence in said), done
        remove(path)
        path.write_text(texts[suite])
    assert {suite: sentences(USES[suite]) for suite in USES} == usual
