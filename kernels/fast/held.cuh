// Numbers of a row that a thread holds as float32, each replaced by its exponential where it lies.
#pragma once

#include "forward.cuh"

template <typename Out, int COUNT, bool LOG> struct HeldNumbers {
    using Row = Forward<float, Out, WARP, 1, 0, true, LOG, PLAIN, PLAIN>;
    float numbers[COUNT];
    float max, a;

    // of what LANES neighbouring threads hold
    template <int LANES> __device__ Pair reduce() {
        float top = -INFINITY;
#pragma unroll
        for (int i = 0; i < COUNT; i++) top = fmaxf(top, numbers[i]);
        top = group_max<LANES>(top);
        float shift = shift_of(top), sums[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            float e = sizeof(Out) == 4 ? expf(numbers[i] - shift) : exp_fast(numbers[i] - shift);
            if (!LOG) numbers[i] = e;
            sums[i % 4] += e;
        }
        return {top, group_sum<LANES>((sums[0] + sums[1]) + (sums[2] + sums[3]))};
    }

    // once for a row, and not for each of its numbers
    __device__ void prepare(Pair mine, Pair row) {
        max = row.max;
        a = Row::scale(mine.max, row);
    }
    __device__ float result(int i) const { return Row::result(numbers[i], max, a); }
};
