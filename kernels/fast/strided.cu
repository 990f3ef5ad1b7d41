// strided: softmax along any dimension but the last: the numbers of a row lie `inner` apart.
//   first, second, result   (outer, cols, inner), contiguous
//   grid     outer * (inner / (LANES * COUNT), rounded up)
//   block    LANES threads for COUNT rows each, TEAM times
//   shared   a Pair per row and warp
//   needs    any cols where HELD is 0, else at most TEAM * HELD; inner a multiple of COUNT
//   traffic  each input read once, or twice where HELD is 0; the result written once
#include "columns.cuh"
#include "pairs.cuh"

template <typename Columns, int LANES, int TEAM, int HELD>
__global__ void __launch_bounds__(LANES* TEAM, 1)
softmax_strided(const typename Columns::First* first, const typename Columns::Second* second,
                typename Columns::Result* result, long long cols, long long inner) {
    constexpr int COUNT = Columns::COUNT, WARPS = LANES * TEAM / WARP;
    constexpr int EACH = HELD ? HELD : 4;  // loads that leave before any is waited for
    __shared__ Pair pairs[WARPS][LANES * COUNT];
    unsigned tiles = (inner + LANES * COUNT - 1) / (LANES * COUNT);
    int lane = threadIdx.x % LANES, member = threadIdx.x / LANES;
    long long column = (blockIdx.x % tiles * LANES + lane) * COUNT;
    long long begin = blockIdx.x / tiles * cols * inner + column;
    long long mine = column < inner ? cols : 0;  // a lane behind the last column has empty rows
    Columns some[EACH];
    float max[COUNT], sum[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) max[j] = -INFINITY, sum[j] = 0;

    // 1. the thread's own max and sum
    for (long long col = member; col < mine; col += EACH * TEAM) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < mine)
                some[i].load(first, second, begin + (col + i * TEAM) * inner);
        float before[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) before[j] = max[j];
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < mine) some[i].raise(max);
#pragma unroll
        for (int j = 0; j < COUNT; j++) sum[j] *= expf(before[j] - shift_of(max[j]));
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < mine) some[i].add(max, sum);
    }

    // 2. those of the warp, whose threads of one lane have the same rows, and those of the block
    int warp = threadIdx.x / WARP;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        float top = max[j];
#pragma unroll
        for (int offset = LANES; offset < WARP; offset *= 2)
            top = fmaxf(top, __shfl_xor_sync(0xffffffff, top, offset));
        sum[j] *= expf(max[j] - shift_of(top));
#pragma unroll
        for (int offset = LANES; offset < WARP; offset *= 2)
            sum[j] += __shfl_xor_sync(0xffffffff, sum[j], offset);
        if (threadIdx.x % WARP < LANES) pairs[warp][lane * COUNT + j] = {top, sum[j]};
    }
    __syncthreads();
    for (int row = threadIdx.x; row < LANES * COUNT; row += LANES * TEAM) {
        float top = -INFINITY, whole = 0;
#pragma unroll
        for (int i = 0; i < WARPS; i++) top = fmaxf(top, pairs[i][row].max);
#pragma unroll
        for (int i = 0; i < WARPS; i++)
            whole += pairs[i][row].sum * expf(pairs[i][row].max - shift_of(top));
        pairs[0][row] = Columns::prepare({top, whole});
    }
    __syncthreads();
    Pair rows[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) rows[j] = pairs[0][lane * COUNT + j];

    // 3. write
    for (long long col = member; col < mine; col += EACH * TEAM) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (!HELD && col + i * TEAM < mine)
                some[i].load(first, second, begin + (col + i * TEAM) * inner);
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < mine)
                some[i].write(result + begin + (col + i * TEAM) * inner, rows);
    }
}
