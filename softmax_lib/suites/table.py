"""The suites of `softmax-lib bench`: what each measures, by what, and what there is to say where it wasn't run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suite:
    """A suite, in words for `--help` (`measures`) and for who misses its run (`missing`).

    `run` is the function of `softmax_lib.suites` that measures it, by module and name, and `show` the one of
    `softmax_lib.cli.suite_table` that prints what this gives. Both need what only a GPU's machine has, and load late.
    """

    measures: str
    missing: str
    run: str
    show: str


SUITES = {
    "peers": Suite(
        "every peer installed here, matrix by matrix",
        "softmax() was not measured beside its peers",
        "peers.measure.run_suite", "print_suite",
    ),
    "model": Suite(
        "a small transformer with torch's softmax and ours",
        "softmax() was not measured in a whole model",
        "model.measure.compare", "print_model",
    ),
    "topk": Suite(
        "softmax_topk() beside what else finds the first of each row",
        "softmax_topk() was not measured beside its peers",
        "topk.measure.run_topk", "print_topk",
    ),
    "unroll": Suite(
        "chapter 9's kernel, its loop unrolled more and less",
        "the kernel of chapter 9 was not measured at all of its settings",
        "unroll.measure.run_unroll", "print_unroll",
    ),
    "warp": Suite(
        "chapter 10's, with more and fewer threads per row, and every kernel by rows and columns",
        "the kernel of chapter 10 was not measured on short rows",
        "warps.measure.run_warps", "print_warps",
    ),
    "triton": Suite(
        "chapter 12's in Triton, with more and fewer warps",
        "the kernels of chapter 12 were not measured",
        "tiles.measure.run_tiles", "print_tiles",
    ),
    "lies": Suite(
        "benchmarks with one thing wrong, beside what catches them",
        "the lies of benchmarks were not measured",
        "lies.measure.run_lies", "print_lies",
    ),
    "hardware": Suite(
        "the GPU itself, its memories, warps and multiprocessors",
        "memory, warps and blocks were not measured",
        "hardware.measure.run_hardware", "print_hardware",
    ),
    "phases": Suite(
        "when chapter 8's kernel and a copy read and write",
        "no kernel noted when it reads and writes",
        "phases.measure.run_phases", "print_phases",
    ),
    "shown": Suite(
        "kernels as chapters show them beside their full forms",
        "the kernels that chapters show whole were not measured",
        "shown.measure.run_shown", "print_shown",
    ),
    "rmsnorm": Suite(
        "the RMSNorm of Your own kernel, step by step",
        "the kernels of the page Your own kernel were not measured",
        "rmsnorm.measure.run_rmsnorm", "print_rmsnorm",
    ),
    "symptoms": Suite(
        "slow kernels beside their cures",
        "no symptom was measured beside its cure",
        "symptoms.measure.run_symptoms", "print_symptoms",
    ),
}  # fmt: skip
"""By the name that `--suite` and the folder of its runs have."""
