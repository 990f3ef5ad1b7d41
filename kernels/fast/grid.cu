// grid: BLOCKS blocks per row, all on the GPU at once, tell one another their pairs through L2.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   slots    2 * BLOCKS of 16 bytes for each row of a launch that is under way; zeros at first, and
//            kept from launch to launch of kernels with these BLOCKS
//   grid     BLOCKS for each row that is under way, launched cooperatively    block   BLOCK threads
//   shared   16 * SHARED * BLOCK bytes of the row, and a Pair per warp and per block
//   needs    rows that BLOCKS blocks hold; any length where Row is streamed
//   traffic  each input read once, the result written once; streamed inputs twice
#include "rows.cuh"
#include "slots.cuh"

template <typename Row, int BLOCKS, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_grid(const typename Row::First* first, const typename Row::Second* second,
             typename Row::Result* result, long long rows, long long cols, long long first_stride,
             long long second_stride, long long result_stride, ulonglong2* slots,
             More... more) {
    extern __shared__ uint4 chunks[];
    __shared__ Pair pairs[BLOCK / WARP];
    __shared__ Pair blocks[BLOCKS];
    __shared__ unsigned long long exact;
    __shared__ Told of_row;
    int rank = blockIdx.x % BLOCKS, team = blockIdx.x / BLOCKS, teams = gridDim.x / BLOCKS;
    // two sets of slots by turns: who is in one has seen that all have left the other
    ulonglong2* said = slots + 2 * team * BLOCKS;
    ulonglong2* other = said + BLOCKS;
    auto meet = [&](Pair mine) {
        unsigned turn = (unsigned(__ldcv(&said[rank]).y >> 48) + 1) & 0xffff;
        if (threadIdx.x % WARP == 0) pairs[threadIdx.x / WARP] = mine;
        __syncthreads();
        if (threadIdx.x < WARP) {
            Pair whole = merge<BLOCK / WARP, Row::Sums::HAS_MAX>(pairs);
            if (threadIdx.x == 0) __stwt(&said[rank], slot_of(whole, turn));
        }
        for (int i = threadIdx.x; i < BLOCKS; i += BLOCK) {
            ulonglong2 heard = __ldcv(&said[i]);
            while (unsigned(heard.x >> 48) != turn || unsigned(heard.y >> 48) != turn) {
                __nanosleep(0);  // without it the compiler takes the loop to end at once
                heard = __ldcv(&said[i]);
            }
            blocks[i] = pair_of(heard);
        }
        __syncthreads();
        if (threadIdx.x < WARP) {
            Pair whole = merge<BLOCKS, Row::Sums::HAS_MAX>(blocks);
            if (threadIdx.x == 0) of_row = told<Row>(whole, cols, BLOCK * BLOCKS);
        }
        __syncthreads();
        ulonglong2* next = other;
        other = said;
        said = next;
    };
    for (long long row = team; row < rows; row += teams) {
        Row held(first + row * first_stride, behind(second, row * second_stride),
                 result + row * result_stride, cols, threadIdx.x, rank, BLOCKS, chunks,
                 more.of(row)...);
        held.load();
        Pair mine = held.template reduce<WARP>();
        meet(mine);
        finish(held, of_row, cols, BlockTeam<BLOCK>{&exact}, [&] { meet(mine); });
    }
}
