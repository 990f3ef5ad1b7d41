# persistent: a program goes through many rows, and fetches the next ones early.
#   x, y     (rows, cols) of a float dtype, row-major
#   grid     any number    tile   TILE elements, a power of two, at least cols
#   needs    cols <= 65536, and STAGES - 1 tiles of shared memory where STAGES > 1
#   traffic  1 read + 1 write per element (least: 1 + 1)
import triton
import triton.language as tl


@triton.jit
def softmax_persistent(x, y, rows, cols, TILE: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, TILE)
    inside = at < cols
    first, step = tl.program_id(0), tl.num_programs(0)
    for place in tl.range(first, rows, step, num_stages=STAGES):
        start = tl.cast(place, tl.int64) * cols
        # 1. read: of STAGES rows at a time, all but one in advance
        row = tl.load(x + start + at, mask=inside, other=-float("inf")).to(tl.float32)
        # 2. max and sum
        power = tl.exp(row - tl.max(row, axis=0))
        share = power / tl.sum(power, axis=0)
        # 3. write
        tl.store(y + start + at, share, mask=inside)
