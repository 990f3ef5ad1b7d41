// Numbers of a row that a thread holds as float32, each replaced by its exponential where it lies, if
// In is float.
#pragma once

#include "forward.cuh"

template <typename In, typename Out, int COUNT, bool LOG> struct HeldNumbers {
    using Finish = Results<In, Out, LOG>;
    using Sums = Finish;
    float numbers[COUNT], max;

    // of what LANES neighbouring threads hold
    template <int LANES> __device__ Pair reduce() {
        max = -INFINITY;
#pragma unroll
        for (int i = 0; i < COUNT; i++) max = max_or_nan(max, numbers[i]);
        Sum<Finish::SHORT> sum(max);
        sum.take([&](bool on_grid) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                float e = sum.exp(numbers[i], on_grid);
                sum.add(i, e);
                if (Finish::IN_PLACE) numbers[i] = e;
            }
        });
        return group_pair<LANES, true>(sum.pair());
    }
};
