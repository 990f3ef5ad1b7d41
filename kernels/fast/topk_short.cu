// softmax_topk_short: a warp for each row that its lanes hold; each lane sorts its own, and k times
// the first of all heads goes.
//   x        (rows, cols), with a stride between its rows, in numbers
//   values   (rows, k): the softmax of the k first    indices   (rows, k): their places
//   grid     one for every BLOCK / 32 rows    block   BLOCK threads
//   needs    1 <= k <= MOST <= 32, k <= cols; rows of at most the numbers of 32 chunks, with EDGES
//            from any place on
//   traffic  x read once, k values and indices written
#include "topk.cuh"

// The largest first: a bitonic network.
template <typename Key, int COUNT> __device__ void sort_down(Key (&keys)[COUNT]) {
#pragma unroll
    for (int size = 2; size <= COUNT; size *= 2)
#pragma unroll
        for (int apart = size / 2; apart > 0; apart /= 2)
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                if (i & apart) continue;
                Key a = keys[i], b = keys[i + apart];
                bool down = size == COUNT || !(i & size);
                keys[i] = down ? max(a, b) : min(a, b);
                keys[i + apart] = down ? min(a, b) : max(a, b);
            }
}

template <typename In, typename Order, int MOST, bool EDGES, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
softmax_topk_short(const In* x, In* values, long long* indices, long long rows, long long cols,
                   long long stride, int k, Pair* wholes) {
    using Key = typename Order::Key;
    constexpr int N = Chunk<In>::NUMBERS;
    int lane = threadIdx.x % WARP;
    long long row = (long long)blockIdx.x * (BLOCK / WARP) + threadIdx.x / WARP;
    if (row >= rows) return;
    x += row * stride;
    Share<In, WARP, EDGES> share(x, cols, lane, 0, 1);
    const In* from = x + share.first;

    // 1. each lane sorts its own
    bool has = share.has(0);
    Chunk<In> held = load_if<PLAIN>(has, from, lane * N, true, Chunk<In>::lowest());
    float numbers[N], edge = -INFINITY;
    held.unpack(numbers);
    Key keys[N], mine = 0;
#pragma unroll
    for (int j = 0; j < N; j++)
        keys[j] = has ? Order::key(numbers[j], (unsigned)share.first + lane * N + j) : 0;
    sort_down(keys);
    if (EDGES && share.has_edge()) {
        edge = to_float(x[share.edge()]);
        Key more = Order::key(edge, (unsigned)share.edge());
#pragma unroll
        for (int j = 0; j < N; j++) {
            Key smaller = min(keys[j], more);
            keys[j] = max(keys[j], more);
            more = smaller;
        }
        mine = more;  // the last of N + 1
    }

    // 2. the first of the heads goes, and lane i keeps the i-th
    Key found = 0, largest = 0;
#pragma unroll
    for (int i = 0; i < MOST; i++) {
        if (i >= k) break;
        Key next = warp_max(keys[0]);
        if (i == 0) largest = next;
        if (lane == i) found = next;
        if (keys[0] != next) continue;
        // the next one up; what more than MOST turns would need is not kept
#pragma unroll
        for (int j = 0; j + 1 < N && i + j + 1 < MOST; j++) keys[j] = keys[j + 1];
        if (i + N < MOST) {
            keys[N - 1] = mine;
            mine = 0;
        } else if (MOST <= N) {
            keys[N - 1] = 0;
        }
    }

    // 3. the sum of all, and the k values
    float max = Order::number(largest);
    Sum<sizeof(In) == 2> sum(max);
    held.unpack_again(numbers);
    sum.take([&](bool on_grid) {
#pragma unroll
        for (int j = 0; j < N; j++) sum.add(j, sum.exp(numbers[j], on_grid));
        if (EDGES) sum.add(0, sum.exp(edge, on_grid));
    });
    Pair whole = {max, group_sum<WARP>(sum.pair().sum)};
    if (wholes && lane == 0) wholes[row] = whole;
    auto known = known_of(whole, x, cols);
    if (lane >= k) return;
    float number = Order::number(found);
    values[row * k + lane] = from_float<In>(known.of_number(number));
    indices[row * k + lane] = Order::place(found);
}
