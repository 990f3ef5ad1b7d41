// What a request costs: the rules by which the hardware's counters count, in this one place.
//
// A request is an instruction that at least one lane of a warp takes part in. They were read off
// Nsight Compute's counters on an H100 and an H200; tests hold each against recorded kernels.
#pragma once
#include <cstdint>

namespace machine {

constexpr uint64_t SECTOR_BYTES = 32, LINE_BYTES = 128;
constexpr int BANK_COUNT = 32, BANK_BYTES = 4;

// `lanes` has a bit for each lane that takes part; each asks for `bytes` bytes, aligned to them.

// Global memory: 32-byte sectors that the whole warp touches, whatever the width.
int count_sectors(uint32_t lanes, const uint64_t* addresses);

// Copies of 16 bytes a lane past the first cache, to addresses `to` of shared memory: 32 bytes of that count, once for
// each line of global memory from which they come.
int count_bypassing_sectors(uint32_t lanes, const uint64_t* addresses, const uint64_t* to);

// Local memory: the n-th words of the lanes lie side by side, so that one index in all lanes is a line; each word of a
// wider access is a request of its own.
int count_local_sectors(uint32_t lanes, const uint64_t* addresses, int bytes);
int count_local_requests(int bytes);

struct Wavefronts {
    int all;        // passes
    int conflicts;  // those behind the first one of each part of the warp
};

// Shared memory: passes in which each of 32 banks gives one word to all lanes that want it. Of 8 bytes a lane the halves
// of the warp come one after the other, of 16 the quarters. Of a load two of them go together where all lanes that are
// 1 apart, or all that are 2 apart, want the same, as far as both are there.
Wavefronts count_wavefronts(uint32_t lanes, const uint64_t* addresses, int bytes, bool is_load);

// Atomics, and reductions, which give nothing back. Lanes that want one address come one after the other: in global
// memory a sector is touched as often as its most wanted address, in shared memory a bank as often as it is wanted at
// all. A comparison takes two passes, and lanes that only count themselves one for each word.
int count_atomic_sectors(uint32_t lanes, const uint64_t* addresses);
enum class AtomicKind { CHANGES, COMPARES, COUNTS };
Wavefronts count_atomic_wavefronts(uint32_t lanes, const uint64_t* addresses, AtomicKind kind);

// Distinct bytes that were asked for.
int count_bytes(uint32_t lanes, const uint64_t* addresses, int bytes);

}  // namespace machine
