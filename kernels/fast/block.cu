// block: a block per row, which its threads hold; one barrier.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   grid     rows          block   BLOCK threads
//   shared   16 * SHARED * BLOCK bytes of the row, and a Pair per warp
//   needs    rows that a block holds; any length where Row is streamed
//   traffic  each input read once, the result written once; streamed inputs twice
//   next     a block has 64 K registers, and longer rows need more -> cluster
#include "rows.cuh"

template <typename Row, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_block(const typename Row::First* first, const typename Row::Second* second,
              typename Row::Result* result, long long rows, long long cols, long long first_stride,
              long long second_stride, long long result_stride, More... more) {
    extern __shared__ uint4 chunks[];
    __shared__ Pair pairs[BLOCK / WARP];
    __shared__ unsigned long long exact;
    long long row = blockIdx.x;
    Row held(first + row * first_stride, behind(second, row * second_stride),
             result + row * result_stride, cols, threadIdx.x, 0, 1, chunks, more.of(row)...);
    held.load();
    Pair mine = held.template reduce<WARP>();
    if (threadIdx.x % WARP == 0) pairs[threadIdx.x / WARP] = mine;
    __syncthreads();
    Pair whole = merge<BLOCK / WARP, Row::Sums::HAS_MAX>(pairs);
    finish(held, told<Row>(whole, cols, BLOCK), cols, BlockTeam<BLOCK>{&exact}, [] {});
}
