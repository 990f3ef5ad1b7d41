// topk_warp: 11_topk with one list per warp, whose i-th best element is in lane i.
//   x        (rows, cols) float32, row-major, without NaN
//   values   (rows, K) float32, largest first    places   (rows, K) int32, their columns
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats and K elements per warp    needs   1 <= K <= WARP, K <= cols
//   traffic  1 read per element (the least), 2 K writes per row
//   next     16 bytes a load, and 32 that enter sorted and merged at once -> softmax_topk()

#include "block_reduce.cuh"
#include "best.cuh"

__device__ Found from_lane(Found theirs, int lane) {
    return {__shfl_sync(ALL_LANES, theirs.value, lane), __shfl_sync(ALL_LANES, theirs.place, lane)};
}

// Every lane offers one element. Those better than the K-th enter, one after the other: all lanes
// behind its place take what the lane above them had at once.
__device__ void offer(Found& mine, Found next, bool has) {
    int lane = threadIdx.x % WARP;
    Found last = from_lane(mine, K - 1);
    unsigned enter = __ballot_sync(ALL_LANES, has && comes_first(next, last));
    for (; enter; enter &= enter - 1) {  // without its lowest bit
        Found one = from_lane(next, __ffs(enter) - 1);
        Found above = from_lane(mine, max(lane - 1, 0));
        if (comes_first(one, mine)) mine = lane > 0 && comes_first(one, above) ? above : one;
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_topk_warp(const float* __restrict__ x, float* __restrict__ values, int* __restrict__ places,
                  int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ Found lists[WARPS * K];
    const float* x_row = x + (long long)blockIdx.x * cols;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;

    // 1. one read: max and sum of this thread's columns, and the K best of this warp's
    float thread_max = -INFINITY, thread_sum = 0.0f;
    Found mine = {-INFINITY, NOWHERE};
    for (int base = 0; base < cols; base += BLOCK) {
        int col = base + threadIdx.x;
        bool has = col < cols;
        float value = has ? x_row[col] : -INFINITY;
        if (value > thread_max) {
            thread_sum *= expf(thread_max - value);
            thread_max = value;
        }
        if (value > -INFINITY) thread_sum += expf(value - thread_max);
        offer(mine, {value, col}, has);
    }

    // 2. max and sum of the row; the lists go to shared memory
    if (lane < K) lists[warp * K + lane] = mine;
    float row_max = block_max(thread_max, maxima);
    float row_sum = block_sum(thread_sum * expf(thread_max - row_max), sums);

    // 3. the first warp is offered what the others have, and writes
    if (warp == 0) {
        for (int first = K; first < WARPS * K; first += WARP) {
            bool has = first + lane < WARPS * K;
            offer(mine, has ? lists[first + lane] : Found{-INFINITY, NOWHERE}, has);
        }
        if (lane < K) {
            long long at = (long long)blockIdx.x * K + lane;
            values[at] = expf(mine.value - row_max) / row_sum;
            places[at] = mine.place;
        }
    }
}
