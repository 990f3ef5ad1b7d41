// A row's sum as a number that its additions' order cannot change. They are made in float64, and
// their error is bounded; then the sum is rounded to fewer bits. Where it lies so near an edge of
// rounding that its error might have carried it across, it is computed again, exactly. Edges are at
// thirds of the last bit: a short row's sum, which has few bits, never lies on one.
#pragma once

#include "pairs.cuh"

// Who makes an exact sum together: LANES neighbours of a warp.
template <int LANES> struct WarpTeam {
    static constexpr int THREADS = LANES;
    __device__ int thread() const { return threadIdx.x % LANES; }
    __device__ bool any(bool yes) const { return __any_sync(0xffffffff, yes); }
    template <typename T> __device__ T sum(T mine) const { return group_sum<LANES>(mine); }
    __device__ float max(float mine) const { return group_max<LANES>(mine); }
};

// All threads of a block, by eight bytes of shared memory. They know the same of their row.
template <int BLOCK> struct BlockTeam {
    static constexpr int THREADS = BLOCK;
    unsigned long long* shared;
    __device__ int thread() const { return threadIdx.x; }
    __device__ bool any(bool yes) const { return yes; }
    __device__ unsigned long long sum(unsigned long long mine) const {
        clear();
        atomicAdd(shared, mine);
        __syncthreads();
        return *shared;
    }
    __device__ float max(float mine) const {  // of numbers that are not negative
        clear();
        atomicMax(shared, (unsigned long long)__float_as_uint(mine));
        __syncthreads();
        return __uint_as_float((unsigned)*shared);
    }
    __device__ void clear() const {
        __syncthreads();
        if (threadIdx.x == 0) *shared = 0;
        __syncthreads();
    }
};

// A number below 4 as whole 2^-30, 2^-62 and 2^-94, to be added in any order.
struct Parts {
    unsigned long long high = 0, low = 0, last = 0;
    __device__ void add(float number) {
        float left = fabsf(number) * 0x1p30f;
        add(high, left, number < 0);
        add(low, left *= 0x1p32f, number < 0);
        add(last, left *= 0x1p32f, number < 0);
    }
    __device__ static void add(unsigned long long& sum, float& left, bool negative) {
        unsigned whole = (unsigned)left;
        left -= (float)whole;
        sum += negative ? -(unsigned long long)whole : whole;
    }
    template <typename Team> __device__ double sum(Team team) {
        double of_last = (long long)team.sum(last) * 0x1p-94;
        of_last += (long long)team.sum(low) * 0x1p-62;
        return (long long)team.sum(high) * 0x1p-30 + of_last;
    }
};

// What all threads of a row know of it in the end: its largest number; what is taken off each before
// its exponential is; 1 / sum as (a + rest) / 2^power, or the logarithm a of the sum. Of a backward
// pass the sum a.
struct Whole {
    float max, shift, a, rest;
    int power;
};

// Sums of exponentials. In a row that is far from 0 the shift is its max.
template <bool SHORT> struct Exponentials {
    static constexpr bool HAS_MAX = true;
    static constexpr int ROUNDED = 26;  // bits of float64 that are rounded off
    static constexpr unsigned EDGE = (1u << ROUNDED) / 3;

    __device__ static bool is_far(float max) { return fabsf(max) >= FAR && fabsf(max) < INFINITY; }

    // The error is at most a unit of float64 for each addition on a number's way: those of its
    // thread, and fewer than 60 where `threads` meet; of the exact sum two units.
    __device__ static bool is_sure(Pair row, long long cols, int threads) {
        constexpr unsigned UNIT = 1u << ROUNDED;  // of float64 in one of what is kept
        unsigned margin = (unsigned)min(64 + cols / threads, (long long)UNIT / 2);
        unsigned from_edge = ((unsigned)__double2loint(row.sum) + EDGE) % UNIT;
        return !is_far(row.max) && from_edge - margin < UNIT - 2 * margin;
    }

    template <typename Team, typename Numbers>
    __device__ __noinline__ static Pair exactly(Pair row, long long cols, Team team,
                                                Numbers numbers) {
        float shift = is_far(row.max) ? row.max : 0;
        Over over(row.max - shift);
        Parts parts;
        for (long long col = team.thread(); col < cols; col += Team::THREADS)
            parts.add(exp_over<SHORT>(numbers(col) - shift, over));
        int powers = power_of(row.max - shift) - base_of(row.max - shift) + LESS<SHORT>;
        return {row.max, scaled(parts.sum(team), powers)};
    }
};

// Sums of a backward pass, of either sign. They are rounded to 2^-30 of the power of two at the sum
// of magnitudes, whose own error must not decide which power that is.
struct Products {
    static constexpr bool HAS_MAX = false;
    static constexpr unsigned EDGE = (1u << 23) / 3;
    static constexpr int KEPT = 30;
    static constexpr double HIGH = 6755399441055744.0, THIRD = 1.0 / 3;  // 1.5 * 2^52

    // of float32, behind its bias
    __device__ static int power(float magnitude, int margin) {
        return int((__float_as_uint(magnitude) + EDGE + margin) >> 23);
    }
    __device__ static double to_the(int power) { return __hiloint2double((1023 + power) << 20, 0); }

    // The sum and so many units of what is kept of it, behind HIGH, which leaves whole ones.
    __device__ static double rounded(Pair row, double unit, double units) {
        return fma(unit, units, row.sum) + unit * HIGH;
    }
    __device__ static double unit_of(Pair row) {
        return to_the(power(row.max, 0) - 127 - KEPT);
    }

    __device__ static bool is_sure(Pair row, long long cols, int threads) {
        int margin = (int)min(64 + cols / threads, 1LL << 23);
        double unit = unit_of(row), apart = margin * 0x1p-22;  // units of float64 in these
        bool same = power(row.max, -margin) == power(row.max, margin) || row.max == 0;
        same &= power(row.max, margin) < 255;  // in float32 another order might overflow
        same &= rounded(row, unit, THIRD - apart) == rounded(row, unit, THIRD + apart);
        return same || !(fabs(row.sum) < INFINITY);
    }

    template <typename Team, typename Numbers>
    __device__ __noinline__ static Pair exactly(Pair row, long long cols, Team team,
                                                Numbers numbers) {
        float largest = 0;
        for (long long col = team.thread(); col < cols; col += Team::THREADS)
            largest = fmaxf(largest, fabsf(numbers(col)));
        // in float64, which has more powers of two
        int power = int(__float_as_uint(team.max(largest)) >> 23) - 127;
        Parts magnitudes, sums;
        for (long long col = team.thread(); col < cols; col += Team::THREADS) {
            double number = numbers(col) * to_the(-power);
            magnitudes.add((float)fabs(number));
            sums.add((float)number);
        }
        double magnitude = magnitudes.sum(team) * to_the(power);
        double sum = sums.sum(team) * to_the(power);
        if (!(fabs(row.sum) < INFINITY)) return row;  // beside one that is in doubt
        return {(float)magnitude, sum};
    }

    __device__ static Whole whole(Pair row) {
        double unit = unit_of(row), sum = rounded(row, unit, THIRD) - unit * HIGH;
        return {0, 0, (float)(row.max < INFINITY ? sum : row.sum), 0, 0};
    }
};

// What becomes of a row's pair.
struct Told {
    Pair pair;
    Whole whole;
    bool is_sure;
};

template <typename Row> __device__ Told told(Pair row, long long cols, int threads) {
    return {row, Row::Sums::whole(row), Row::Sums::is_sure(row, cols, threads)};
}

// The result. Where the sum is in doubt, it is made exactly, and the row written from how it is in
// memory; nothing that was held needs to be kept for that. `meet` lets no thread write before all
// have read.
template <typename Row, typename Team, typename Meet>
__device__ void finish(Row& held, const Told& row, long long cols, Team team, Meet meet) {
    if (!team.any(!row.is_sure)) return held.write(row.whole);
    Pair pair = Row::Sums::exactly(row.pair, cols, team, held.numbers());
    meet();
    held.write_again(Row::Sums::whole(pair));
}

// How a number becomes a result, once its row is known.
template <typename In, typename Out, bool LOG> struct Results : Exponentials<sizeof(Out) == 2> {
    static constexpr bool SHORT = sizeof(Out) == 2;
    using Base = Exponentials<SHORT>;
    // A float is replaced by its exponential where it lies; 16 bits have no room for one, so that it
    // is computed twice.
    static constexpr bool IN_PLACE = sizeof(In) == 4 && !LOG;
    static constexpr bool AS_LOGARITHM = LOG || (SHORT && !IN_PLACE);

    __device__ static Whole whole(Pair row) {
        float shift = Base::is_far(row.max) ? row.max : 0, max = row.max - shift;
        unsigned long long bits = (unsigned long long)__double_as_longlong(row.sum) + Base::EDGE;
        // the sum's first 24 bits, from 1 on, and the last 3 that are kept
        float high = __uint_as_float(0x3f800000 | ((unsigned)(bits >> 29) & 0x7fffff));
        unsigned last = (unsigned)bits >> Base::ROUNDED << 20 & 0x7fffff;
        float low = (__uint_as_float(0x3f800000 | last) - 1) * 0x1p-23f;
        int power = (int)(bits >> 52) - 1023 + base_of(max);
        if (!(fabsf(row.max) < INFINITY)) high = __int_as_float(0x7fffffff);
        if constexpr (AS_LOGARITHM && !LOG) {
            float rest = fmaf(-max, LOG2_E_REST, fmaf(-max, LOG2_E, power));
            return {row.max, shift, __log2f(high) + rest, 0, 0};
        } else if constexpr (LOG) {
            float first = exp_over<SHORT>(max, Over(max)) * (1 << LESS<SHORT>);
            first *= to_the(power_of(max) - power);
            return {row.max, shift, logf((high + low) / first), 0, 0};
        }
        float a = __fdividef(1, high);
        a = fmaf(fmaf(-a, high, 1), a, a);
        float rest = fmaf(-a, low, fmaf(-a, high, 1)) * a;
        if (fabsf(rest) < a * 0x1p-40f) rest = 0;  // so that no power takes it below 2^-126
        return {row.max, shift, a, rest, power};
    }

    float max, shift, a, rest;
    Over over;

    Results() = default;
    // of exponentials over the power of `of`, the largest number that a thread has, or all do
    __device__ Results(Whole row, float of)
        : max(row.max), shift(row.shift), a(row.a), rest(row.rest), over(of) {
        if constexpr (AS_LOGARITHM) return;
        float scale = to_the(power_of(of) - row.power);
        a *= scale, rest *= scale;
    }
    // of numbers, whoever has them
    __device__ explicit Results(Whole row) : Results(row, row.max - row.shift) {}

    // Whether a thread's own exponentials are of use: not where their share of the row would have
    // less than all bits of a float, but is not nothing.
    __device__ static bool is_useful(Whole row, float my_max) {
        int powers = power_of(my_max) - row.power;
        return !IN_PLACE || powers > -84 || powers < -130;
    }

    // 0 where float32 has no such number
    __device__ static float to_the(int power) {
        return power < -126 ? 0 : __int_as_float((127 + min(power, 0)) << 23);
    }

    // of what was held: an exponential, if it was replaced
    __device__ float of(float held) const {
        if constexpr (IN_PLACE)
            return share_of(held);
        else
            return of_number(held);
    }

    __device__ float of_number(float number) const {
        if constexpr (LOG) return (number - max) - a;
        if constexpr (SHORT && !IN_PLACE) return exp2f(fmaf(number - max, LOG2_E, -a));
        return share_of(exp_over<SHORT>(number - shift, over));
    }

    // Of the sum, as near as one rounding, so that a number alone has all of it. 0 below 2^-126, and for
    // 16 bits below what that is over 2^LESS, whose exponential may have been 0.
    __device__ float share_of(float e) const {
        if constexpr (!SHORT) return add_or_zero(e, a, e * rest);
        float share = times_or_zero(e, a);
        return fmaf(share, (1 << LESS<SHORT>) - 1, share);  // a product might be made one with that before
    }
};
