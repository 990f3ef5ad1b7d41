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
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> x;

    __device__ void load(const In* all_x, const void*, long long at) { x.load(all_x + at); }
    __device__ void raise(float (&max)[COUNT]) const {
        float numbers[COUNT];
        x.unpack(numbers);
#pragma unroll
        for (int j = 0; j < COUNT; j++) max[j] = fmaxf(max[j], numbers[j]);
    }
    __device__ void add(const float (&max)[COUNT], float (&sum)[COUNT]) const {
        float numbers[COUNT];
        x.unpack(numbers);
#pragma unroll
        for (int j = 0; j < COUNT; j++) sum[j] += expf(numbers[j] - shift_of(max[j]));
    }
    __device__ void write(Out* y, const Pair (&rows)[COUNT]) const {
        float numbers[COUNT];
        x.unpack(numbers);
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            numbers[j] = LOG ? (numbers[j] - rows[j].max) - rows[j].sum
                             : expf(numbers[j] - rows[j].max) * rows[j].sum;
        write_piece(y, numbers);
    }
    // once for a row, and not for each of its numbers
    __device__ static Pair prepare(Pair row) {
        return {row.max, LOG ? logf(row.sum) : 1 / row.sum};
    }
};

template <typename In, typename Out, int NUMBERS, bool LOG> struct BackwardColumns {
    using First = In;
    using Second = In;
    using Result = Out;
    using Sums = Backward<In, Out, WARP, 1, true, LOG, PLAIN, PLAIN>;
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> y, g;

    __device__ void load(const In* all_y, const In* all_g, long long at) {
        y.load(all_y + at);
        g.load(all_g + at);
    }
    __device__ void raise(float (&max)[COUNT]) const {
#pragma unroll
        for (int j = 0; j < COUNT; j++) max[j] = 0;
    }
    __device__ void add(const float (&)[COUNT], float (&sum)[COUNT]) const {
        float of_y[COUNT], of_g[COUNT];
        y.unpack(of_y);
        g.unpack(of_g);
#pragma unroll
        for (int j = 0; j < COUNT; j++) sum[j] += Sums::term(of_y[j], of_g[j]);
    }
    __device__ void write(Out* dx, const Pair (&rows)[COUNT]) const {
        float of_y[COUNT], of_g[COUNT];
        y.unpack(of_y);
        g.unpack(of_g);
#pragma unroll
        for (int j = 0; j < COUNT; j++) of_y[j] = Sums::result(of_y[j], of_g[j], rows[j].sum);
        write_piece(dx, of_y);
    }
    __device__ static Pair prepare(Pair row) { return row; }
};
