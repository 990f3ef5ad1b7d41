// cluster: CLUSTER blocks per row, which tell one another their pairs through shared memory.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   grid     rows * CLUSTER    block   BLOCK threads    cluster   2 to 16 blocks
//   shared   16 * SHARED * BLOCK bytes of the row, and a Pair for every warp of the cluster
//   needs    sm_90, rows that a cluster holds
//   traffic  each input read once, the result written once
//   next     more than 16 blocks per row -> grid
#include "rows.cuh"
#include "together.cuh"

template <typename Row, int CLUSTER, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_cluster(const typename Row::First* first, const typename Row::Second* second,
                typename Row::Result* result, long long rows, long long cols,
                long long first_stride, long long second_stride, long long result_stride,
                More... more) {
    extern __shared__ uint4 chunks[];
    constexpr int WARPS = BLOCK / WARP;
    __shared__ Pair pairs[CLUSTER * WARPS];
    __shared__ __align__(8) unsigned long long all_here;
    __shared__ unsigned long long exact;
    __shared__ Told of_row;
    int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    int rank = blockIdx.x % CLUSTER;
    long long row = blockIdx.x / CLUSTER;
    if (threadIdx.x == 0) expect(&all_here, sizeof(pairs));
    arrive();  // no pair is sent before its receiver is ready
    Row held(first + row * first_stride, behind(second, row * second_stride),
             result + row * result_stride, cols, threadIdx.x, rank, CLUSTER, chunks,
             more.of(row)...);
    held.load();
    Pair mine = held.template reduce<WARP>();
    depart();
    if (lane < CLUSTER) send(mine, &pairs[rank * WARPS + warp], &all_here, lane);
    if (warp == 0) {
        wait(&all_here);
        Pair whole = merge<CLUSTER * WARPS, Row::Sums::HAS_MAX>(pairs);
        if (lane == 0) of_row = told<Row>(whole, cols, BLOCK * CLUSTER);
    }
    __syncthreads();
    finish(held, of_row, cols, BlockTeam<BLOCK>{&exact}, [] { arrive(), depart(); });
}
