// Lanes of a warp as the members of a group: their ranks, and values that go from one to another.
#pragma once
#include "../atomics.h"

namespace emulator {

// The lane that has the `rank`-th of the bits of `mask`; the last lane, as the hardware takes a wrong
// one, when there are not as many.
EMULATOR_INLINE unsigned lane_of_rank(unsigned mask, unsigned rank) {
    for (unsigned lane = 0; lane < 32; lane++) {
        if ((mask >> lane & 1) && rank-- == 0) return lane;
    }
    return 31;
}

EMULATOR_INLINE unsigned rank_of_lane(unsigned mask, unsigned lane) {
    return (unsigned)__builtin_popcount(mask & ((1u << lane) - 1));
}

EMULATOR_INLINE unsigned first_lane(unsigned mask) { return (unsigned)__builtin_ctz(mask); }

// The bits of `lanes` that stand where `mask` has ones, one beside the other: a bit for each rank.
EMULATOR_INLINE unsigned bits_by_rank(unsigned mask, unsigned lanes) {
    unsigned packed = 0, rank = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (mask >> lane & 1) packed |= (lanes >> lane & 1) << rank++;
    }
    return packed;
}

// Groups also exchange structures, word by word, where a shuffle takes a number.
template <class T>
EMULATOR_INLINE T shuffle_any(Operation operation, unsigned mask, const T& value, unsigned argument, int width,
                              Place place) {
    if constexpr (std::is_arithmetic_v<T> || is_16_bit_float<T>) {
        return shuffle(operation, mask, value, argument, width, place);
    } else {
        static_assert(sizeof(T) <= 32, "a group exchanges values of at most 32 bytes");
        uint32_t words[(sizeof(T) + 3) / 4] = {};
        T received = value;
        __builtin_memcpy(words, &value, sizeof(T));
        for (uint32_t& word : words) word = shuffle(operation, mask, word, argument, width, place);
        __builtin_memcpy(&received, words, sizeof(T));
        return received;
    }
}

}  // namespace emulator
