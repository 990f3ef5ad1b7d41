// A row on its way through softmax or its logarithm: read once, held by its threads, written once.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "pairs.cuh"
#include "share.cuh"

// A chunk to shared memory, which is there once it was waited for.
template <Policy POLICY> __device__ void copy_async(uint4* to, const void* from) {
    if constexpr (POLICY == EVICT_LAST)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(
                         shared_address(to)),
                     "l"(from), "l"(evict_last())
                     : "memory");
    else
        __pipeline_memcpy_async(to, from, 16);
}

// REGISTERS chunks a thread in registers and SHARED more in shared memory. A float is replaced by
// its exponential where it lies; 16 bits have no room for one, so that it is computed twice.
template <typename In, typename Out, int THREADS, int REGISTERS, int SHARED, bool EDGES, bool LOG,
          Policy LOADS, Policy STORES>
struct Forward {
    using First = In;
    using Second = void;
    using Result = Out;
    using Held = Chunk<In>;
    using W = Word<In>;
    static constexpr int N = Held::NUMBERS;
    static constexpr bool HAS_MAX = true;
    static constexpr bool IN_PLACE = sizeof(In) == 4 && !LOG;

    const In* x;
    Out* y;
    Share<In, THREADS, EDGES> share;
    bool y_aligned;
    uint4* shared;
    Held held[REGISTERS];
    float edge;

    __device__ Forward(const In* x, const void*, Out* y, long long cols, int thread, int rank,
                       int blocks, uint4* shared)
        : x(x), y(y), share(x, cols, thread, rank, blocks), shared(shared + thread) {
        y_aligned = !EDGES || is_aligned(y + share.first);
    }

    __device__ void load() {
        edge = share.has_edge() ? to_float(x[share.edge()]) : -INFINITY;
        const In* from = x + share.first;
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            long long at = (long long)share.at(i) * N;
            held[i] = load_if<LOADS>(share.has(i), from, at, true, Held::lowest());
        }
#pragma unroll
        for (int i = 0; i < SHARED; i++)
            if (share.has(REGISTERS + i))
                copy_async<LOADS>(shared + i * THREADS,
                                  from + (long long)share.at(REGISTERS + i) * N);
        if constexpr (SHARED > 0) {
            __pipeline_commit();
            __syncwarp();  // all loads have left before any of them is waited for
        }
    }

    // of what LANES neighbouring threads hold
    template <int LANES> __device__ Pair reduce() {
        float max = group_max<LANES>(largest());
        float shift = shift_of(max);
        float sums[4] = {0, 0, 0, 0};
        if constexpr (EDGES) {
            sums[0] = expf(edge - shift);
            if (IN_PLACE) edge = sums[0];
        }
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) add(held[i], shift, sums);
#pragma unroll 2
        for (int i = 0; i < SHARED; i++) {
            if (!share.has(REGISTERS + i)) break;
            Held some = Held::of(shared[i * THREADS]);
            add(some, shift, sums);
            if (IN_PLACE) shared[i * THREADS] = some.all();
        }
        return {max, group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }

    __device__ void write(Pair mine, Pair row) {
        float a = scale(mine.max, row);
        if (share.has_edge()) y[share.edge()] = from_float<Out>(result(edge, row.max, a));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++)
            if (share.has(i)) write_chunk(share.at(i), held[i], row.max, a);
#pragma unroll 2
        for (int i = 0; i < SHARED; i++) {
            if (!share.has(REGISTERS + i)) break;
            write_chunk(share.at(REGISTERS + i), Held::of(shared[i * THREADS]), row.max, a);
        }
    }

    __device__ float largest() {
        Held top = Held::lowest();
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) raise(top, held[i]);
        if constexpr (SHARED > 0) __pipeline_wait_prior(0);
#pragma unroll 2
        for (int i = 0; i < SHARED; i++) {
            if (!share.has(REGISTERS + i)) break;
            raise(top, Held::of(shared[i * THREADS]));
        }
        float last[2] = {-INFINITY, -INFINITY};
        W::unpack(
            W::larger(W::larger(top.words[0], top.words[1]), W::larger(top.words[2], top.words[3])),
            last);
        return fmaxf(edge, fmaxf(last[0], last[1]));
    }

    __device__ static void raise(Held& top, const Held& some) {
#pragma unroll
        for (int j = 0; j < 4; j++) top.words[j] = W::larger(top.words[j], some.words[j]);
    }

    __device__ static void add(Held& some, float shift, float (&sums)[4]) {
        float numbers[N];
        some.unpack(numbers);
#pragma unroll
        for (int j = 0; j < N; j++) {
            float e = sizeof(In) == 4 || sizeof(Out) == 4 ? expf(numbers[j] - shift)
                                                          : exp_fast(numbers[j] - shift);
            if constexpr (IN_PLACE) some.words[j] = __float_as_uint(e);
            sums[j % 4] += e;
        }
    }

    // once for a row, and not for each of its numbers
    __device__ static float scale(float my_max, Pair row) {
        if constexpr (LOG) return logf(row.sum);
        if constexpr (IN_PLACE) return expf(my_max - row.max) / row.sum;
        if constexpr (sizeof(Out) == 4) return 1 / row.sum;
        return log2f(row.sum);
    }

    __device__ static float result(float number, float max, float a) {
        if constexpr (LOG) return (number - max) - a;
        if constexpr (IN_PLACE) return number * a;
        if constexpr (sizeof(Out) == 4) return expf(number - max) * a;
        return exp2f((number - max) * LOG2_E - a);
    }

    __device__ void write_chunk(int at, const Held& some, float max, float a) const {
        float numbers[N];
        some.unpack_again(numbers);
#pragma unroll
        for (int j = 0; j < N; j++) numbers[j] = result(numbers[j], max, a);
        store<Out, STORES>(y + share.first + (long long)at * N, numbers, y_aligned);
    }
};
