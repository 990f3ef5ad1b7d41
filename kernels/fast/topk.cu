// softmax_topk: a warp streams its part of a row once, past the k best so far; then the parts meet.
//   x        (rows, cols), with a stride between its rows, in numbers
//   values   (rows, k): the softmax of the k first    indices   (rows, k): their places
//   pairs, lists, arrived   (rows, teams, WARPS), (rows, teams, LIST), (rows): by which a row's
//            blocks meet; arrived is zeros at first and at the end. One team uses none of them.
//            LIST is k, or above 16 the next multiple of 32
//   grid     teams blocks for every BLOCK / 32 / WARPS rows
//   block    BLOCK threads, WARPS * 32 of them to a row
//   shared   the waiting keys of each warp    needs   1 <= k <= 32 * DEEP, k <= cols < 2^32
//   traffic  x read once, k values and indices written
#include "topk.cuh"

// What a warp reads in one turn, CHUNKS chunks a lane.
template <typename In, int CHUNKS> struct Tile {
    using Held = Chunk<In>;
    static constexpr int N = Held::NUMBERS;
    Held held[CHUNKS];

    __device__ void load(const In* from, int chunks, int lane) {
        if (chunks >= CHUNKS * WARP) {
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) held[i] = ::load(from + i * WARP * N, true);
        } else {
#pragma unroll
            for (int i = 0; i < CHUNKS; i++)
                held[i] = load_if<PLAIN>(i * WARP + lane < chunks, from, i * WARP * N, true,
                                         Held::lowest());
        }
    }

    // Of a lane's own numbers in a chunk; NaN where one is.
    __device__ float largest(int i) const {
        float numbers[N], top = -INFINITY;
        held[i].unpack(numbers);
#pragma unroll
        for (int j = 0; j < N; j++) top = max_or_nan(top, numbers[j]);
        return top;
    }

    // How many of a warp's numbers are not below `least`, NaN among them.
    __device__ int count(float least) const {
        unsigned found = 0;
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) {
            float numbers[N];
            held[i].unpack(numbers);
#pragma unroll
            for (int j = 0; j < N; j++) found += !(numbers[j] < least);
        }
        return warp_sum(found);
    }

    // of numbers of which `max` is the largest
    __device__ Pair pair(float max) const {
        Sum<sizeof(In) == 2> sum(max);
        sum.take([&](bool on_grid) {
#pragma unroll
            for (int i = 0; i < CHUNKS; i++) {
                float numbers[N];
                held[i].unpack_again(numbers);
#pragma unroll
                for (int j = 0; j < N; j++) sum.add(j, sum.exp(numbers[j], on_grid));
            }
        });
        return sum.pair();
    }
};

// What a warp knows of its part of a row: the best keys, those that wait to be merged into them,
// and for each lane the pair of its numbers.
template <typename In, typename Order, int CHUNKS, int DEEP> struct Search {
    using Key = typename Order::Key;
    static constexpr int N = Chunk<In>::NUMBERS;
    static constexpr int PART = 16 / N < CHUNKS ? 16 / N : CHUNKS;  // of a tile, between two merges
    static constexpr int ROOM = WARP * (1 + PART * N);
    static constexpr int SPARE = 8;  // more numbers than k that the search for a bound ends with
    static constexpr unsigned LOWEST = 0x00800000, INFINITE = 0xff800000;  // ordered(-FLT_MAX)
    static_assert(ROOM >= WARP * DEEP, "the best are written there, too");

    Key* waiting;
    int lane, k, waits = 0;
    Best<Key, DEEP> best;
    Key last = 0;                    // the k-th
    float bound = Order::number(0);  // k numbers are not below it; NaN where that is not known
    Pair mine = {-INFINITY, 0};

    __device__ Search(Key* waiting, int lane, int k) : waiting(waiting), lane(lane), k(k) {
        best.clear();
    }

    // Places rise from tile to tile: a number that equals the k-th comes behind it. (Those at the
    // edges of a row do not; no bound is asked about them.)
    __device__ void look(const Tile<In, CHUNKS>& tile, int chunks, unsigned place) {
        float tops[CHUNKS], largest = -INFINITY;
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) largest = max_or_nan(largest, tops[i] = tile.largest(i));
        mine = joined<true>(mine, tile.pair(largest));
        unsigned callers = __ballot_sync(0xffffffff, !(largest <= bound));
        if (!callers) return;
        float here = bound;
        if (__popc(callers) >= WARP / 2) here = raise(tile, largest);
#pragma unroll
        for (int i = 0; i < CHUNKS; i++) {
            float numbers[N];
            tile.held[i].unpack(numbers);
            bool has = i * WARP + lane < chunks;
            if (__any_sync(0xffffffff, has && !(tops[i] <= here))) {
#pragma unroll
                for (int j = 0; j < N; j++)
                    offer(has && !(numbers[j] <= here), numbers[j], place + i * WARP * N + j);
            }
            if ((i + 1) % PART == 0)
                while (waits >= WARP) merge();
        }
        bound = fmaxf(bound, Order::number(last));
    }

    // Where many numbers call: finds a number `low` that at least k of this tile, and few more, are
    // not below. From now on it is the bound, and what equals it comes too late. In this tile an
    // equal number may come first: there the bound is less by two steps, since 0 is one from -0.
    __device__ float raise(const Tile<In, CHUNKS>& tile, float largest) {
        unsigned tops = sort_up(ordered(largest), lane);
        unsigned low = LOWEST, high = min(__shfl_sync(0xffffffff, tops, WARP - 1), INFINITE);
        if (DEEP == 1)  // k lanes have one that is not below the k-th of the lanes' largest
            low = __shfl_sync(0xffffffff, tops, WARP - k);
        if (bound == bound) low = max(low, ordered(bound));
        unsigned middle = low;
        int likely = min(k, 8 + k * 7 / 16);  // not below it are k + SPARE / 2, if in no order
        if (likely <= WARP) middle = max(low, __shfl_sync(0xffffffff, tops, WARP - likely));
        int above = tile.count(number_of(middle));
        if (above >= k) {
            low = middle;
        } else if (middle == low) {
            return bound;
        } else {
            high = middle - 1;
            above = tile.count(number_of(low));
            if (above < k) return bound;
        }
        while (above > k + SPARE && low < high) {
            middle = high - (high - low) / 2;
            int some = tile.count(number_of(middle));
            if (some >= k) {
                low = middle;
                above = some;
            } else {
                high = middle - 1;
            }
        }
        bound = number_of(low);
        return number_of(low - 2);
    }

    __device__ void offer(bool offers, float number, unsigned place) {
        unsigned who = __ballot_sync(0xffffffff, offers);
        if (!who) return;
        if (offers) waiting[waits + __popc(who & ((1u << lane) - 1))] = Order::key(number, place);
        waits += __popc(who);
    }

    // Up to 32 of those that wait.
    __device__ void merge() {
        __syncwarp();
        int first = max(waits - WARP, 0);
        Key more = first + lane < waits ? waiting[first + lane] : 0;
        waits = first;
        best.merge(sort_up(more, lane), lane);
        last = best.at(k - 1);
        __syncwarp();
    }

    // Numbers at the ends of a row, which no chunk has; the last to be looked at.
    __device__ void look_at_edge(bool has, float number, unsigned place) {
        if (!__any_sync(0xffffffff, has)) return;
        offer(has, number, place);
        if (!has) return;
        Sum<sizeof(In) == 2> sum(number);
        sum.add(0, exp_over<sizeof(In) == 2>(number, sum.over));
        mine = joined<true>(mine, sum.pair());
    }

    __device__ Pair end() {
        while (waits > 0) merge();
        return group_pair<WARP, true>(mine);
    }
};

// What the first `some` of a row's warps found, to the first of them.
template <int WARPS, typename Best, typename Rows>
__device__ void meet(Best& best, Rows& written, int some, int warp, int lane) {
    best.write(written[warp], lane);
    __syncthreads();
#pragma unroll
    for (int step = WARPS / 2; step > 0; step /= 2) {
        if (warp < step && warp + step < some) {
            best.merge(written[warp + step], lane);
            best.write(written[warp], lane);
        }
        __syncthreads();
    }
}

template <typename In, typename Order, int CHUNKS, int DEEP, int WARPS, int BLOCK, int BLOCKS_AN_SM>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_topk(const In* x, In* values, long long* indices, long long rows, long long cols,
             long long stride, int k, int teams, Pair* pairs, typename Order::Key* lists,
             unsigned* arrived, Pair* wholes) {
    using Key = typename Order::Key;
    using Searching = Search<In, Order, CHUNKS, DEEP>;
    constexpr int N = Chunk<In>::NUMBERS, STEP = CHUNKS * WARP;
    static_assert(WARPS == 1 || WARPS * WARP == BLOCK, "a row takes a warp or a block");
    __shared__ Key waiting[BLOCK / WARP][Searching::ROOM];
    __shared__ Pair of_warps[WARPS];
    __shared__ bool is_last;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, team = blockIdx.x % teams;
    long long row = (long long)(blockIdx.x / teams) * (BLOCK / WARP / WARPS) + warp / WARPS;
    if (row >= rows) return;  // a whole warp, and none of its block waits for it
    x += row * stride;

    // 1. search
    Searching search(waiting[warp], lane, k);
    Share<In, WARP, true> share(x, cols, lane, team * WARPS + warp % WARPS, teams * WARPS);
    const In* from = x + share.first + lane * N;
    unsigned place = (unsigned)share.first + lane * N;
    Tile<In, CHUNKS> tile;
    for (int chunks = share.chunks; chunks > 0; chunks -= STEP) {
        tile.load(from, chunks, lane);
        search.look(tile, chunks, place);
        from += STEP * N;
        place += STEP * N;
    }
    bool has = share.has_edge();
    search.look_at_edge(has, has ? to_float(x[share.edge()]) : 0, (unsigned)share.edge());
    Pair whole = search.end();
    Best<Key, DEEP>& best = search.best;

    // 2. meet
    if constexpr (WARPS > 1) {
        long long team_of_all = row * teams + team;
        bool in_order = k > WARP / 2;  // then a warp meets 32 keys of one list, sorted already
        int list = in_order ? (k + WARP - 1) & -WARP : k;
        if (lane == 0) (teams > 1 ? pairs + team_of_all * WARPS : of_warps)[warp] = whole;
        meet<WARPS>(best, waiting, WARPS, warp, lane);
        if (teams == 1) {
            whole = merge<WARPS, true>(of_warps);
        } else {
            if (warp == 0) {
                Key* to = lists + team_of_all * list;
#pragma unroll
                for (int i = 0; i < DEEP; i++)
                    if (i * WARP + lane < list) to[i * WARP + lane] = best.keys[i];
                __syncwarp();
                if (lane == 0) {
                    __threadfence();  // of all that the block wrote: its warps have met
                    is_last = atomicAdd(&arrived[row], 1) == teams - 1;
                    __threadfence();
                }
            }
            __syncthreads();
            if (!is_last) return;
            best.clear();
            int keys = teams * list;
            const Key* all = lists + row * keys;
            for (int at = threadIdx.x; at - lane < keys; at += BLOCK) {
                Key more = at < keys ? __ldcg(&all[in_order ? at ^ (WARP - 1) : at]) : 0;
                best.merge(in_order ? more : sort_up(more, lane), lane);
            }
            if (warp == WARPS - 1) {
                whole = {-INFINITY, 0};
                const Pair* others = pairs + row * teams * WARPS;
                for (int i = lane; i < teams * WARPS; i += WARP) {
                    uint4 other = __ldcg(reinterpret_cast<const uint4*>(&others[i]));
                    whole = joined<true>(whole, {__uint_as_float(other.x),
                                                 __hiloint2double((int)other.w, (int)other.z)});
                }
                whole = group_pair<WARP, true>(whole);
                if (lane == 0) of_warps[0] = whole, arrived[row] = 0;
            }
            meet<WARPS>(best, waiting, (keys + WARP - 1) / WARP, warp, lane);
            whole = of_warps[0];
        }
    }

    // 3. write
    if (warp % WARPS > 0) return;
    if (wholes && lane == 0) wholes[row] = whole;
    auto known = known_of(whole, x, cols);
#pragma unroll
    for (int i = 0; i < DEEP; i++) {
        int at = i * WARP + lane;
        if (at >= k) continue;
        float number = Order::number(best.keys[i]);
        values[row * k + at] = from_float<In>(known.of_number(number));
        indices[row * k + at] = Order::place(best.keys[i]);
    }
}
