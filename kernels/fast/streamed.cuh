// Rows too long to be held: read for their pair, and read again when they are written.
#pragma once

#include "backward.cuh"
#include "pairs.cuh"
#include "share.cuh"

constexpr int ON_THE_WAY = 4;  // chunks that a thread asks for before it waits

template <typename In, typename Out, int THREADS, bool LOG> struct StreamedForward {
    using First = In;
    using Second = void;
    using Result = Out;
    using Held = Chunk<In>;
    static constexpr int N = Held::NUMBERS;
    static constexpr bool HAS_MAX = true;

    const In* x;
    Out* y;
    Share<In, THREADS, true> share;
    bool y_aligned;

    __device__ StreamedForward(const In* x, const void*, Out* y, long long cols, int thread,
                               int rank, int blocks, uint4*)
        : x(x), y(y), share(x, cols, thread, rank, blocks) {
        y_aligned = is_aligned(y + share.first);
    }

    __device__ void load() {}

    template <int LANES> __device__ Pair reduce() {
        float top = share.has_edge() ? to_float(x[share.edge()]) : -INFINITY;
        Pair pair = {top, share.has_edge() ? expf(top - shift_of(top)) : 0};
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            float numbers[ON_THE_WAY][N];
            read(i, numbers);
            float max = pair.max;
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++)
#pragma unroll
                for (int j = 0; j < N; j++) max = fmaxf(max, numbers[k][j]);
            float shift = shift_of(max), sum = 0;
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++)
#pragma unroll
                for (int j = 0; j < N; j++) sum += expf(numbers[k][j] - shift);
            pair = {max, pair.sum * expf(pair.max - shift) + sum};
        }
        float max = group_max<LANES>(pair.max);
        return {max, group_sum<LANES>(pair.sum * expf(pair.max - shift_of(max)))};
    }

    __device__ void write(Pair, Pair row) {
        float a = LOG ? logf(row.sum) : 1 / row.sum;
        if (share.has_edge())
            y[share.edge()] = from_float<Out>(result(to_float(x[share.edge()]), row.max, a));
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            float numbers[ON_THE_WAY][N];
            read(i, numbers);
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++) {
                if (!share.has(i + k)) break;
#pragma unroll
                for (int j = 0; j < N; j++) numbers[k][j] = result(numbers[k][j], row.max, a);
                store<Out, STREAMING>(y + share.first + (long long)share.at(i + k) * N, numbers[k],
                                      y_aligned);
            }
        }
    }

    __device__ void read(int i, float (&numbers)[ON_THE_WAY][N]) const {
        Held some[ON_THE_WAY];
#pragma unroll
        for (int k = 0; k < ON_THE_WAY; k++)
            some[k] = share.has(i + k)
                          ? ::load(x + share.first + (long long)share.at(i + k) * N, true)
                          : Held::lowest();
#pragma unroll
        for (int k = 0; k < ON_THE_WAY; k++) some[k].unpack(numbers[k]);
    }

    __device__ static float result(float number, float max, float a) {
        return LOG ? (number - max) - a : expf(number - max) * a;
    }
};

template <typename In, typename Out, int THREADS, bool LOG> struct StreamedBackward {
    using First = In;
    using Second = In;
    using Result = Out;
    using Held = Chunk<In>;
    using Sums = Backward<In, Out, THREADS, 1, true, LOG, PLAIN, STREAMING>;
    static constexpr int N = Held::NUMBERS;
    static constexpr bool HAS_MAX = false;

    const In *y, *g;
    Out* dx;
    Share<In, THREADS, true> share;
    bool g_aligned, dx_aligned;
    float scale;

    __device__ StreamedBackward(const In* y, const In* g, Out* dx, long long cols, int thread,
                                int rank, int blocks, uint4*, OfRow row = {1, 0, 0})
        : y(y), g(g), dx(dx), share(y, cols, thread, rank, blocks), scale(row.scale) {
        g_aligned = is_aligned(g + share.first);
        dx_aligned = is_aligned(dx + share.first);
    }

    __device__ void load() {}

    template <int LANES> __device__ Pair reduce() {
        float sum =
            share.has_edge() ? Sums::term(to_float(y[share.edge()]), to_float(g[share.edge()])) : 0;
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            Held some_y[ON_THE_WAY], some_g[ON_THE_WAY];
            read(i, some_y, some_g);
            float part = 0;
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++) {
                float of_y[N], of_g[N];
                some_y[k].unpack(of_y);
                some_g[k].unpack(of_g);
#pragma unroll
                for (int j = 0; j < N; j++) part += Sums::term(of_y[j], of_g[j]);
            }
            sum += part;
        }
        return {0, group_sum<LANES>(sum)};
    }

    __device__ void write(Pair, Pair row) {
        if (share.has_edge())
            dx[share.edge()] = from_float<Out>(
                result(to_float(y[share.edge()]), to_float(g[share.edge()]), row.sum));
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            Held some_y[ON_THE_WAY], some_g[ON_THE_WAY];
            read(i, some_y, some_g);
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++) {
                if (!share.has(i + k)) break;
                float of_y[N], of_g[N];
                some_y[k].unpack(of_y);
                some_g[k].unpack(of_g);
#pragma unroll
                for (int j = 0; j < N; j++) of_y[j] = result(of_y[j], of_g[j], row.sum);
                store<Out, STREAMING>(dx + at(i + k), of_y, dx_aligned);
            }
        }
    }

    __device__ void read(int i, Held (&some_y)[ON_THE_WAY], Held (&some_g)[ON_THE_WAY]) const {
#pragma unroll
        for (int k = 0; k < ON_THE_WAY; k++) {
            some_y[k] = some_g[k] = {{0, 0, 0, 0}};
            if (share.has(i + k)) {
                some_y[k] = ::load(y + at(i + k), true);
                some_g[k] = ::load(g + at(i + k), g_aligned);
            }
        }
    }

    __device__ long long at(int i) const { return share.first + (long long)share.at(i) * N; }

    __device__ float result(float y, float g, float sum) const {
        return scale * Sums::result(y, g, sum);
    }
};
