// Scores of attention: the softmax of scale * x + mask, in which a query sees no later key. Each
// number is read once; its score, and that one's exponential, are held where it arrived.
#pragma once

#include "held.cuh"
#include "scaling.cuh"

template <typename In, typename Out, int THREADS, int REGISTERS, bool EDGES, bool LOG, bool MASKED,
          Policy LOADS, Policy STORES>
struct Scores {
    using First = In;
    using Second = In;
    using Result = Out;
    static constexpr int EDGE = REGISTERS * Chunk<In>::NUMBERS;  // held behind the others
    static constexpr int N = Chunk<In>::NUMBERS;
    using Finish = Results<float, Out, LOG>;
    using Sums = Finish;

    const In *x, *mask;
    Out* y;
    Share<In, THREADS, EDGES> share;
    OfRow row;
    bool mask_aligned, y_aligned;
    HeldNumbers<float, Out, EDGE + EDGES, LOG> held;

    __device__ Scores(const In* x, const In* mask, Out* y, long long cols, int thread, int rank,
                      int blocks, uint4*, OfRow row)
        : x(x), mask(mask + row.mask), y(y), share(x, cols, thread, rank, blocks), row(row) {
        mask_aligned = !EDGES || is_aligned(this->mask + share.first);
        y_aligned = !EDGES || is_aligned(y + share.first);
    }

    __device__ void load() {
        if constexpr (EDGES) {
            bool seen = share.has_edge() && share.edge() < row.visible;
            float added = seen && MASKED ? to_float(mask[share.edge()]) : 0;
            held.numbers[EDGE] = seen ? score(to_float(x[share.edge()]), added, row.scale) : -INFINITY;
        }
        Chunk<In> some_x[REGISTERS], some_mask[REGISTERS];
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            some_x[i] = some_mask[i] = {{0, 0, 0, 0}};
            if (!share.has(i) || at(i) >= row.visible) continue;
            some_x[i] = load_if<LOADS>(true, x, at(i), true, some_x[i]);
            if (MASKED) some_mask[i] = ::load(mask + at(i), mask_aligned);
        }
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            float numbers[N], added[N];
            some_x[i].unpack(numbers);
            some_mask[i].unpack(added);
#pragma unroll
            for (int j = 0; j < N; j++) held.numbers[i * N + j] = score(numbers[j], added[j], row.scale);
        }
        if (share.has(REGISTERS - 1) && at(REGISTERS - 1) + N <= row.visible) return;  // sees all
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            int seen = share.has(i) ? (int)max(min(row.visible - at(i), (long long)N), 0LL) : 0;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (j >= seen) held.numbers[i * N + j] = -INFINITY;
        }
    }

    template <int LANES> __device__ Pair reduce() { return held.template reduce<LANES>(); }

    __device__ auto numbers() const {
        return [x = x, mask = mask, row = row](long long col) {
            if (col >= row.visible) return -INFINITY;
            return score(to_float(x[col]), MASKED ? to_float(mask[col]) : 0, row.scale);
        };
    }

    __device__ void write(Whole whole) {
        if (!Finish::is_useful(whole, held.max)) return write_again(whole);
        Finish finish = Finish::IN_PLACE ? Finish(whole, held.max) : Finish(whole);
        if constexpr (EDGES)
            if (share.has_edge()) y[share.edge()] = from_float<Out>(finish.of(held.numbers[EDGE]));
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) {
            if (!share.has(i)) continue;
            float numbers[N];
#pragma unroll
            for (int j = 0; j < N; j++) numbers[j] = finish.of(held.numbers[i * N + j]);
            store<Out, STORES>(y + at(i), numbers, y_aligned);
        }
    }

    // from the row as it is in memory
    __device__ void write_again(Whole whole) const {
        Finish finish(whole);
        auto number = numbers();
        auto write_one = [&](long long col) {
            y[col] = from_float<Out>(finish.of_number(number(col)));
        };
        if (share.has_edge()) write_one(share.edge());
#pragma unroll 1
        for (int i = 0; share.has(i); i++)
            for (int j = 0; j < N; j++) write_one(at(i) + j);
    }

    __device__ static float score(float number, float added, float scale) {
        return MASKED ? fmaf(number, scale, added) : __fmul_rn(number, scale);
    }

    __device__ long long at(int i) const { return share.first + (long long)share.at(i) * N; }
};
