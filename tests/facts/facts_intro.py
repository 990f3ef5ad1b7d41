"""What the first page states: our ladder's ends and our library beside its peers, as the records have them."""

from collections import Counter

from facts.recorded_facts import COLS, ROWS

from softmax_lib import recorded
from softmax_lib.suites.peers.record import contest_runs, contests

times = recorded.times(ROWS, COLS)
first, last = times["naive"], times["fusion"]
found = Counter(one.verdict for one in contests())

FACTS = {
    "from 9.3 ms to 69.5 µs on an H200": f"from {first.median_us / 1e3:.1f} ms to {last.median_us:.1f} µs on an {recorded.gpu.split()[-1]}",
    "from 1 % to 94 % of a plain copy's speed": f"from {100 * first.copy_share:.0f} % to {100 * last.copy_share:.0f} % of a plain copy's speed",
    "on 29 of 35 matrices, and level on the other 6": f"on {found['ahead']} of {found.total()} matrices, and level on the other {found['level']}",
    "in two runs": len(contest_runs()) == 2,
}  # fmt: skip
