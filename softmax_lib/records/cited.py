"""Numbers of others, each with where it stands; what this book measured itself is in its records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CitedTimes:
    """Milliseconds of one call that somebody published, by the name that the kernel has here."""

    gpu: str
    rows: int
    cols: int
    source: str
    ms: dict[str, float]

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.cols


ORIGINAL_WORKLOG = CitedTimes(
    "GTX 1050 Ti", 1024, 32768,
    "Maharshi Pandya, Optimizing softmax in CUDA, a worklog, 2025; float4 from its repository cudacodes",
    {"naive": 124.10, "online": 88.15, "shared": 6.612, "shuffle": 5.174, "float4": 4.110, "torch": 7.226},
)  # fmt: skip
"""The worklog that this book grew from: one launch of each kernel, in float32."""


FLOAT32_PEAKS = {
    "nvidia-h200": 67e12,
    "nvidia-l4": 30.3e12,
    "nvidia-a100-sxm4-40gb": 19.5e12,
    "nvidia-a100-sxm4-80gb": 19.5e12,
    "tesla-t4": 8.1e12,
}
"""Floating-point operations a second outside of the tensor cores, by the name of a GPU's record: "FP32" of NVIDIA's
datasheet of each."""


@dataclass(frozen=True)
class CitedGains:
    """How many times as fast fusing made softmax and top-k, by k, as somebody published it."""

    gpu: str
    batches: tuple[int, ...]
    cols: int
    source: str
    gains: dict[int, float]


FUSED_TOPK = CitedGains(
    "V100", (4000,), 25000,
    "Milakov and Gimelshein, Online normalizer calculation for softmax, 2018, arXiv:1805.02867",
    {5: 5.0, 10: 3.5, 15: 2.0, 30: 1.4},
)  # fmt: skip
"""The paper whose algorithm 4 chapter 11 writes: fused and online over unfused and safe."""
