"""The suites of `softmax-lib bench`: what each measures, by what, and what there is to say where it wasn't run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast


@dataclass(frozen=True)
class Suite:
    """A suite by its module, in words for `--help` (`measures`) and for who misses its run (`missing`)."""

    module: str
    measures: str
    missing: str

    def run(self, progress: Callable[[str, int, int], None]) -> dict[str, Any]:
        """Measure it on this GPU, as JSON has it: by its module, which loads torch, and so no sooner."""
        measure = import_module(f"softmax_lib.suites.{self.module}")
        return cast(dict[str, Any], measure.run_suite(progress))


SUITES = {
    "peers": Suite(
        "peers.measure", "every peer installed here, matrix by matrix",
        "softmax() was not measured beside its peers",
    ),
    "model": Suite(
        "model.measure", "a small transformer with torch's softmax and ours",
        "softmax() was not measured in a whole model",
    ),
    "topk": Suite(
        "topk", "softmax_topk() beside what else finds the first of each row",
        "softmax_topk() was not measured beside its peers",
    ),
    "unroll": Suite(
        "unroll", "chapter 9's kernel, its loop unrolled more and less",
        "the kernel of chapter 9 was not measured at all of its settings",
    ),
    "warp": Suite(
        "warps", "chapter 10's, with more and fewer threads per row, and every kernel by rows and columns",
        "the kernel of chapter 10 was not measured on short rows",
    ),
    "cluster": Suite(
        "clusters", "chapter 14's, with more and fewer blocks per row, on long rows",
        "the kernels of chapter 14 were not measured",
    ),
    "triton": Suite(
        "tiles", "chapter 12's in Triton, with more and fewer warps",
        "the kernels of chapter 12 were not measured",
    ),
    "lies": Suite(
        "lies.measure", "benchmarks with one thing wrong, beside what catches them",
        "the lies of benchmarks were not measured",
    ),
    "hardware": Suite(
        "hardware.measure", "the GPU itself, its memories, warps and multiprocessors",
        "memory, warps and blocks were not measured",
    ),
    "phases": Suite(
        "phases.measure", "when chapter 8's kernel and a copy read and write",
        "no kernel noted when it reads and writes",
    ),
    "shown": Suite(
        "shown", "kernels as chapters show them beside their full forms",
        "the kernels that chapters show whole were not measured",
    ),
    "precision": Suite(
        "precision", "chapter 13's order-free sum, and how far off exponentials are",
        "the kernel of chapter 13 was not measured",
    ),
    "rmsnorm": Suite(
        "rmsnorm.measure", "the RMSNorm of Your own kernel, step by step",
        "the kernels of the page Your own kernel were not measured",
    ),
    "symptoms": Suite(
        "symptoms.measure", "slow kernels beside their cures",
        "no symptom was measured beside its cure",
    ),
    "sharded": Suite(
        "sharded", "rows that are cut over this machine's GPUs, beside torch's collectives",
        "rows that are cut over several GPUs were not measured",
    ),
    "conform": Suite(
        "conform.measure", "who answers as torch does, and whose bits depend on the batch",
        "softmax() was not compared with torch ask by ask",
    ),
}  # fmt: skip
"""By the name that `--suite` and the folder of its runs have."""
