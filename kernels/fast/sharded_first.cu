// sharded_first: of rows that are cut over several GPUs the first numbers of all ranks' first, or each
// row's number at one column; a warp for each row meets those of other ranks.
//   x        (rows, cols) of this GPU's shards, with a stride between its rows, in numbers
//   places   (rows, few): in each shard its first, in order; with LOG (rows, 1): a column of the whole row
//   pairs    (rows): of each shard
//   values   (rows, k): the softmax of the k first of the whole row; with LOG (rows, 1): its logarithm there
//   columns  (rows, k): where they are in the whole row; with LOG (rows) of float2 in its place, by which
//            sharded_loss.cu knows a whole row
//   grid     as many blocks as the GPU has at once, as on every other rank, launched cooperatively
//   block    a warp    needs    1 <= few <= k <= 32 * DEEP; whole rows of fewer than 2^32
//   traffic  few numbers and a pair of each row, and to each rank 16 bytes for each of these
#include "ranks.cuh"
#include "topk.cuh"

template <typename In, typename Out, int DEEP, bool LOG>
__global__ void __launch_bounds__(WARP)
softmax_sharded_first(const In* x, const long long* places, Out* values, long long rows,
                      long long cols, long long stride, int few, int k, const Pair* pairs,
                      long long* columns, Ranks ranks) {
    using Finish = Results<In, Out, LOG>;
    int lane = threadIdx.x;
    long long before = ranks.rank * cols;  // columns of the row
    Meeting meeting(ranks, rows);
    if (blockIdx.x == 0) meeting.agree();
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        // 1. what this rank has
        const In* shard = x + row * stride;
        unsigned long long mine[DEEP];
#pragma unroll
        for (int i = 0; i < DEEP; i++) {
            int at = i * WARP + lane;
            long long place = at < few ? places[row * few + at] - LOG * before : -1;
            bool has = place >= 0 && place < cols;
            mine[i] = has ? Wide::key(to_float(shard[place]), unsigned(before + place)) : 0;
        }

        // 2. meet
        Best<unsigned long long, DEEP> best;
        best.clear();
        auto merge = [&](unsigned long long key) { best.merge(sort_up(key, lane), lane); };
        meeting.say(pairs[row]);
        unsigned turn = meeting.turn;
        meeting.say_key(mine[0]);  // before the pairs are waited for
        Pair heard = meeting.heard(turn);
        Pair whole = group_pair<WARP, true>(lane < ranks.ranks ? heard : Pair{-INFINITY, 0});
        meeting.hear_keys(meeting.turn, merge);
#pragma unroll
        for (int i = 1; i < DEEP; i++) {
            meeting.say_key(mine[i]);
            meeting.hear_keys(meeting.turn, merge);
        }

        // 3. write
        if (!Finish::is_sure(whole, ranks.cols, WARP))
            whole = Finish::exactly(whole, cols, RanksWarp{meeting},
                                    [=](long long col) { return to_float(shard[col]); });
        Finish finish(Finish::whole(whole));
#pragma unroll
        for (int i = 0; i < DEEP; i++) {
            int at = i * WARP + lane;
            if (at >= k) continue;
            float value = finish.of_number(Wide::number(best.keys[i]));
            if (meeting.lost) value = __int_as_float(0x7fffffff);
            values[row * k + at] = from_float<Out>(value);
            if constexpr (LOG)
                reinterpret_cast<float2*>(columns)[row] = make_float2(finish.max, finish.a);
            else
                columns[row * k + at] = Wide::place(best.keys[i]);
        }
    }
    if (lane == 0) ranks.turns[blockIdx.x] = meeting.turns();
}
