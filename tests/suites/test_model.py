"""The small transformer: what it computes, and the suite around it; on the CPU, with times made up."""

from unittest.mock import Mock

import pytest
import torch
from suites.conftest import book_run

from softmax_lib.suites.model import measure as transformer
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, THEIRS, texts


def test_texts_are_read_with_speeds_and_gains():
    for text, row in zip(texts(), book_run("model")["rows"], strict=True):
        assert str(text) == f"{row['batch']} × {row['length']} {row['dtype']}"
        assert (text.tokens_per_s, text.gain) == (row["tokens_per_s"], row["gain"])


SMALL = transformer.Size(layers=2, width=16, heads=2, vocabulary=31)
MS = {THEIRS: 3.0, OURS: 2.0, ONE_PASS: 1.5, COMPILED: 1.0}


@pytest.fixture
def read(device):
    """The model, and six tokens of two texts."""
    return transformer.make(SMALL, 2, 6, "float32")


def test_it_gives_probabilities_of_every_next_token(read):
    model, tokens = read
    found = model(tokens)
    assert found.shape == (2, 6, 31)
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]))


def test_no_token_knows_of_those_behind_it(read):
    model, tokens = read
    other = tokens.clone()
    other[:, 3] = (other[:, 3] + 1) % 31
    before, after = model(tokens), model(other)
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert (before[:, 3:] - after[:, 3:]).abs().amax((0, 2)).min() > 1e-6


def test_in_one_pass_attention_computes_the_same(read):
    model, tokens = read
    asked = []
    for one in model.modules():
        if hasattr(one, "in_one_pass"):
            one.register_forward_hook(lambda one, *_: asked.append(one.in_one_pass))
    torch.testing.assert_close(transformer.in_one_pass(model, tokens), model(tokens))
    assert asked == [True, True, False, False]


def test_its_numbers_are_the_same_each_time_and_leave_others_alone(read):
    model, tokens = read
    state = torch.get_rng_state()
    again, same = transformer.make(SMALL, 2, 6, "float32")
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(tokens, same)
    assert torch.equal(model(tokens), again(same))


@pytest.mark.gpu
def test_with_our_kernels_it_computes_the_same():
    for dtype, most in (("float32", 1e-5), ("bfloat16", 0.02)):
        model, tokens = transformer.make(SMALL, 2, 60, dtype)
        with torch.no_grad():
            theirs = model(tokens)
            for ours in (
                transformer.with_ours(model, tokens),
                transformer.in_one_pass(model, tokens),
            ):
                torch.testing.assert_close(ours, theirs, atol=most, rtol=most)
                assert not torch.equal(ours, torch.zeros_like(ours))


@pytest.fixture
def made_up(here, monkeypatch):
    """A suite on the CPU: times are made up, and the compiler of models is the model."""
    monkeypatch.setattr(
        transformer,
        "TEXTS",
        (transformer.Reading(2, 6, "float32"), transformer.Reading(1, 5, "bfloat16")),
    )
    monkeypatch.setattr(
        transformer, "_time", lambda contenders: {name: MS[name] for name in contenders}
    )
    monkeypatch.setattr(transformer, "Size", lambda: SMALL)
    monkeypatch.setattr(torch, "compile", lambda model, dynamic: model)
    monkeypatch.setattr("softmax_lib.worklog.checking.choose_device", lambda device: device)


def test_a_row_has_the_tokens_per_second_of_every_contender(made_up):
    heard = []
    found = transformer.run_suite(lambda *told: heard.append(told))
    first, second = found["rows"]
    assert first["tokens_per_s"] == {THEIRS: 4000, OURS: 6000, ONE_PASS: 8000, COMPILED: 12000}
    assert second["tokens_per_s"][THEIRS] == 1667
    assert first["gain"] == {OURS: 1.5, ONE_PASS: 2.0, COMPILED: 3.0}
    assert 0 <= first["largest_difference"] < 1e-5
    assert heard[-1] == ("done", 2, 2)
    assert found["model"]["vocabulary"] == 31


def test_who_cannot_take_part_is_told_by_name(made_up, monkeypatch):
    refuse = Mock(side_effect=ImportError("Triton is missing.\nAnd more."))
    monkeypatch.setattr(torch, "compile", refuse)
    found = transformer.run_suite(lambda *told: None)
    assert found["skipped"] == {COMPILED: "torch.compile cannot be had: Triton is missing."}
    assert set(found["rows"][0]["tokens_per_s"]) == {THEIRS, OURS, ONE_PASS}


def test_a_text_that_is_too_large_is_left_out(made_up, monkeypatch):
    forward = transformer.Transformer.forward

    def fill(self, tokens):
        if tokens.shape == (2, 6):
            raise torch.OutOfMemoryError
        return forward(self, tokens)

    monkeypatch.setattr(transformer.Transformer, "forward", fill)
    found = transformer.run_suite(lambda *told: None)
    assert [row["length"] for row in found["rows"]] == [5]
    assert list(found["skipped"]) == ["2 x 6 float32"]
