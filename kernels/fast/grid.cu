// grid: BLOCKS blocks per row, all on the GPU at once, tell one another their pairs through L2.
//   first, second, result   (rows, cols), each with a stride between its rows, in numbers
//   slots    2 * BLOCKS of 16 bytes for each row of a launch that is under way; zeros at first, and
//            kept from launch to launch of kernels with these BLOCKS
//   grid     BLOCKS for each row that is under way, launched cooperatively    block   BLOCK threads
//   shared   16 * SHARED * BLOCK bytes of the row, and a Pair per warp and per block
//   needs    rows that BLOCKS blocks hold; any length where Row is streamed
//   traffic  each input read once, the result written once; streamed inputs twice
#include "rows.cuh"

// What a block says: its pair, and twice the number of its turn, so that a reader of either half
// knows whether it is this turn's. Written and read as 16 bytes that no cache on the way keeps.
__device__ inline ulonglong2 slot_of(Pair pair, unsigned turn) {
    return make_ulonglong2((unsigned long long)turn << 32 | __float_as_uint(pair.max),
                           (unsigned long long)turn << 32 | __float_as_uint(pair.sum));
}

template <typename Row, int BLOCKS, int BLOCK, int BLOCKS_AN_SM, typename... More>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_grid(const typename Row::First* first, const typename Row::Second* second,
             typename Row::Result* result, long long rows, long long cols, long long first_stride,
             long long second_stride, long long result_stride, ulonglong2* slots,
             More... more) {
    extern __shared__ uint4 chunks[];
    __shared__ Pair pairs[BLOCK / WARP];
    __shared__ Pair blocks[BLOCKS];
    int rank = blockIdx.x % BLOCKS, team = blockIdx.x / BLOCKS, teams = gridDim.x / BLOCKS;
    // two sets of slots by turns: who is in one has seen that all have left the other
    ulonglong2* said = slots + 2 * team * BLOCKS;
    ulonglong2* other = said + BLOCKS;
    for (long long row = team; row < rows; row += teams) {
        unsigned turn = unsigned(__ldcv(&said[rank]).y >> 32) + 1;
        Row held(first + row * first_stride, behind(second, row * second_stride),
                 result + row * result_stride, cols, threadIdx.x, rank, BLOCKS, chunks,
                 more.of(row)...);
        held.load();
        Pair mine = held.template reduce<WARP>();
        if (threadIdx.x % WARP == 0) pairs[threadIdx.x / WARP] = mine;
        __syncthreads();
        if (threadIdx.x < WARP) {
            Pair whole = merge<BLOCK / WARP, Row::HAS_MAX>(pairs);
            if (threadIdx.x == 0) __stwt(&said[rank], slot_of(whole, turn));
        }
        for (int i = threadIdx.x; i < BLOCKS; i += BLOCK) {
            ulonglong2 heard = __ldcv(&said[i]);
            while (unsigned(heard.x >> 32) != turn || unsigned(heard.y >> 32) != turn) {
                __nanosleep(0);  // without it the compiler takes the loop to end at once
                heard = __ldcv(&said[i]);
            }
            blocks[i] = {__uint_as_float((unsigned)heard.x), __uint_as_float((unsigned)heard.y)};
        }
        __syncthreads();
        held.write(mine, merge<BLOCKS, Row::HAS_MAX>(blocks));
        ulonglong2* next = other;
        other = said;
        said = next;
    }
}
