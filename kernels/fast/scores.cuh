// Scores of attention: the softmax of scale * x + mask, in which a query sees no later key. Each
// number is read once; its score, and that one's exponential, are held where it arrived.
#pragma once

#include "forward.cuh"
#include "scaling.cuh"

template <typename In, typename Out, int THREADS, int REGISTERS, bool EDGES, bool LOG, bool MASKED,
          Policy POLICY>
struct Scores {
    using First = In;
    using Second = In;
    using Result = Out;
    using Sums = Forward<float, Out, THREADS, 1, 0, EDGES, LOG, POLICY>;
    static constexpr int N = Chunk<In>::NUMBERS;

    const In *x, *mask;
    Out* y;
    Share<In, THREADS, EDGES> share;
    OfRow row;
    bool mask_aligned, y_aligned;
    float held[REGISTERS][N];
    float edge;

    __device__ Scores(const In* x, const In* mask, Out* y, long long cols, int thread, int rank,
                      int blocks, uint4*, OfRow row)
        : x(x), mask(mask + row.mask), y(y), share(x, cols, thread, rank, blocks), row(row) {
        mask_aligned = !EDGES || is_aligned(this->mask + share.first);
        y_aligned = !EDGES || is_aligned(y + share.first);
    }

    __device__ void load() {
        edge = -INFINITY;
        if (share.has_edge() && share.edge() < row.visible)
            edge = score(to_float(x[share.edge()]), MASKED ? to_float(mask[share.edge()]) : 0);
        Chunk<In> some_x[REGISTERS], some_mask[REGISTERS];
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            some_x[i] = some_mask[i] = {{0, 0, 0, 0}};
            if (!share.has(i) || at(i) >= row.visible) continue;
            some_x[i] = ::load(x + at(i), true);
            if (MASKED) some_mask[i] = ::load(mask + at(i), mask_aligned);
        }
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            float added[N];
            some_x[i].unpack(held[i]);
            some_mask[i].unpack(added);
#pragma unroll
            for (int j = 0; j < N; j++) held[i][j] = score(held[i][j], added[j]);
            if (share.has(i) && at(i) + N <= row.visible) continue;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (!share.has(i) || at(i) + j >= row.visible) held[i][j] = -INFINITY;
        }
    }

    template <int LANES> __device__ Pair reduce() {
        float max = edge;
#pragma unroll
        for (int i = 0; i < REGISTERS; i++)
#pragma unroll
            for (int j = 0; j < N; j++) max = fmaxf(max, held[i][j]);
        max = group_max<LANES>(max);
        float sums[4] = {0, 0, 0, 0};
        add(edge, shift_of(max), sums[0]);
#pragma unroll
        for (int i = 0; i < REGISTERS; i++)
#pragma unroll
            for (int j = 0; j < N; j++) add(held[i][j], shift_of(max), sums[j % 4]);
        return {max, group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }

    __device__ void write(Pair mine, Pair whole) {
        float a = Sums::scale(mine.max, whole);
        if (share.has_edge())
            y[share.edge()] = from_float<Out>(Sums::result(edge, whole.max, a));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            if (!share.has(i)) continue;
#pragma unroll
            for (int j = 0; j < N; j++) held[i][j] = Sums::result(held[i][j], whole.max, a);
            store<Out, POLICY>(y + at(i), held[i], y_aligned);
        }
    }

    __device__ float score(float number, float added) const {
        return MASKED ? fmaf(number, row.scale, added) : number * row.scale;
    }

    __device__ static void add(float& number, float shift, float& sum) {
        float e = sizeof(Out) == 4 ? expf(number - shift) : exp_fast(number - shift);
        if (!LOG) number = e;
        sum += e;
    }

    __device__ long long at(int i) const { return share.first + (long long)share.at(i) * N; }
};
