"""What the benchmarks and the first page state: softmax() and the ladder beside their peers, as the records have them."""

from collections import Counter

from facts.recorded_facts import COLS, ROWS, beside_the_fastest

from softmax_lib import contests, recorded
from softmax_lib.records.measurement import PEERS, TIE
from softmax_lib.suites.conform.record import FAULTS, conform_rows, tally
from softmax_lib.suites.conform.record import OURS as REPLACEMENTS
from softmax_lib.suites.model.record import COMPILED, ONE_PASS, OURS, texts
from softmax_lib.suites.peers.record import contest_runs, mean_gain
from softmax_lib.worklog.registry import rungs

RUNGS = [rung.name for rung in rungs()]
every, elsewhere = contests(), contests("NVIDIA H100 80GB HBM3")
found, lost = (Counter(one.verdict for one in of) for of in (every, elsewhere))
back = [one for one in every if one.direction == "backward"]
level = Counter(one.verdict for one in back)
worklog = recorded.times(ROWS, COLS)
raced = [recorded.times(*shape) for shape in {t.case.shape for t in recorded.select(provider="torch", dtype="float32", l2="cold")}]  # fmt: skip


def on(*matrix, of=every):
    """What was found on these rows and columns in this dtype, forward."""
    (one,) = (o for o in of if (o.rows, o.cols, o.dtype, o.direction) == (*matrix, "forward"))
    return one


def late(one):
    """How much longer than the best peer we take, at most, in per cent."""
    return 100 * (1 / min(one.gains) - 1)


def declined(name):
    """Columns that a peer took in no forward run, on any matrix."""
    took = {one.cols for one in every if name in one.times_us}
    return {one.cols for one in every if one.direction == "forward"} - took


def best(times, names):
    return min(times[name].median_us for name in names if name in times)


def ladder():
    """On how many shapes our best rung is ahead of the best peer, tied with it, and behind."""
    ratios = [best(times, PEERS) / best(times, RUNGS) for times in raced]
    ahead, behind = sum(r > TIE for r in ratios), sum(r < 1 / TIE for r in ratios)
    return f"Over {len(ratios)} in float32, our best rung is ahead of the best peer on {ahead}, tied on {len(ratios) - ahead - behind} and behind on {behind}"  # fmt: skip


plane = beside_the_fastest("softmax()")
worse = {matrix: ratio for matrix, ratio in plane.items() if ratio > TIE}
plain, odd, single = (
    on(4096, 1024, "float32"),
    on(8192, 50257, "float32"),
    on(1, 1 << 20, "float32"),
)
wide = [on(8192, 4096, dtype).times_us["torch"] for dtype in ("float32", "bfloat16")]
long_quack = [one.times_us["QuACK"] / one.times_us["softmax()"] for one in every if one.cols > COLS and one.rows >= ROWS and one.direction == "forward" and "QuACK" in one.times_us]  # fmt: skip
forward = [one for one in every if one.direction == "forward"]
behind = [one for one in every if one.verdict == "behind"]
(channels,) = (one for one in forward if tuple(one.shape) == (32, 1000, 56, 56))
asked, bits = tally(conform_rows()), [one for one in conform_rows() if one.kind.startswith("bits")]
spilled = [recorded.times(ROWS, cols)[name].copy_share for cols in (COLS, 2 * COLS) for name in ("liger", "triton-tile")]  # fmt: skip
beyond = [recorded.times(ROWS, cols) for cols in (65536, 131072, 262144)]
far = [times["float4"].median_us / times["quack"].median_us for times in beyond]
gains = {name: sorted(text.gain[name] for text in texts()) for name in (OURS, ONE_PASS)}
compiled = [text.gain[COMPILED] for text in texts() if text.dtype == "bfloat16"]
losses = [on(4096, 1024, "float32", of=elsewhere), on(8192, 1000, "float32", of=elsewhere), on(32768, 1024, "bfloat16", of=elsewhere)]  # fmt: skip

FACTS = {
    f"ahead of its fastest peer on {found['ahead']} of {len(every)}, level on {found['level']} and behind on {found['behind']}": True,
    "Liger and both Triton kernels take no row above 65,536 elements": all(
        declined(name) >= {one.cols for one in forward if one.cols > 65536} for name in ("Liger", "simple Triton", "Triton tutorial")
    ),
    "QuACK took neither 50,257 columns nor rows of a million": {50257, 2**20} <= declined("QuACK"),
    "the tutorial's ends earlier": "Triton tutorial" not in on(4096, 32768, "float32").times_us,
    "nobody beats it by more than 2 %": max(us["a copy"] / min(us.values()) for us in (one.times_us for one in forward)) < 1.02,
    f"ours are up to {100 * (max(one.shares[0] for one in back) - 1):.0f} % faster": True,
    "In bfloat16 Liger and simple Triton take more than 4x": min(on(8192, 50257, "bfloat16").times_us[name] for name in ("Liger", "simple Triton")) > 4 * on(8192, 50257, "bfloat16").times_us["softmax()"],
    f"torch's time on the worklog's matrix differs by {100 * (on(ROWS, COLS, 'float32').times_us['torch'] / worklog['torch'].median_us - 1):.0f} %": True,
    "all but torch, Triton's tutorial and FlashInfer are within 4 % of a copy": {name for name, us in plain.times_us.items() if us > plain.times_us["a copy"] / 0.96} == {"torch", "Triton tutorial", "FlashInfer"},
    f"we run at a copy's speed, and the best peer takes {odd.gain:.1f}x as long": min(odd.shares) > 1,
    f"{single.gain:.1f}x as fast as {single.peer}, and {single.times_us['torch'] / single.times_us['softmax()']:.0f}x as fast as torch": True,
    "with 1,024 rows and more it's within 10 %": len(long_quack) >= 5 and 1.09 < max(long_quack) < 1.10,
    "On 8,192 × 4,096 torch takes as long as in float32": abs(wide[1] / wide[0] - 1) < 0.01,
    f"QuACK leads by {late(on(128, 96, 'float32')):.1f} % on 128 × 96 floats, by {late(on(32768, 256, 'bfloat16')):.1f} % on 32,768 × 256 in bfloat16": {on(128, 96, "float32").peer, on(32768, 256, "bfloat16").peer} == {"quack"},
    "by about 2 % on 8,192 × 256 floats and on one gradient": {round(late(one)) for one in behind if one.peer == "quack"} - {round(late(on(128, 96, "float32"))), round(late(on(32768, 256, "bfloat16")))} == {2},
    f"torch.compile by {max(late(one) for one in behind if one.peer == 'torch.compile'):.1f} % on another gradient": len(behind) == 5,
    f"the best peer takes {channels.gain:.1f}x as long and torch {channels.times_us['torch'] / channels.times_us['softmax()']:.1f}x": True,
    f"We take {1 / channels.shares[0]:.2f} copies there, and {1 / min(one.shares[0] for one in forward if len(one.shape) > 2 and one.dtype == 'float32'):.2f} at most": True,
    f"{100 * single.shares[0]:.0f} % of its speed on 1 × 1,048,576, where the next best gets {100 * single.peer_share:.0f} %": min(one.shares[0] for one in forward) == single.shares[0],
    f"on {len(worse)} small matrices of {len(plane)}": max(rows * cols for rows, cols in worse) <= 2**20,
    f"it takes up to {100 * (max(worse.values()) - 1):.0f} % longer than another one": True,
    f"fusion gets {100 * worklog['fusion'].copy_share:.0f} % of a copy's speed and the best peer {100 * worklog['fusion'].copy_us / best(worklog, PEERS):.0f} %": True,
    "within our 2 % for a tie": TIE == 1.02 and best(worklog, PEERS) < TIE * worklog["fusion"].median_us,
    "softmax() and Helion haven't met yet": not any("Helion" in one.times_us for one in every),
    ladder(): True,
    "On 32,768 × 128 QuACK takes less than half as long as fusion": recorded.times(32768, 128)["quack"].median_us < best(recorded.times(32768, 128), RUNGS) / 2,
    "fusion ends at 32,768 columns": all("fusion" not in times for times in beyond),
    f"it's {min(far):.1f}x to {max(far):.1f}x as fast as float4": True,
    "fall from 91 % of a copy's speed or more to less than 64 %": min(spilled[:2]) > 0.905 and max(spilled[2:]) < 0.64,
    "ahead of the best peer on seven matrices and behind on two": level == {"ahead": 7, "behind": 2},
    f"{mean_gain(back):.2f}x as fast in the geometric mean ({mean_gain(back, 2):.2f}x where two dedicated kernels or more ran)": True,
    f"ahead on {lost['ahead']} of {len(elsewhere)}, level on {lost['level']} and behind on {lost['behind']}": True,
    f"by {late(losses[0]):.1f} % on 4,096 × 1,024 floats and {late(losses[1]):.1f} % on 8,192 × 1,000, where QuACK leads, and by {late(losses[2]):.1f} % on 32,768 × 1,024 in bfloat16, where simple Triton does": [one.peer for one in losses] == ["quack", "quack", "triton-tile"],
    f"{on(8192, 50257, 'float32', of=elsewhere).gain:.1f}x on 8,192 × 50,257": True,
    f"asks {len(conform_rows())} things of each": True,
    "Ours never fail": not any(of[fault] for name in REPLACEMENTS for of in asked[name].values() for fault in FAULTS),
    "from 16,384 columns on, its bits change with the place of a row in memory": {int(one.ask.split()[0]) >= 16384 for one in bits if one.found["torch"] == "wrong"} == {True} and all("offset" in one.told["torch"] for one in bits if int(one.ask.split()[0]) >= 16384),
    "torch.compile's with the number of rows": any("rows beside it" in one.told.get("torch.compile", "") for one in bits),
    f"{gains[OURS][0]:.2f}x to {gains[OURS][-1]:.2f}x the tokens per second": True,
    f"softmax run in one pass: {gains[ONE_PASS][0]:.2f}x to {gains[ONE_PASS][-1]:.2f}x": True,
    f"In bfloat16 that brings {min(compiled):.1f}x and more": True,
    "beats both of ours; in float32 it ties with the one pass": all(
        text.gain[COMPILED] > TIE * text.gain[ONE_PASS] if text.dtype == "bfloat16" else 1 / TIE < text.gain[COMPILED] / text.gain[ONE_PASS] < TIE
        for text in texts()
    ),
}  # fmt: skip

FACTS_INTRO = {
    f"from {worklog['naive'].median_us / 1e3:.1f} ms to {worklog['fusion'].median_us:.1f} µs on an {recorded.gpu.split()[-1]}": True,
    f"from {100 * worklog['naive'].copy_share:.0f} % to {100 * worklog['fusion'].copy_share:.0f} % of a plain copy's speed": True,
    f"on {found['ahead']} of {len(every)} matrices, level on {found['level']} and behind on {found['behind']}": True,
    "in one run": len(contest_runs()) == 1,
}  # fmt: skip
