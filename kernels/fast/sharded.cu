// sharded: a row lies on several GPUs, a shard on each that a block holds. Blocks tell one another
// their pairs through memory that all of these GPUs reach, and no shard moves.
//   first, second, result   (rows, cols) of this GPU's shards, each with a stride between its rows, in numbers
//   ranks    who takes part; their slots, zeros at first, are kept from launch to launch
//   grid     as many blocks as the GPU has at once, as on every other rank, launched cooperatively
//   block    BLOCK threads
//   shared   16 * SHARED * BLOCK bytes of the shard, and a Pair per warp
//   needs    shards that a block holds; any length where Row is streamed
//   traffic  each input read once, the result written once; streamed inputs twice; 16 bytes a row to each rank
#include "ranks.cuh"
#include "rows.cuh"

template <typename Row, int BLOCK, int BLOCKS_AN_SM>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_sharded(const typename Row::First* first, const typename Row::Second* second,
                typename Row::Result* result, long long rows, long long cols,
                long long first_stride, long long second_stride, long long result_stride,
                Ranks ranks) {
    extern __shared__ uint4 chunks[];
    __shared__ Pair pairs[BLOCK / WARP];
    __shared__ unsigned long long exact;
    __shared__ Told of_row;
    __shared__ long long next;
    __shared__ bool lost;
    constexpr bool HAS_MAX = Row::Sums::HAS_MAX;
    const float nan = __int_as_float(0x7fffffff);
    const Whole unknown = {nan, 0, nan, 0, 0};
    auto row_at = [&](long long row) {
        return Row(first + row * first_stride, behind(second, row * second_stride),
                   result + row * result_stride, cols, threadIdx.x, 0, 1, chunks);
    };
    Meeting meeting(ranks, rows);
    long long row = blockIdx.x;
    while (row < rows) {
        Row held = row_at(row);
        held.load();
        if (threadIdx.x < WARP) {
            if (row == 0) meeting.agree();
            meeting.draw();
        }
        Pair mine = held.template reduce<WARP>();
        if (threadIdx.x % WARP == 0) pairs[threadIdx.x / WARP] = mine;
        __syncthreads();
        if (threadIdx.x < WARP) {
            meeting.hand_on();
            Pair heard = meeting.tell(merge<BLOCK / WARP, HAS_MAX>(pairs));
            if (threadIdx.x >= ranks.ranks) heard = {HAS_MAX ? -INFINITY : 0.0f, 0};
            Pair whole = group_pair<WARP, HAS_MAX>(heard);
            long long following = meeting.next(row);
            if (threadIdx.x == 0) {
                next = following;
                of_row = told<Row>(whole, ranks.cols, BLOCK);
                if (meeting.lost) of_row = {whole, unknown, true};
            }
        }
        __syncthreads();
        row = next;
        finish(held, of_row, cols, RanksTeam<BLOCK>(&exact, meeting), [] {});
    }
    if (threadIdx.x == 0) {
        ranks.turns[blockIdx.x] = meeting.turns();
        lost = meeting.lost;
    }
    __syncthreads();
    if (lost)
        for (row = blockIdx.x; row < rows; row += gridDim.x) row_at(row).write_again(unknown);
}
