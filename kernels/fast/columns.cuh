// Numbers side by side, each of another row: what one thread loads at once of rows that lie along
// another dimension than the last.
#pragma once

#include "backward.cuh"
#include "share.cuh"

// As many as a chunk has, or one
template <typename T, int COUNT> struct Piece {
    Chunk<T> chunk;
    __device__ static Piece lowest() { return {Chunk<T>::lowest()}; }
    __device__ static Piece zeros() { return {{{0, 0, 0, 0}}}; }
    __device__ void load(const T* from) { chunk = ::load(from, true); }
    __device__ void unpack(float (&to)[COUNT]) const { chunk.unpack(to); }
    __device__ void replace(int j, float number) { chunk.words[j] = __float_as_uint(number); }
};

template <typename T> struct Piece<T, 1> {
    T number;
    __device__ static Piece lowest() { return {from_float<T>(-INFINITY)}; }
    __device__ static Piece zeros() { return {from_float<T>(0)}; }
    __device__ void load(const T* from) { number = *from; }
    __device__ void unpack(float (&to)[1]) const { to[0] = to_float(number); }
    __device__ void replace(int, float other) { number = from_float<T>(other); }
};

template <typename T, int COUNT> __device__ void write_piece(T* to, const float (&numbers)[COUNT]) {
    if constexpr (COUNT == 1)
        *to = from_float<T>(numbers[0]);
    else
        store<T, L2>(to, numbers, true);  // PLAIN is taken apart here, into numbers
}

template <typename In, typename Out, int NUMBERS, bool LOG> struct ForwardColumns {
    using First = In;
    using Second = void;
    using Result = Out;
    using Finish = Results<In, Out, LOG>;
    using Sums = Finish;
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> x = Piece<In, COUNT>::lowest();

    __device__ void load(const In* all_x, const void*, long long at) { x.load(all_x + at); }
    // To the pairs of COUNT rows what `some` have of them; those who are HELD keep their exponentials.
    template <bool HELD, int EACH>
    __device__ static void add(ForwardColumns (&some)[EACH], Pair (&pairs)[COUNT]) {
        float numbers[COUNT];
#pragma unroll
        for (int j = 0; j < COUNT; j++) {  // one after the other, which takes fewer registers
            float max = -INFINITY;
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                some[i].x.unpack(numbers);
                max = max_or_nan(max, numbers[j]);
            }
            Sum<Finish::SHORT> sum(max);
            sum.take([&](bool on_grid) {
#pragma unroll
                for (int i = 0; i < EACH; i++) {
                    some[i].x.unpack(numbers);
                    float e = sum.exp(numbers[j], on_grid);
                    sum.add(i, e);
                    if constexpr (HELD && Finish::IN_PLACE) some[i].x.replace(j, e);
                }
            });
            pairs[j] = HELD ? sum.pair() : joined<true>(pairs[j], sum.pair());
        }
    }
    __device__ static auto numbers(const In* x, const void*, long long inner) {
        return [=](long long col) { return to_float(x[col * inner]); };
    }
    __device__ void write(Out* y, const Finish (&rows)[COUNT], bool held) const {
        float numbers[COUNT];
        x.unpack(numbers);
#pragma unroll
        for (int j = 0; j < COUNT; j++)
            numbers[j] = held ? rows[j].of(numbers[j]) : rows[j].of_number(numbers[j]);
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
        static constexpr bool IN_PLACE = false;
        float sum;
        Finish() = default;
        __device__ explicit Finish(Whole row, float = 0) : sum(row.a) {}
        __device__ static bool is_useful(Whole, float) { return true; }
    };
    static constexpr int COUNT = NUMBERS;
    Piece<In, COUNT> y = Piece<In, COUNT>::zeros(), g = y;

    __device__ void load(const In* all_y, const In* all_g, long long at) {
        y.load(all_y + at);
        g.load(all_g + at);
    }
    template <bool, int EACH>
    __device__ static void add(const BackwardColumns (&some)[EACH], Pair (&pairs)[COUNT]) {
#pragma unroll
        for (int i = 0; i < EACH; i++) {
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
    __device__ void write(Out* dx, const Finish (&rows)[COUNT], bool) const {
        float of_y[COUNT], of_g[COUNT];
        y.unpack(of_y);
        g.unpack(of_g);
#pragma unroll
        for (int j = 0; j < COUNT; j++) of_y[j] = Numbers::result(of_y[j], of_g[j], rows[j].sum);
        write_piece(dx, of_y);
    }
};
