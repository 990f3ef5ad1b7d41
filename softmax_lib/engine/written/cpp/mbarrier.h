// A barrier in an 8-byte word, as the hardware has it: threads arrive, and later wait until as many
// have as it expects and until the bytes that were announced have come. Then its next phase begins.
//
// The word holds, from its lowest bit on: arrivals missing in this phase (20 bits), arrivals expected
// in each (20), announced bytes that have not come (23; those that came too early count against it),
// and whether the phase is an odd one.
#pragma once
#include "atomics.h"

namespace emulator {

struct Mbarrier {
    unsigned missing, expected;
    int bytes;
    bool is_odd;
};

constexpr unsigned MBARRIER_MOST = (1u << 20) - 1;
constexpr uint64_t MBARRIER_BYTES_BIAS = uint64_t(1) << 22;

EMULATOR_INLINE constexpr uint64_t pack(Mbarrier barrier) {
    return barrier.missing | uint64_t(barrier.expected) << 20 |
           (MBARRIER_BYTES_BIAS + (uint64_t)barrier.bytes) << 40 | uint64_t(barrier.is_odd) << 63;
}

EMULATOR_INLINE Mbarrier unpack(uint64_t word) {
    return {(unsigned)(word & MBARRIER_MOST), (unsigned)(word >> 20 & MBARRIER_MOST),
            (int)((word >> 40 & 0x7fffff) - MBARRIER_BYTES_BIAS), word >> 63 != 0};
}

EMULATOR_INLINE constexpr uint64_t new_mbarrier(unsigned expected) { return pack({expected, expected, 0, false}); }

EMULATOR_INLINE bool is_complete(Mbarrier barrier) { return barrier.missing == 0 && barrier.bytes == 0; }

EMULATOR_INLINE uint64_t settled(Mbarrier barrier) {
    if (is_complete(barrier)) barrier = {barrier.expected, barrier.expected, 0, !barrier.is_odd};
    return pack(barrier);
}

struct NothingToDo {
    __forceinline__ void operator()() const {}
};

EMULATOR_INLINE void tell_of_arrival(const uint64_t* word, bool is_last) {
    emulator_arrive_at(word);
    if (is_last) emulator_end_phase(word);
}

template <class Completion>
EMULATOR_INLINE void complete(Completion completion, uint64_t* word) {
    tell_of_arrival(word, true);
    emulator_take_over(word);
    completion();
}
// Who arrives last has not waited yet.
EMULATOR_INLINE void complete(NothingToDo, uint64_t*) {}

// `threads` arrive, `dropped` of them for the last time, and announce `bytes`; when that completes
// the phase, `completion` is called before anybody goes on. Returns the word before: a token of the phase.
template <class Completion = NothingToDo>
EMULATOR_INLINE uint64_t arrive(uint64_t* word, unsigned threads, unsigned dropped, int bytes, Place place,
                                Completion completion = Completion()) {
    for (bool is_done = false;;) {
        uint64_t before = emulator_atomic_load(word, 8);
        Mbarrier barrier = unpack(before);
        if (barrier.missing < threads) emulator_fail("more threads arrive at a barrier than it expects", place);
        barrier.missing -= threads;
        barrier.expected -= dropped;
        barrier.bytes += bytes;
        if (is_complete(barrier) && !is_done) {  // all others have arrived and wait
            complete(completion, word);
            is_done = true;
        }
        if (emulator_atomic_exchange_if(word, 8, before, settled(barrier))) {
            tell_of_arrival(word, is_complete(barrier));
            return before;
        }
    }
}

// Bytes that are announced (more than 0), or have come (less).
EMULATOR_INLINE void expect_bytes(uint64_t* word, int bytes) {
    bool is_last = false;
    update(word, [&](uint64_t before) {
        Mbarrier barrier = unpack(before);
        barrier.bytes += bytes;
        is_last = is_complete(barrier);
        return settled(barrier);
    });
    tell_of_arrival(word, is_last);
}

EMULATOR_INLINE bool is_over(const uint64_t* word, bool was_odd) {
    bool is_next = unpack(emulator_atomic_read(word, 8)).is_odd != was_odd;
    if (is_next) emulator_take_over(word);
    return is_next;
}
// Looks, and looks again when others have had their turn.
EMULATOR_INLINE bool is_over_soon(const uint64_t* word, bool was_odd, Place place) {
    if (is_over(word, was_odd)) return true;
    emulator_poll(place);
    return is_over(word, was_odd);
}
EMULATOR_INLINE void wait_for_phase(const uint64_t* word, bool was_odd, Place place) {
    while (!is_over(word, was_odd)) emulator_poll(place);
}
EMULATOR_INLINE bool is_odd_phase(uint64_t token) { return token >> 63 != 0; }

}  // namespace emulator
