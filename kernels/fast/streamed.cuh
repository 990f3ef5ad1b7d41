// Rows too long to be held: read for their pair, and read again when they are written.
#pragma once

#include "backward.cuh"
#include "settled.cuh"
#include "share.cuh"

constexpr int ON_THE_WAY = 4;  // chunks that a thread asks for before it waits

template <typename In, typename Out, int THREADS, bool LOG> struct StreamedForward {
    using First = In;
    using Second = void;
    using Result = Out;
    using Held = Chunk<In>;
    using Finish = Results<In, Out, LOG>;
    using Sums = Finish;
    static constexpr int N = Held::NUMBERS;

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
        Pair pair = {-INFINITY, 0};
        if (share.has_edge()) pair = pair_of({{to_float(x[share.edge()])}});
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            float numbers[ON_THE_WAY][N];
            read(i, numbers);
            pair = joined<true>(pair, pair_of(numbers));
        }
        return group_pair<LANES, true>(pair);
    }

    template <int ROWS, int COUNT>
    __device__ static Pair pair_of(const float (&numbers)[ROWS][COUNT]) {
        float max = -INFINITY;
#pragma unroll
        for (int k = 0; k < ROWS; k++)
#pragma unroll
            for (int j = 0; j < COUNT; j++) max = max_or_nan(max, numbers[k][j]);
        Sum<Finish::SHORT> sum(max);
        sum.take([&](bool on_grid) {
#pragma unroll
            for (int k = 0; k < ROWS; k++)
#pragma unroll
                for (int j = 0; j < COUNT; j++) sum.add(j, sum.exp(numbers[k][j], on_grid));
        });
        return sum.pair();
    }

    __device__ auto numbers() const {
        return [x = x](long long col) { return to_float(x[col]); };
    }

    __device__ void write(Whole row) const { write_again(row); }

    __device__ void write_again(Whole row) const {
        Finish finish(row);
        if (share.has_edge())
            y[share.edge()] = from_float<Out>(finish.of_number(to_float(x[share.edge()])));
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            float numbers[ON_THE_WAY][N];
            read(i, numbers);
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++) {
                if (!share.has(i + k)) break;
#pragma unroll
                for (int j = 0; j < N; j++) numbers[k][j] = finish.of_number(numbers[k][j]);
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
};

template <typename In, typename Out, int THREADS, bool LOG> struct StreamedBackward {
    using First = In;
    using Second = In;
    using Result = Out;
    using Held = Chunk<In>;
    using Numbers = Backward<In, Out, THREADS, 1, true, LOG, PLAIN, STREAMING>;
    using Sums = Products;
    static constexpr int N = Held::NUMBERS;

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
        Pair sums = {0, 0};
        if (share.has_edge())
            Numbers::add(sums, to_float(y[share.edge()]), to_float(g[share.edge()]));
        for (int i = 0; share.has(i); i += ON_THE_WAY) {
            Held some_y[ON_THE_WAY], some_g[ON_THE_WAY];
            read(i, some_y, some_g);
            Pair part = {0, 0};
#pragma unroll
            for (int k = 0; k < ON_THE_WAY; k++) {
                float of_y[N], of_g[N];
                some_y[k].unpack(of_y);
                some_g[k].unpack(of_g);
#pragma unroll
                for (int j = 0; j < N; j++) Numbers::add(part, of_y[j], of_g[j]);
            }
            sums = joined<false>(sums, part);
        }
        return group_pair<LANES, false>(sums);
    }

    __device__ auto numbers() const {
        return [y = y, g = g](long long col) {
            return Numbers::term(to_float(y[col]), to_float(g[col]));
        };
    }

    __device__ void write(Whole row) const { write_again(row); }

    __device__ void write_again(Whole row) const {
        if (share.has_edge())
            dx[share.edge()] = from_float<Out>(
                result(to_float(y[share.edge()]), to_float(g[share.edge()]), row.a));
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
                for (int j = 0; j < N; j++) of_y[j] = result(of_y[j], of_g[j], row.a);
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
        return scale * Numbers::result(y, g, sum);
    }
};
