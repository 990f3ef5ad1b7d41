// topk_warp_plain: 11_topk_warp with a score and its column in one number, which orders both.
//   x        (rows, cols) float32, row-major, without NaN
//   values   (rows, K) float32, largest first    places   (rows, K) int32, their columns
//   grid     rows                 block   BLOCK threads, a multiple of WARP
//   shared   2 floats per warp, 8 bytes per thread    needs   1 <= K <= WARP, K <= cols
//   traffic  1 read per element (the least), 2 K writes per row
//   next     16 bytes a load, and 32 that enter sorted and merged at once -> softmax_topk()

#include "block_reduce.cuh"  // ALL_LANES, block_max, block_sum

using Key = unsigned long long;  // larger: comes first in the list; of equals, the left one

__device__ Key key(float value, int col) {
    unsigned bits = __float_as_uint(value + 0.0f);  // -0 counts as 0
    return (Key)(bits >> 31 ? ~bits : bits | 0x80000000) << 32 | (unsigned)~col;
}

// Every lane offers a key. Those above the K-th of the list enter, one after the other.
__device__ void offer(Key& mine, Key next) {
    unsigned enter = __ballot_sync(ALL_LANES, next > __shfl_sync(ALL_LANES, mine, K - 1));
    for (; enter; enter &= enter - 1) {  // without its lowest bit
        Key one = __shfl_sync(ALL_LANES, next, __ffs(enter) - 1);
        Key above = __shfl_up_sync(ALL_LANES, mine, 1);
        mine = max(mine, threadIdx.x % WARP == 0 ? one : min(one, above));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
softmax_topk_warp_plain(const float* x, float* values, int* places, int rows, int cols) {
    __shared__ float maxima[WARPS], sums[WARPS];
    __shared__ Key lists[BLOCK];
    const float* x_row = x + (long long)blockIdx.x * cols;

    // 1. one read: max and sum of this thread's columns; of this warp's, the i-th best in lane i
    float thread_max = -INFINITY, thread_sum = 0.0f;
    Key mine = 0;
    for (int col = threadIdx.x; col / WARP * WARP < cols; col += BLOCK) {  // whole warps
        float value = col < cols ? x_row[col] : -INFINITY;
        if (value > thread_max) thread_sum *= expf(thread_max - value), thread_max = value;
        if (value > -INFINITY) thread_sum += expf(value - thread_max);
        offer(mine, col < cols ? key(value, col) : 0);
    }
    // 2. max and sum of the row; the lists go to shared memory
    lists[threadIdx.x] = mine;
    float row_max = block_max(thread_max, maxima);
    float row_sum = block_sum(thread_sum * expf(thread_max - row_max), sums);
    // 3. the first warp is offered what the others have, and writes
    for (int i = threadIdx.x + WARP; threadIdx.x < WARP && i < BLOCK; i += WARP)
        offer(mine, lists[i]);
    places += (long long)blockIdx.x * K, values += (long long)blockIdx.x * K;
    if (threadIdx.x < K) places[threadIdx.x] = ~(int)mine;
    if (threadIdx.x < K) values[threadIdx.x] = expf(x_row[~(int)mine] - row_max) / row_sum;
}
