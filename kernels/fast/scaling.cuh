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

    // Of fewer than 2^32 rows: divisions of 64 bits take as long as all else that is done for a row.
    __device__ OfRow of(unsigned row) const {
        unsigned groups = row / (unsigned)inner, outer = groups / (unsigned)middle;
        long long mask = outer * outer_step + groups % (unsigned)middle * middle_step;
        long long visible = queries ? row % (unsigned)queries + 1LL : 1LL << 62;
        return {scale, mask + row % (unsigned)inner * inner_step, visible};
    }
};
