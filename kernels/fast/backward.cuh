// The gradient of a row, from the row's softmax y (or its logarithm) and the gradient g of that:
// each read once, held by its threads, one sum, and the result written once.
//   softmax      dx = y * (g - sum(y * g))
//   logarithm    dx = g - exp(y) * sum(g)
// and scale times that where the row was one of scores.
#pragma once

#include "scaling.cuh"
#include "settled.cuh"
#include "share.cuh"

template <typename In, typename Out, int THREADS, int REGISTERS, bool EDGES, bool LOG,
          Policy LOADS, Policy STORES>
struct Backward {
    using First = In;
    using Second = In;
    using Result = Out;
    using Held = Chunk<In>;
    static constexpr int N = Held::NUMBERS;
    using Sums = Products;

    const In *y, *g;
    Out* dx;
    Share<In, THREADS, EDGES> share;
    bool g_aligned, dx_aligned;
    Held held_y[REGISTERS], held_g[REGISTERS];
    float edge_y, edge_g, scale;

    __device__ Backward(const In* y, const In* g, Out* dx, long long cols, int thread, int rank,
                        int blocks, uint4*, OfRow row = {1, 0, 0})
        : y(y), g(g), dx(dx), share(y, cols, thread, rank, blocks), scale(row.scale) {
        g_aligned = !EDGES || is_aligned(g + share.first);
        dx_aligned = !EDGES || is_aligned(dx + share.first);
    }

    __device__ void load() {
        edge_y = share.has_edge() ? to_float(y[share.edge()]) : 0;
        edge_g = share.has_edge() ? to_float(g[share.edge()]) : 0;
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            long long at = share.first + (long long)share.at(i) * N;
            held_y[i] = held_g[i] = {{0, 0, 0, 0}};
            if (LOADS == PLAIN && !share.has(i)) continue;  // y and g in turns
            held_y[i] = load_if<LOADS>(share.has(i), y, at, true, held_y[i]);
            held_g[i] = load_if<LOADS>(share.has(i), g, at, g_aligned, held_g[i]);
        }
    }

    template <int LANES> __device__ Pair reduce() {
        Pair sums[2] = {};  // by turns, so that none waits for the one before
        if (share.has_edge()) add(sums[0], edge_y, edge_g);
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            float of_y[N], of_g[N];
            held_y[i].unpack(of_y);
            held_g[i].unpack(of_g);
#pragma unroll
            for (int j = 0; j < N; j++) add(sums[j % 2], of_y[j], of_g[j]);
        }
        return group_pair<LANES, false>(joined<false>(sums[0], sums[1]));
    }

    __device__ auto numbers() const {
        return [y = y, g = g](long long col) { return term(to_float(y[col]), to_float(g[col])); };
    }

    __device__ void write(Whole row) {
        if (share.has_edge())
            dx[share.edge()] = from_float<Out>(scale * result(edge_y, edge_g, row.a));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            if (!share.has(i)) continue;
            float of_y[N], of_g[N];
            held_y[i].unpack_again(of_y);
            held_g[i].unpack_again(of_g);
#pragma unroll
            for (int j = 0; j < N; j++) of_y[j] = scale * result(of_y[j], of_g[j], row.a);
            store<Out, STORES>(dx + share.first + (long long)share.at(i) * N, of_y, dx_aligned);
        }
    }

    // from the row as it is in memory
    __device__ void write_again(Whole row) const {
        auto write_one = [&](long long col) {
            dx[col] = from_float<Out>(scale * result(to_float(y[col]), to_float(g[col]), row.a));
        };
        if (share.has_edge()) write_one(share.edge());
#pragma unroll 1
        for (int i = 0; share.has(i); i++)
            for (int j = 0; j < N; j++) write_one(share.first + (long long)share.at(i) * N + j);
    }

    __device__ static void add(Pair& sums, float y, float g) {
        float number = term(y, g);
        sums.max += fabsf(number);
        sums.sum += number;
    }
    __device__ static float term(float y, float g) { return LOG ? g : y * g; }
    __device__ static float result(float y, float g, float sum) {
        return LOG ? fmaf(-expf(y), sum, g) : y * (g - sum);
    }
};
