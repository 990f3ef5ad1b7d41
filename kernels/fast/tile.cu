// tile: short rows that lie one behind another. A block puts its rows into shared memory, and so
// loads and stores whole chunks, whatever the length of a row; LANES threads for each row.
//   first, second, result   (rows, cols), contiguous, each at a multiple of 16 bytes
//   grid     rows * LANES / BLOCK, rounded up      block   BLOCK threads
//   shared   a block's rows of each input, and of the result where its numbers have another size
//   needs    more than LANES * (HELD - 1) cols, and at most LANES * HELD
//   traffic  each input read once, the result written once
#include "backward.cuh"
#include "held.cuh"

template <typename In, typename Out, int HELD, bool LOG> struct ForwardTile {
    using First = In;
    using Second = void;
    using Result = Out;
    static constexpr int INPUTS = 1, COUNT = HELD;
    HeldNumbers<Out, HELD, LOG> x;

    __device__ void load(int i, const In* first, const In*) { x.numbers[i] = to_float(*first); }
    __device__ void leave_out(int i) { x.numbers[i] = -INFINITY; }
    template <int LANES> __device__ void reduce() {
        Pair row = x.template reduce<LANES>();
        x.prepare(row, row);
    }
    __device__ float result(int i) const { return x.result(i); }
};

template <typename In, typename Out, int HELD, bool LOG> struct BackwardTile {
    using First = In;
    using Second = In;
    using Result = Out;
    using Sums = Backward<In, Out, WARP, 1, true, LOG, PLAIN, PLAIN>;
    static constexpr int INPUTS = 2, COUNT = HELD;
    float y[HELD], g[HELD], sum;

    __device__ void load(int i, const In* first, const In* second) {
        y[i] = to_float(*first);
        g[i] = to_float(*second);
    }
    __device__ void leave_out(int i) { y[i] = g[i] = 0; }
    template <int LANES> __device__ void reduce() {
        sum = 0;
#pragma unroll
        for (int i = 0; i < HELD; i++) sum += Sums::term(y[i], g[i]);
        sum = group_sum<LANES>(sum);
    }
    __device__ float result(int i) const { return Sums::result(y[i], g[i], sum); }
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
    Row row;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (i < HELD - 1 ? has_row : has_last)
            row.load(i, firsts + at + i * LANES, seconds + at + i * LANES);
        else
            row.leave_out(i);
    row.template reduce<LANES>();
#pragma unroll
    for (int i = 0; i < HELD; i++)
        if (i < HELD - 1 ? has_row : has_last)
            results[at + i * LANES] = from_float<Result>(row.result(i));
    __syncthreads();
    put<BLOCK>(results, result + begin, count);
}
