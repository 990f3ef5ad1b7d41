// strided: softmax along any dimension but the last: the numbers of a row lie `inner` apart.
//   first, second, result   (outer, cols, inner), contiguous
//   grid     outer * (inner / (LANES * COUNT), rounded up) * CLUSTER
//   block    LANES threads for COUNT rows each, TEAM times    cluster   1 to 8 blocks share out cols
//   shared   a Pair per row and warp, and what is known of each row
//   needs    any cols where HELD is 0, else at most CLUSTER * TEAM * HELD; inner a multiple of COUNT
//   traffic  each input read once, or twice where HELD is 0; the result written once
#include "columns.cuh"
#include "rows.cuh"
#include "together.cuh"

template <typename Columns, int LANES, int TEAM, int HELD, int CLUSTER, int BLOCKS_AN_SM>
__global__ void __launch_bounds__(LANES* TEAM, BLOCKS_AN_SM)
softmax_strided(const typename Columns::First* first, const typename Columns::Second* second,
                typename Columns::Result* result, long long cols, long long inner) {
    constexpr int COUNT = Columns::COUNT, ROWS = LANES * COUNT, WARPS = LANES * TEAM / WARP;
    constexpr int EACH = HELD ? HELD : 4;  // loads that leave before any is waited for
    using Finish = typename Columns::Finish;
    constexpr bool HAS_MAX = Columns::Sums::HAS_MAX;
    __shared__ Pair pairs[WARPS][ROWS];
    __shared__ Pair of_blocks[CLUSTER][ROWS];
    __shared__ __align__(8) unsigned long long all_here;
    __shared__ Whole whole[ROWS];
    unsigned tiles = (inner + ROWS - 1) / ROWS, tile = blockIdx.x / CLUSTER;
    int lane = threadIdx.x % LANES, member = threadIdx.x / LANES;
    // numbers before the first row of the block, and the first of the thread
    long long beside = (long long)(tile % tiles) * ROWS;
    long long before = tile / tiles * cols * inner + beside, begin = before + lane * COUNT;
    long long each = (cols + CLUSTER - 1) / CLUSTER;
    long long from = blockIdx.x % CLUSTER * each + member, end = min(from - member + each, cols);
    if (beside + lane * COUNT >= inner) end = 0;  // a lane behind the last column has empty rows
    if constexpr (CLUSTER > 1) {
        if (threadIdx.x == 0) expect(&all_here, sizeof(of_blocks));
        arrive();
    }
    Columns some[EACH];
    Pair mine[COUNT];
    float max[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; j++) mine[j] = {HAS_MAX ? -INFINITY : 0.0f, 0};
    auto load = [&](long long col) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            some[i] = Columns();
            if (col + i * TEAM < end) some[i].load(first, second, begin + (col + i * TEAM) * inner);
        }
    };

    // 1. the thread's own pairs
    for (long long col = from; HELD ? col == from : col < end; col += EACH * TEAM) {
        load(col);
        Columns::template add<(HELD > 0)>(some, mine);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) max[j] = mine[j].max;

    // 2. those of the warp, whose threads of one lane have the same rows, of the block, and of all
    int warp = threadIdx.x / WARP;
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
#pragma unroll
        for (int offset = LANES; offset < WARP; offset *= 2) {
            Pair other = {__shfl_xor_sync(0xffffffff, mine[j].max, offset),
                          __shfl_xor_sync(0xffffffff, mine[j].sum, offset)};
            mine[j] = joined<HAS_MAX>(mine[j], other);
        }
        if (threadIdx.x % WARP < LANES) pairs[warp][lane * COUNT + j] = {mine[j].max, mine[j].sum};
    }
    __syncthreads();
    if constexpr (CLUSTER > 1) {
        depart();
        for (int i = threadIdx.x; i < ROWS * CLUSTER; i += LANES * TEAM) {
            Pair all = {HAS_MAX ? -INFINITY : 0.0f, 0};
#pragma unroll
            for (int j = 0; j < WARPS; j++) all = joined<HAS_MAX>(all, pairs[j][i % ROWS]);
            send(all, &of_blocks[blockIdx.x % CLUSTER][i % ROWS], &all_here, i / ROWS);
        }
        wait(&all_here);
    }
    auto parts = CLUSTER > 1 ? of_blocks : pairs;
    bool doubts = false;
    for (int some_row = threadIdx.x; some_row / WARP * WARP < ROWS; some_row += LANES * TEAM) {
        int row = min(some_row, ROWS - 1);
        Pair all = {HAS_MAX ? -INFINITY : 0.0f, 0};
#pragma unroll
        for (int i = 0; i < (CLUSTER > 1 ? CLUSTER : WARPS); i++)
            all = joined<HAS_MAX>(all, parts[i][row]);
        // a row whose sum is to be exact, by the warp; behind the last column there is none
        bool doubted = beside + row < inner && !Columns::Sums::is_sure(all, cols, TEAM * CLUSTER);
        unsigned asks = __ballot_sync(0xffffffff, doubted);
        doubts |= asks != 0;
        for (; asks; asks &= asks - 1) {
            int who = __ffs(asks) - 1;
            long long at = before + __shfl_sync(0xffffffff, row, who);
            Pair exact = {__shfl_sync(0xffffffff, all.max, who), 0};
            exact = Columns::Sums::exactly(exact, cols, WarpTeam<WARP>(),
                                           Columns::numbers(first + at, behind(second, at), inner));
            if (threadIdx.x % WARP == who) all = exact;
        }
        if (row == some_row) whole[row] = Columns::Sums::whole(all);
    }
    doubts = __syncthreads_or(doubts);
    if constexpr (CLUSTER > 1)
        if (doubts) arrive(), depart();  // none writes what another is reading
    Finish rows[COUNT];
    bool again = !HELD;  // it reads them, as it does where one was shifted
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        Whole row = whole[lane * COUNT + j];
        again |= row.shift != 0 || !Finish::is_useful(row, max[j]);
    }
#pragma unroll
    for (int j = 0; j < COUNT; j++) {
        Whole row = whole[lane * COUNT + j];
        rows[j] = again || !Finish::IN_PLACE ? Finish(row) : Finish(row, max[j]);
    }

    // 3. write
    auto write = [&](long long col, bool held) {
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (col + i * TEAM < end)
                some[i].write(result + begin + (col + i * TEAM) * inner, rows, held);
    };
    if (!again) return write(from, true);
    for (long long col = from; col < end; col += EACH * TEAM) {
        load(col);
        write(col, false);
    }
}
