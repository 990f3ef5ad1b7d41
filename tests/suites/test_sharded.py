"""The suite of sharded rows: its contenders give one result, on two processes by gloo; what is read of a run; its figure."""

import pytest
import torch
import torch.distributed as dist
from sharded.ranks import Ranks

from softmax_lib import figures, sharded_times
from softmax_lib.suites import sharded
from softmax_lib.suites.times import CONTENDERS
from softmax_lib.worklog.errors import BadInput

RUN = {
    "gpu": {"name": "Tesla T4"}, "date": "2026-01-01", "software": {},
    "rows": [{"ranks": ranks, "times": [{
        "operator": "softmax", "rows": 64, "cols": 512, "dtype": "float32", "copy_us": 2.0, "read_us": 1.0, "bits": "same",
        "us": {"softmax_lib": 2.5 * ranks, "all-reduces": 10.0, "all-reduces left out": 8.0},
    }]} for ranks in (2, 1)],
}  # fmt: skip


def judged(rank, operator, dtype):
    """Of each contender why it is none, and the columns of those that find some."""
    torch.manual_seed(rank)
    x = torch.randn(6, 40).to(dtype)
    tokens = torch.tensor([0, 41, 39, 40, 79, 7])
    calls = sharded.contenders(operator)
    right = calls[sharded.GATHERED](x, tokens)
    return {
        name: sharded.is_right(call, x, tokens, right)
        for name, call in calls.items()
        if name != sharded.LIGER
    }


@pytest.fixture(scope="module")
def ranks():
    started = Ranks(2)
    yield started
    started.close()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("operator", sharded.OPERATORS)
def test_all_contenders_give_the_result_of_the_whole_row(ranks, operator, dtype):
    for found in ranks.ask(judged, operator, dtype):
        if isinstance(found, Exception):
            raise found
        assert found == dict.fromkeys(CONTENDERS[:3], "")


def test_a_wrong_contender_is_found_on_every_rank(ranks):
    assert all("wrong" in said for said in ranks.ask(judge_wrong))


def judge_wrong(rank):
    x = torch.ones(2, 3)
    wrong = x.softmax(-1) * (1 + (dist.get_rank() == 1))
    return sharded.is_right(lambda *_: (wrong,), x, x, (x.softmax(-1),))


def test_the_figure_draws_what_is_there_and_says_what_is_not(keep):
    keep("sharded", RUN)
    assert [one.ranks for one in sharded_times("Tesla T4", operator="softmax")] == [2, 1]
    figure = figures.sharded_by_ranks(rows=64, cols=512, gpu="Tesla T4")
    assert "1.25, 2.50" in figure.alt
    assert "Not yet measured: 4, 8 GPUs." in figure.notes
    with pytest.raises(BadInput, match="was never timed"):
        figures.sharded_by_ranks(rows=7, gpu="Tesla T4")
