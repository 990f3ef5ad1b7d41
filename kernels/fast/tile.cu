// tile: short rows that lie one behind another. A block puts its rows into shared memory, and so
// loads and stores whole chunks, whatever the length of a row; LANES threads for each row.
//   first, second, result   (rows, cols), contiguous, each at a multiple of 16 bytes
//   grid     rows * LANES / BLOCK, rounded up      block   BLOCK threads
//   shared   a block's rows of each input, and of the result where its numbers have another size
//   needs    more than LANES * (HELD - 1) cols, and at most LANES * HELD
//   traffic  each input read once, the result written once
#include "held.cuh"
#include "rows.cuh"

// A tile's numbers are float32 in registers. Of 16 bits that become 16 bits no exponential may replace
// them all the same: other designs have no room for one, and results are to have the same bits.
template <typename In, typename Out> struct HeldAs {
    using Type = In;
};
template <typename In> struct HeldAs<In, float> {
    using Type = float;
};

template <typename In, typename Out, int HELD, bool LOG> struct ForwardTile {
    using First = In;
    using Second = void;
    using Result = Out;
    static constexpr int INPUTS = 1, COUNT = HELD;
    using Held = HeldNumbers<typename HeldAs<In, Out>::Type, Out, HELD, LOG>;
    using Sums = typename Held::Sums;
    const In* x;
    int cols;
    Held held;

    __device__ ForwardTile(const In* x, const void*, int cols) : x(x), cols(cols) {}
    __device__ void load(int i, const In* first, const In*) { held.numbers[i] = to_float(*first); }
    __device__ void leave_out(int i) { held.numbers[i] = -INFINITY; }
    template <int LANES> __device__ Pair reduce() { return held.template reduce<LANES>(); }
    __device__ auto numbers() const {
        return [x = x](long long col) { return to_float(x[col]); };
    }
    // `put(i, result)` for all that are held, the numbers of columns `lane` and every LANES further
    template <int LANES, typename Put> __device__ void write(Whole row, int lane, Put put) const {
        using Finish = typename Held::Finish;
        if (!Finish::is_useful(row, held.max)) return write_again<LANES>(row, lane, put);
        Finish finish = Finish::IN_PLACE ? Finish(row, held.max) : Finish(row);
#pragma unroll
        for (int i = 0; i < HELD; i++) put(i, finish.of(held.numbers[i]));
    }
    // from the row as it is in memory
    template <int LANES, typename Put>
    __device__ void write_again(Whole row, int lane, Put put) const {
        typename Held::Finish finish(row);
#pragma unroll 1
        for (int i = 0; i < HELD; i++)
            if (lane + i * LANES < cols) put(i, finish.of_number(to_float(x[lane + i * LANES])));
    }
};

template <typename In, typename Out, int HELD, bool LOG> struct BackwardTile {
    using First = In;
    using Second = In;
    using Result = Out;
    static constexpr int INPUTS = 2, COUNT = HELD;
    using Sums = Products;
    using Numbers = Backward<In, Out, WARP, 1, true, LOG, PLAIN, PLAIN>;
    const In *all_y, *all_g;
    float y[HELD], g[HELD];

    __device__ BackwardTile(const In* y, const In* g, int) : all_y(y), all_g(g) {}
    __device__ void load(int i, const In* first, const In* second) {
        y[i] = to_float(*first);
        g[i] = to_float(*second);
    }
    __device__ void leave_out(int i) { y[i] = g[i] = 0; }
    template <int LANES> __device__ Pair reduce() {
        Pair sums = {0, 0};
#pragma unroll
        for (int i = 0; i < HELD; i++) Numbers::add(sums, y[i], g[i]);
        return group_pair<LANES, false>(sums);
    }
    __device__ auto numbers() const {
        return [y = all_y, g = all_g](long long col) {
            return Numbers::term(to_float(y[col]), to_float(g[col]));
        };
    }
    template <int LANES, typename Put> __device__ void write(Whole row, int, Put put) const {
#pragma unroll
        for (int i = 0; i < HELD; i++) put(i, Numbers::result(y[i], g[i], row.a));
    }
    template <int LANES, typename Put>
    __device__ void write_again(Whole row, int lane, Put put) const {
        write<LANES>(row, lane, put);
    }
};

// So many numbers from one memory to another: whole chunks by `move`, the last numbers one by one.
template <int BLOCK, typename T, typename Move>
__device__ void move_all(const T* from, T* to, int count, Move move) {
    constexpr int N = Chunk<T>::NUMBERS;
    for (int i = threadIdx.x; i < count / N; i += BLOCK) move(from + i * N, to + i * N);
    int last = count / N * N + threadIdx.x;
    if (last < count) to[last] = from[last];
}

template <int BLOCK, typename T> __device__ void fetch(const T* from, T* to, int count) {
    move_all<BLOCK>(from, to, count,
                    [](const T* from, T* to) { __pipeline_memcpy_async(to, from, 16); });
}

template <int BLOCK, typename T> __device__ void put(const T* from, T* to, int count) {
    move_all<BLOCK>(from, to, count, [](const T* from, T* to) {
        *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    });
}

template <typename Row, int LANES, int BLOCK, int BLOCKS_AN_SM>
__global__ void __launch_bounds__(BLOCK, BLOCKS_AN_SM)
softmax_tile(const typename Row::First* first, const typename Row::Second* second,
             typename Row::Result* result, long long rows, long long cols) {
    using First = typename Row::First;
    using Result = typename Row::Result;
    constexpr int ROWS = BLOCK / LANES, HELD = Row::COUNT;
    extern __shared__ uint4 chunks[];
    First* firsts = reinterpret_cast<First*>(chunks);
    First* seconds = firsts + ROWS * cols;
    Result* results = reinterpret_cast<Result*>(firsts);
    if (sizeof(Result) != sizeof(First))
        results = reinterpret_cast<Result*>(firsts + Row::INPUTS * ROWS * cols);
    long long begin = (long long)blockIdx.x * ROWS * cols;
    int count = (int)min(ROWS * cols, rows * cols - begin);
    fetch<BLOCK>(first + begin, firsts, count);
    if constexpr (Row::INPUTS == 2) fetch<BLOCK>(second + begin, seconds, count);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();

    int lane = threadIdx.x % LANES, at = threadIdx.x / LANES * (int)cols + lane;
    // all lanes have a number but for the last of each; a thread behind the last row has none
    bool has_row = at - lane < count, has_last = has_row && lane + (HELD - 1) * LANES < cols;
    long long from = begin + at - lane;
    Row row(first + from, behind(second, from), has_row ? cols : 0);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (i < HELD - 1 ? has_row : has_last)
            row.load(i, firsts + at + i * LANES, seconds + at + i * LANES);
        else
            row.leave_out(i);
    Pair pair = row.template reduce<LANES>();
    auto write = [&](int i, float result) {
        if (i < HELD - 1 ? has_row : has_last) results[at + i * LANES] = from_float<Result>(result);
    };
    WarpTeam<LANES> team;
    if (team.any(!Row::Sums::is_sure(pair, cols, LANES))) {
        pair = Row::Sums::exactly(pair, has_row ? cols : 0, team, row.numbers());
        row.template write_again<LANES>(Row::Sums::whole(pair), lane, write);
    } else {
        row.template write<LANES>(Row::Sums::whole(pair), lane, write);
    }
    __syncthreads();
    put<BLOCK>(results, result + begin, count);
}
