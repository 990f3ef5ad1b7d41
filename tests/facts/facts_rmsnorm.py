"""What the page Your own kernel states: its steps as they were timed in one run, and as an x-ray counts them."""

from softmax_lib import xray
from softmax_lib.suites.rmsnorm import measure as rmsnorm
from softmax_lib.suites.rmsnorm.record import rmsnorm_times

SHAPES = {"inputs": {"x": "rows cols", "weight": "cols"}, "scalars": {"eps": 1e-6}}
us = {(one.name, one.cols, one.dtype): one for one in rmsnorm_times()}


def at(name, cols=4096, dtype="float32"):
    return us[name, cols, dtype]


def counted(name, text=None):
    """What a step asks of memory on (64, 4096), an x-ray's total."""
    step = rmsnorm.step(name)
    words = SHAPES | {"grid": step.grid, "block_size": step.block_size, "vector": step.vector}
    return xray(text or step.source.text, 64, 4096, reference=step.reference, **words).total


naive, shuffle, float4, fused = (counted(name) for name in rmsnorm.STEPS["float32"])
matrix = 4 * 64 * 4096
bf16 = rmsnorm.step("fused_bf16").source.text
by_members = bf16.replace("uint4{", "Eight{").replace("uint4", "Eight").replace(
    "constexpr int VECTORS", "struct alignas(16) Eight { __nv_bfloat162 pair[4]; };\nconstexpr int VECTORS"
)  # fmt: skip
last = {shape: at("fused_bf16", shape, "bfloat16") for shape in (4096, 1024)}
liger = {shape: at("Liger", shape, "bfloat16") for shape in (4096, 1024)}

FACTS = {
    f"a loop per thread takes {at('naive').us:.0f} µs on an H200": True,
    f"{8192 * 4096 * 4 / 1e6:.0f} MB read and {8192 * 4096 * 4 / 1e6:.0f} MB written": True,
    "4,120 GB/s that a copy reaches": 4110 < at("fused").bytes / at("fused").copy_us / 1e3 < 4125,
    "7 of 8 bytes moved were wasted": 0.87 < 1 - naive["bytes_asked"] / naive["bytes_moved"] < 0.885,
    "Count sectors: each load of step 1 touched 32 of them, and now it touches four.": (
        naive["global_store_sectors"] / naive["global_store_requests"],
        shuffle["global_store_sectors"] / shuffle["global_store_requests"],
    ) == (32, 4),
    "No byte is wasted now, and we're at 61 % of a copy": shuffle["bytes_asked"] == shuffle["bytes_moved"]
    and round(100 * at("shuffle").copy_share) == 61,
    "4 times the matrix, 2 for x, 1 for the weight, 1 for y": float4["bytes_asked"] == 4 * matrix,
    f"Time tells, {at('shuffle').us:.0f} → {at('float4').us:.0f} µs": True,
    "A copy of these bytes takes 65": round(at("fused").copy_us) == 65,
    "That's Liger, a Triton kernel": round(at("Liger").us) == round(at("fused").us),
    "level with the copy on this shape and takes 14 % longer than we do on 32,768 × 1,024": abs(at("torch.compile").copy_share - 1) < 0.01
    and f"{at('torch.compile', 1024).us / at('fused', 1024).us:.2f}" == "1.14",
    "Liger ties with us on both": all(abs(at("Liger", n).us / at("fused", n).us - 1) < 0.01 for n in (4096, 1024)),
    "our x-ray counts four times the bytes": counted("fused_bf16", by_members)["bytes_moved"] == 4 * counted("fused_bf16", by_members)["bytes_asked"],
    f"It takes {last[4096].us:.1f} µs on 8,192 × 4,096 and {last[1024].us:.1f} on 32,768 × 1,024, {100 * last[4096].copy_share:.0f} % " f"and {100 * last[1024].copy_share:.0f} % of a copy. Liger takes {liger[4096].us:.1f} and {liger[1024].us:.1f}.": True,
}  # fmt: skip
