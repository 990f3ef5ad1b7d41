// What blocks that are far apart write to each other: a pair and the number of a turn.
#pragma once

#include "pairs.cuh"

// 12 bytes of a pair, as two words of 48 bits behind the number of a turn, so that a reader of either
// knows whether it is this turn's. Written and read as 16 bytes that no cache on the way keeps.
__device__ inline ulonglong2 slot_of(Pair pair, unsigned turn) {
    unsigned long long sum = (unsigned long long)__double_as_longlong(pair.sum);
    unsigned long long tag = (unsigned long long)turn << 48;
    return make_ulonglong2(tag | sum >> 16,
                           tag | (sum & 0xffff) << 32 | __float_as_uint(pair.max));
}

__device__ inline Pair pair_of(ulonglong2 slot) {
    unsigned long long sum = slot.x << 16 | (slot.y >> 32 & 0xffff);
    return {__uint_as_float((unsigned)slot.y), __longlong_as_double((long long)sum)};
}
