// What a request costs: the rules by which the hardware's counters count, in this one place.
//
// A request is an instruction that at least one lane of a warp takes part in. They were read off
// Nsight Compute's counters on an H100 and an H200; tests hold each against recorded kernels.
#pragma once
#include <cstdint>

namespace engine {

// Lanes are the bits of a word. From the lowest on: for (int lane : EachLane{lanes}) ...
struct EachLane {
    uint32_t left;

    EachLane begin() const { return *this; }
    EachLane end() const { return {0}; }
    bool operator!=(const EachLane& other) const { return left != other.left; }
    int operator*() const { return __builtin_ctz(left); }
    void operator++() { left &= left - 1; }
};

template <class F> uint32_t lanes_where(uint32_t lanes, F is_it) {
    uint32_t found = 0;
    for (int lane : EachLane{lanes}) found |= (is_it(lane) ? 1u : 0u) << lane;
    return found;
}

constexpr uint64_t SECTOR_BYTES = 32, LINE_BYTES = 128;
constexpr int BANK_COUNT = 32, BANK_BYTES = 4;

// What requests came to in all.
struct Counts {
    uint64_t requests;
    uint64_t lanes;       // that took part
    uint64_t bytes;       // distinct ones that the lanes of a request asked for
    uint64_t sectors;
    uint64_t wavefronts;
    uint64_t conflicts;   // of the wavefronts, those that a bank's other words cost
};

// Of atomics some compare, and in some all lanes only count themselves.
enum class Ask : int32_t { LOAD, STORE, CHANGE, COMPARE, COUNT };
constexpr bool is_atomic(Ask ask) { return ask >= Ask::CHANGE; }

struct Wavefronts {
    int all;        // passes
    int conflicts;  // those behind the first one of each part of the warp
};

// `lanes` has a bit for each lane that takes part; each asks for `bytes` bytes, aligned to them.
extern "C" {

// Global memory: 32-byte sectors that the whole warp touches, whatever the width. Lanes whose atomics want one address
// come one after the other: a sector is touched as often as its most wanted address.
int count_sectors(uint32_t lanes, const uint64_t* addresses, Ask ask);

// Copies of 16 bytes a lane past the first cache, to addresses `to` of shared memory: 32 bytes of that count, once for
// each line of global memory from which they come.
int count_bypassing_sectors(uint32_t lanes, const uint64_t* addresses, const uint64_t* to);

// Local memory: the n-th words of the lanes lie side by side, so that one index in all lanes is a line; each word of a
// wider access is a request of its own.
int count_local_sectors(uint32_t lanes, const uint64_t* addresses, int bytes);
int count_local_requests(int bytes);

// Shared memory: passes in which each of 32 banks gives one word to all lanes that want it. Of 8 bytes a lane the halves
// of the warp come one after the other, of 16 the quarters. Of a load two of them go together where all lanes that are
// 1 apart, or all that are 2 apart, want the same, as far as both are there.
//
// For atomics a bank is needed as often as it is wanted at all. A comparison takes two passes, and lanes that only count
// themselves one for each word.
Wavefronts count_wavefronts(uint32_t lanes, const uint64_t* addresses, int bytes, Ask ask);

// The same of the first so many lanes of a load or store whose addresses are evenly apart, by `by` bytes: sectors, and
// wavefronts of words that lie side by side.
int count_even_sectors(int lanes, uint64_t first, uint64_t by);
int count_even_wavefronts(int lanes, int bytes);

// So many neighbouring lanes of a load or store go together.
int count_lanes_together(uint32_t lanes, const uint64_t* addresses, int bytes, Ask ask);
}

// Distinct bytes that were asked for.
int count_bytes(uint32_t lanes, const uint64_t* addresses, int bytes);

}  // namespace engine
