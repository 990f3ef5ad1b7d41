// Numbers side by side, each of another row: what one thread loads at once of rows that lie along
// another dimension than the last.
#pragma once

#include "backward.cuh"
#include "share.cuh"

// As many as a chunk has, or one
template <typename T, int COUNT> struct Piece {
    Chunk<T> chunk;
    __device__ void load(const T* from) { chunk = ::load(from, true); }
    __device__ void unpack(float (&to)[COUNT]) const { chunk.unpack(to); }
};

template <typename T> struct Piece<T, 1> {
    T number;
    __device__ void load(const T* from) { number = *from; }
    __device__ void unpack(float (&to)[1]) const { to[0] = to_float(number); }
};

template <typename T, int COUNT> __device__ void write_piece(T* to, const float (&numbers)[COUNT]) {
    if constexpr (COUNT == 1)
        *to = from_float<T>(numbers[0]);
    else
        store<T, PLAIN>(to, numbers, true);
}

template <typename In, typename Out, int NUMBERS, bool LOG> struct ForwardColumns {
    using First = In;
    using Second = void;
    using Result = Out;
    using Finish = Results<In, Out, LOG>;
    using Sums = Finish;
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> x;

    __device__ void load(const In* all_x, const void*, long long at) { x.load(all_x + at); }
    // `count` of EACH
    template <int EACH>
    __device__ static void add(const ForwardColumns (&some)[EACH], int count, Pair (&pairs)[COUNT]) {
        float max[COUNT];
        Sum sums[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) max[j] = -INFINITY;
        float numbers[COUNT];
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (i >= count) continue;
            some[i].x.unpack(numbers);
#pragma unroll
            for (int j = 0; j < COUNT; j++) max[j] = max_or_nan(max[j], numbers[j]);
        }
        Over over[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) over[j] = Over(max[j]);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (i >= count) continue;
            some[i].x.unpack(numbers);
#pragma unroll
            for (int j = 0; j < COUNT; j++)
                sums[j].add(i, Exponential<Finish::SHORT>(numbers[j], over[j]));
        }
#pragma unroll
        for (int j = 0; j < COUNT; j++) pairs[j] = joined<true>(pairs[j], sums[j].pair(max[j]));
    }
    __device__ static auto numbers(const In* x, const void*, long long inner) {
        return [=](long long col) { return to_float(x[col * inner]); };
    }
    __device__ void write(Out* y, const Finish (&rows)[COUNT]) const {
        float numbers[COUNT];
        x.unpack(numbers);
#pragma unroll
        for (int j = 0; j < COUNT; j++) numbers[j] = rows[j].of_number(numbers[j]);
        write_piece(y, numbers);
    }
};

template <typename In, typename Out, int NUMBERS, bool LOG> struct BackwardColumns {
    using First = In;
    using Second = In;
    using Result = Out;
    using Numbers = Backward<In, Out, WARP, 1, true, LOG, PLAIN, PLAIN>;
    using Sums = Products;
    struct Finish {
        float sum;
        Finish() = default;
        __device__ explicit Finish(Whole row) : sum(row.a) {}
    };
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> y, g;

    __device__ void load(const In* all_y, const In* all_g, long long at) {
        y.load(all_y + at);
        g.load(all_g + at);
    }
    template <int EACH>
    __device__ static void add(const BackwardColumns (&some)[EACH], int count, Pair (&pairs)[COUNT]) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            if (i >= count) continue;
            float of_y[COUNT], of_g[COUNT];
            some[i].y.unpack(of_y);
            some[i].g.unpack(of_g);
#pragma unroll
            for (int j = 0; j < COUNT; j++) Numbers::add(pairs[j], of_y[j], of_g[j]);
        }
    }
    __device__ static auto numbers(const In* y, const In* g, long long inner) {
        return [=](long long col) {
            return Numbers::term(to_float(y[col * inner]), to_float(g[col * inner]));
        };
    }
    __device__ void write(Out* dx, const Finish (&rows)[COUNT]) const {
        float of_y[COUNT], of_g[COUNT];
        y.unpack(of_y);
        g.unpack(of_g);
#pragma unroll
        for (int j = 0; j < COUNT; j++) of_y[j] = Numbers::result(of_y[j], of_g[j], rows[j].sum);
        write_piece(dx, of_y);
    }
};
