// sharded_loss: the gradient of a row's logarithm at one column, with respect to this rank's shard of the row.
//   x        (rows, cols) of this GPU's shards, with a stride between its rows, in numbers
//   tokens   (rows): a column of each whole row    dx   (rows, cols): grad * ((col is the token) - softmax)
//   wholes   (rows): of each whole row its max, and the logarithm of its sum over exp(max); grads   (rows)
//   grid     rows    block   BLOCK threads    needs   any cols
//   traffic  x read once, dx written once
#include "forward.cuh"

constexpr int ON_THE_WAY = 4;  // chunks that a thread asks for before it waits

template <typename In, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
softmax_sharded_loss(const In* x, const long long* tokens, In* dx, long long rows, long long cols,
                     long long stride, long long before, const float2* wholes, const float* grads) {
    constexpr int N = Chunk<In>::NUMBERS;
    long long row = blockIdx.x, token = tokens[row] - before;
    x += row * stride, dx += row * cols;
    float2 whole = wholes[row];
    float grad = grads[row];
    Share<In, BLOCK, true> share(x, cols, threadIdx.x, 0, 1);
    bool aligned = is_aligned(dx + share.first);
    auto of = [&](float number, long long col) {
        return grad * ((col == token) - expf((number - whole.x) - whole.y));
    };
    if (share.has_edge()) dx[share.edge()] = from_float<In>(of(to_float(x[share.edge()]), share.edge()));
    for (int i = 0; share.has(i); i += ON_THE_WAY) {
        Chunk<In> some[ON_THE_WAY];
#pragma unroll
        for (int j = 0; j < ON_THE_WAY; j++)
            some[j] = load_if<PLAIN>(share.has(i + j), x + share.first, (long long)share.at(i + j) * N, true,
                                     Chunk<In>::lowest());
#pragma unroll
        for (int j = 0; j < ON_THE_WAY; j++) {
            if (!share.has(i + j)) continue;
            long long col = share.first + (long long)share.at(i + j) * N;
            float numbers[N];
            some[j].unpack(numbers);
#pragma unroll
            for (int k = 0; k < N; k++) numbers[k] = of(numbers[k], col + k);
            store<In, PLAIN>(dx + col, numbers, aligned);
        }
    }
}
