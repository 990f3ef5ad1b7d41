// best: what 11_topk teaches, for the kernels beside it. A thread keeps the K best elements that it
// has seen in registers, the best one first; then the block hands out the K best of its row.

struct Found {
    float value;
    int place;  // the column
};

constexpr int NOWHERE = 0x7fffffff;

// Of equal values the one further left comes first.
__device__ inline bool comes_first(Found a, Found b) {
    return a.value > b.value || (a.value == b.value && a.place < b.place);
}

__device__ inline void start(Found (&best)[K]) {
#pragma unroll
    for (int i = 0; i < K; i++) best[i] = {-INFINITY, NOWHERE};
}

// What is no better than the last one is forgotten; else it takes that one's place, and rises.
__device__ inline void insert(Found (&best)[K], Found next) {
    if (!comes_first(next, best[K - 1])) return;
    best[K - 1] = next;
#pragma unroll
    for (int i = K - 1; i > 0; i--) {
        Found lower = best[i], upper = best[i - 1];
        bool rises = comes_first(lower, upper);
        best[i] = rises ? upper : lower;
        best[i - 1] = rises ? lower : upper;
    }
}

__device__ inline Found warp_first(Found mine) {
    for (int bit = WARP / 2; bit > 0; bit /= 2) {
        Found other = {__shfl_xor_sync(ALL_LANES, mine.value, bit),
                       __shfl_xor_sync(ALL_LANES, mine.place, bit)};
        if (comes_first(other, mine)) mine = other;
    }
    return mine;
}

// The first of the block's elements, in every thread; `of_warps` is WARPS of shared memory.
__device__ inline Found block_first(Found mine, Found* of_warps) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    mine = warp_first(mine);
    if (lane == 0) of_warps[warp] = mine;
    __syncthreads();
    Found first = warp_first(lane < WARPS ? of_warps[lane] : Found{-INFINITY, NOWHERE});
    __syncthreads();  // every warp has read them before the next turn writes
    return first;
}

// The next best of the row, in every thread: the first of all heads, which leaves its list.
__device__ inline Found take(Found (&best)[K], Found* of_warps) {
    Found first = block_first(best[0], of_warps);
    if (best[0].place == first.place) {
#pragma unroll
        for (int i = 0; i + 1 < K; i++) best[i] = best[i + 1];
        best[K - 1] = {-INFINITY, NOWHERE};
    }
    return first;
}
