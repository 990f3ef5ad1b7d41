// warp: LANES neighbouring threads per row, 1 to 32 of a warp; no shared memory, no barrier.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   grid     rows * LANES / BLOCK, rounded up      block   BLOCK threads
//   needs    rows that LANES threads hold: up to 4 KB
//   traffic  each input read once, the result written once
//   next     longer rows need more threads -> block
#include "rows.cuh"

template <typename Row, int LANES, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_warp(const typename Row::First* first, const typename Row::Second* second,
             typename Row::Result* result, long long rows, long long cols, long long first_stride,
             long long second_stride, long long result_stride, More... more) {
    long long row = (long long)blockIdx.x * (BLOCK / LANES) + threadIdx.x / LANES;
    // a group behind the last row takes part in the shuffles of its warp, with a row of no columns
    long long at = row < rows ? row : 0;
    Row held(first + at * first_stride, behind(second, at * second_stride),
             result + at * result_stride, row < rows ? cols : 0, threadIdx.x % LANES, 0, 1,
             nullptr, more.of(at)...);
    held.load();
    Pair pair = held.template reduce<LANES>();
    finish(held, told<Row>(pair, cols, LANES), row < rows ? cols : 0, WarpTeam<LANES>(), [] {});
}
