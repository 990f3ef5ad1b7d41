// The kinds of rows that a kernel of this folder is made for. Each has
//   Row(first, second, result, cols, thread, rank, blocks, shared, more...)
//                    its share, for one thread; what more there is comes `of` the row
//   load()           ask for it
//   reduce<LANES>()  the Pair of what LANES threads hold
//   HAS_MAX          whether that has a max; in a backward pass it has none
//   write(mine, row) the result, from that Pair and the row's
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
