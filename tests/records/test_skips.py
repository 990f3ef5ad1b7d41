"""What a record lacks, and why: read from the file's keys, written back the same, and told by reason."""

import pytest
from sample_records import content, write

from softmax_lib.records import skips
from softmax_lib.records.measurement import Case
from softmax_lib.records.record import load
from softmax_lib.records.skips import Refusal, refusals, skipped_case
from softmax_lib.suites.together import TOO_LARGE

KEYS = {
    "quack (8192, 50257) float32": Case("quack", 8192, 50257),
    "torch.compile (4, 32) bfloat16": Case("torch.compile", 4, 32, "bfloat16"),
    "liger": "liger",
    "torch.compile": "torch.compile",
    "ncu": "ncu",
    "a peer (of mine)": "a peer (of mine)",
    "quack (0, 5) float32": "quack (0, 5) float32",
    "quack (4, 5) float99": "quack (4, 5) float99",
    f"quack ({'9' * 5000}, 5) float32": f"quack ({'9' * 5000}, 5) float32",
}


def test_keys_of_the_file_are_cases_or_whole_peers_and_tools():
    there = dict.fromkeys(KEYS, "why")
    assert list(skips.read(there)) == list(KEYS.values())
    assert skips.write(skips.read(there)) == there


def test_a_reason_holds_at_every_block_size():
    assert skipped_case(Case("shared", 4, 32, block_size=64)) == Case("shared", 4, 32)


# Each kind of sentence that a recording can write: refused, wrong, too large, missing, no counters;
# of peers with a dot in their name too, and with a compiler's colours.
@pytest.mark.parametrize(
    ("key", "said", "refusal"),
    [
        ("quack (8, 5) float32", "quack refuses (8, 5): N 5 is odd",
         Refusal("quack", "N 5 is odd", ((8, 5),))),
        ("torch.compile (4, 32) float32", "torch.compile refuses (4, 32): out of\n  luck",
         Refusal("torch.compile", "out of luck", ((4, 32),))),
        ("quack (4, 32) float32", "quack gives a wrong result for (4, 32)",
         Refusal("quack", "gives a wrong result for (4, 32)", ((4, 32),))),
        ("shared (4, 32) float32", TOO_LARGE, Refusal("shared", TOO_LARGE, ((4, 32),))),
        ("liger", "liger cannot be had: No module named 'liger_kernel'",
         Refusal("liger", "cannot be had: No module named 'liger_kernel'", ())),
        ("ncu", "ncu read no counters: ERR_NVGPUCTRPERM",
         Refusal("ncu", "ncu read no counters: ERR_NVGPUCTRPERM", ())),
        ("quack (1, 9) float32", "quack refuses (1, 9): \x1b[31merror\x1b[0m:\n  bad",
         Refusal("quack", "error: bad", ((1, 9),))),
    ],
)  # fmt: skip
def test_every_kind_of_sentence_is_told_without_its_subject(key, said, refusal):
    assert refusals(skips.read({key: said})) == [refusal]


def test_reasons_that_differ_in_numbers_alone_are_one_in_the_words_of_the_first():
    read = skips.read(
        {
            "triton (1, 9) float32": "triton refuses (1, 9): 9 is too long",
            "triton (2, 10) float32": "triton refuses (2, 10): 10 is too long",
            "triton (2, 10) bfloat16": "triton refuses (2, 10): 10 is too long",
        }
    )
    assert refusals(read) == [Refusal("triton", "9 is too long", ((1, 9), (2, 10)))]


def test_a_record_without_torch_compile_and_ncu_can_be_told(tmp_path):
    skipped = {
        "torch.compile": "torch.compile cannot be had: no C compiler",
        "ncu": "ncu (Nsight Compute) is not on the PATH, so no hardware counters are read.",
    }
    write(tmp_path / "x.json", content(skipped=skipped))
    found = load(tmp_path / "x.json").refusals
    assert [(refusal.provider, refusal.shapes) for refusal in found] == [
        ("torch.compile", ()), ("ncu", ())
    ]  # fmt: skip
