// The kinds of rows that a kernel of this folder is made for. Each has
//   Row(first, second, result, cols, thread, rank, blocks, shared, more...)
//                    its share, for one thread; what more there is comes `of` the row
//   load()           ask for it
//   reduce<LANES>()  the Pair of what LANES threads hold
//   Sums             how such pairs become what is known of a whole row
//   numbers()        what gives a number of the row by its col, for a sum that is computed again
//   write(row)       the result, from the Whole of the row; write_again(row) reads it anew for that
#pragma once

#include "backward.cuh"
#include "forward.cuh"
#include "scores.cuh"
#include "streamed.cuh"

// A pass with one input is given no second one.
inline __device__ const void* behind(const void*, long long) { return nullptr; }
template <typename T> __device__ const T* behind(const T* second, long long numbers) {
    return second + numbers;
}
