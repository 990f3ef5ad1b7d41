// What scores of attention come with, for all rows and for one of them.
#pragma once

struct OfRow {
    float scale;
    long long mask;     // the number of the mask that belongs to the row's first
    long long visible;  // numbers that take part; of those behind, whole chunks are not even read
};

struct Scaling {
    float scale;
    long long queries;  // rows until the first query comes again; 0 where all rows see everything
    // The rows as (outer, middle, inner), and numbers from one row of the mask to the next along
    // each of the three: 0 where they share it.
    long long middle, inner;
    long long outer_step, middle_step, inner_step;

    __device__ OfRow of(long long row) const {
        long long outer = row / inner / middle;
        long long mask = outer * outer_step + row / inner % middle * middle_step;
        return {scale, mask + row % inner * inner_step, queries ? row % queries + 1 : 1LL << 62};
    }
};
