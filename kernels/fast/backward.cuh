// The gradient of a row, from the row's softmax y (or its logarithm) and the gradient g of that:
// each read once, held by its threads, one sum, and the result written once.
//   softmax      dx = y * (g - sum(y * g))
//   logarithm    dx = g - exp(y) * sum(g)
// and scale times that where the row was one of scores.
#pragma once

#include "pairs.cuh"
#include "scaling.cuh"
#include "share.cuh"

template <typename In, typename Out, int THREADS, int REGISTERS, bool EDGES, bool LOG,
          Policy LOADS, Policy STORES>
struct Backward {
    using First = In;
    using Second = In;
    using Result = Out;
    using Held = Chunk<In>;
    static constexpr int N = Held::NUMBERS;
    static constexpr bool HAS_MAX = false;

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
        float sums[4] = {share.has_edge() ? term(edge_y, edge_g) : 0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            float of_y[N], of_g[N];
            held_y[i].unpack(of_y);
            held_g[i].unpack(of_g);
#pragma unroll
            for (int j = 0; j < N; j++) sums[j % 4] += term(of_y[j], of_g[j]);
        }
        return {0, group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }

    __device__ void write(Pair, Pair row) {
        if (share.has_edge())
            dx[share.edge()] = from_float<Out>(scale * result(edge_y, edge_g, row.sum));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            if (!share.has(i)) continue;
            float of_y[N], of_g[N];
            held_y[i].unpack_again(of_y);
            held_g[i].unpack_again(of_g);
#pragma unroll
            for (int j = 0; j < N; j++) of_y[j] = scale * result(of_y[j], of_g[j], row.sum);
            store<Out, STORES>(dx + share.first + (long long)share.at(i) * N, of_y, dx_aligned);
        }
    }

    __device__ static float term(float y, float g) { return LOG ? g : y * g; }
    __device__ static float result(float y, float g, float sum) {
        return LOG ? g - expf(y) * sum : y * (g - sum);
    }
};
