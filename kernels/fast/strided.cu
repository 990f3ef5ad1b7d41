// strided: softmax along any dimension but the last: the numbers of a row lie `inner` apart.
//   first, second, result   (outer, cols, inner), contiguous
//   grid     outer * (inner / (LANES * COUNT), rounded up)
//   block    LANES threads for COUNT rows each, TEAM times
//   shared   a Pair per row and warp, and what is known of each row
//   needs    any cols where HELD is 0, else at most TEAM * HELD; inner a multiple of COUNT
//   traffic  each input read once, or twice where HELD is 0; the result written once
#include "columns.cuh"
#include "rows.cuh"

template <typename Columns, int LANES, int TEAM, int HELD>
__global__ void __launch_bounds__(LANES* TEAM, 1)
softmax_strided(const typename Columns::First* first, const typename Columns::Second* second,
                typename Columns::Result* result, long long cols, long long inner) {
    constexpr int COUNT = Columns::COUNT, WARPS = LANES * TEAM / WARP;
    constexpr int EACH = HELD ? HELD : 4;  // loads that leave before any is waited for
    constexpr bool HAS_MAX = Columns::Sums::HAS_MAX;
    __shared__ Pair pairs[WARPS][LANES * COUNT];
    __shared__ typename Columns::Finish whole[LANES * COUNT];
    unsigned tiles = (inner + LANES * COUNT - 1) / (LANES * COUNT);
    int lane = threadIdx.x % LANES, member = threadIdx.x / LANES;
    long long column = (blockIdx.x % tiles * LANES + lane) * COUNT;
    long long begin = blockIdx.x / tiles * cols * inner + column;
    long long mine = column < inner ? cols : 0;  // a lane behind the last column has empty rows
    Columns some[EACH];
    Pair pairs_of[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) pairs_of[j] = {HAS_MAX ? -INFINITY : 0.0f, 0};

    // 1. the thread's own pairs
    for (long long col = member; col < mine; col += EACH * TEAM) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < mine)
                some[i].load(first, second, begin + (col + i * TEAM) * inner);
        Columns::template add<EACH>(some, (int)min((mine - col + TEAM - 1) / TEAM, (long long)EACH), pairs_of);
    }

    // 2. those of the warp, whose threads of one lane have the same rows, and those of the block
    int warp = threadIdx.x / WARP;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
#pragma unroll
        for (int offset = LANES; offset < WARP; offset *= 2) {
            Pair other = {__shfl_xor_sync(0xffffffff, pairs_of[j].max, offset),
                          __shfl_xor_sync(0xffffffff, pairs_of[j].sum, offset)};
            pairs_of[j] = joined<HAS_MAX>(pairs_of[j], other);
        }
        if (threadIdx.x % WARP < LANES) pairs[warp][lane * COUNT + j] = {pairs_of[j].max, pairs_of[j].sum};
    }
    __syncthreads();
    for (int some_row = threadIdx.x; some_row / WARP * WARP < LANES * COUNT; some_row += LANES * TEAM) {
        int row = min(some_row, LANES * COUNT - 1);
        long long beside = (long long)(blockIdx.x % tiles) * LANES * COUNT;
        long long from = (long long)(blockIdx.x / tiles) * cols * inner + beside;
        Pair all = {HAS_MAX ? -INFINITY : 0.0f, 0};
#pragma unroll
        for (int i = 0; i < WARPS; i++) all = joined<HAS_MAX>(all, pairs[i][row]);
        // a row whose sum is to be exact, by the warp; behind the last column there is none
        bool doubted = beside + row < inner && !Columns::Sums::is_sure(all, cols, TEAM);
        unsigned asks = __ballot_sync(0xffffffff, doubted);
        for (; asks; asks &= asks - 1) {
            int who = __ffs(asks) - 1;
            long long at = from + __shfl_sync(0xffffffff, row, who);
            Pair exact = {__shfl_sync(0xffffffff, all.max, who), 0};
            exact = Columns::Sums::exactly(exact, cols, WarpTeam<WARP>(),
                                           Columns::numbers(first + at, behind(second, at), inner));
            if (threadIdx.x % WARP == who) all = exact;
        }
        if (row == some_row)
            whole[row] = typename Columns::Finish(Columns::Sums::whole(all));
    }
    __syncthreads();
    typename Columns::Finish rows[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) rows[j] = whole[lane * COUNT + j];

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
