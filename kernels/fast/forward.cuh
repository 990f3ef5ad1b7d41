// A row on its way through softmax or its logarithm: read once, held by its threads, written once.
#pragma once

#include <cuda_pipeline_primitives.h>

#include "settled.cuh"
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

// REGISTERS chunks a thread in registers and SHARED more in shared memory.
template <typename In, typename Out, int THREADS, int REGISTERS, int SHARED, bool EDGES, bool LOG,
          Policy LOADS, Policy STORES>
struct Forward {
    using First = In;
    using Second = void;
    using Result = Out;
    using Held = Chunk<In>;
    using W = Word<In>;
    static constexpr int N = Held::NUMBERS;
    using Finish = Results<In, Out, LOG>;
    using Sums = Finish;
    static constexpr bool IN_PLACE = Finish::IN_PLACE;

    const In* x;
    Out* y;
    Share<In, THREADS, EDGES> share;
    bool y_aligned;
    uint4* shared;
    Held held[REGISTERS];
    float edge, max;

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
        max = largest();
        Sum<Finish::SHORT> sum(max);
        sum.take([&](bool on_grid) {
            if constexpr (EDGES) add(edge, sum, 0, on_grid);
#pragma unroll
            for (int i = 0; i < REGISTERS; i++) add(held[i], sum, on_grid);
#pragma unroll 2
            for (int i = 0; i < SHARED; i++) {
                if (!share.has(REGISTERS + i)) break;
                Held some = Held::of(shared[i * THREADS]);
                add(some, sum, on_grid);
                if (IN_PLACE) shared[i * THREADS] = some.all();
            }
        });
        return group_pair<LANES, true>(sum.pair());
    }

    __device__ auto numbers() const {
        return [x = x](long long col) { return to_float(x[col]); };
    }

    __device__ void write(Whole row) {
        if (!Finish::is_useful(row, max)) return write_again(row);
        Finish finish = IN_PLACE ? Finish(row, max) : Finish(row);
        if (share.has_edge()) y[share.edge()] = from_float<Out>(finish.of(edge));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++)
            if (share.has(i)) write_chunk(share.at(i), held[i], finish);
#pragma unroll 2
        for (int i = 0; i < SHARED; i++) {
            if (!share.has(REGISTERS + i)) break;
            write_chunk(share.at(REGISTERS + i), Held::of(shared[i * THREADS]), finish);
        }
    }

    // from the row as it is in memory
    __device__ void write_again(Whole row) const {
        Finish finish(row);
        auto write_one = [&](long long col) {
            y[col] = from_float<Out>(finish.of_number(to_float(x[col])));
        };
        if (share.has_edge()) write_one(share.edge());
#pragma unroll 1
        for (int i = 0; share.has(i); i++)
            for (int j = 0; j < N; j++) write_one(share.first + (long long)share.at(i) * N + j);
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
        return max_or_nan(edge, max_or_nan(last[0], last[1]));
    }

    __device__ static void raise(Held& top, const Held& some) {
#pragma unroll
        for (int j = 0; j < 4; j++) top.words[j] = W::larger(top.words[j], some.words[j]);
    }

    __device__ static void add(Held& some, Sum<Finish::SHORT>& sum, bool on_grid) {
        float numbers[N];
        some.unpack(numbers);
#pragma unroll
        for (int j = 0; j < N; j++) {
            add(numbers[j], sum, j, on_grid);
            if constexpr (IN_PLACE) some.words[j] = __float_as_uint(numbers[j]);
        }
    }

    __device__ static void add(float& number, Sum<Finish::SHORT>& sum, int turn, bool on_grid) {
        float e = sum.exp(number, on_grid);
        sum.add(turn, e);
        if (IN_PLACE) number = e;
    }

    __device__ void write_chunk(int at, const Held& some, const Finish& finish) const {
        float numbers[N];
        some.unpack_again(numbers);
#pragma unroll
        for (int j = 0; j < N; j++) numbers[j] = finish.of(numbers[j]);
        store<Out, STORES>(y + share.first + (long long)at * N, numbers, y_aligned);
    }
};
