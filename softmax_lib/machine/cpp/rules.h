// What a request costs: the rules by which the hardware's counters count, in this one place.
//
// A request is an instruction that at least one lane of a warp takes part in. They were read off
// Nsight Compute's counters on an H100 and an H200; tests hold each against recorded kernels.
#pragma once
#include <cstdint>

namespace machine {

constexpr uint64_t SECTOR_BYTES = 32;
constexpr int BANK_COUNT = 32, BANK_BYTES = 4;

// `lanes` has a bit for each lane that takes part; each asks for `bytes` bytes, aligned to them.

// Global memory: 32-byte sectors that the whole warp touches, whatever the width.
int count_sectors(uint32_t lanes, const uint64_t* addresses, int bytes);

// Local memory: the n-th words of the lanes lie side by side, so that one index in all lanes is a line.
int count_local_sectors(uint32_t lanes, const uint64_t* addresses, int bytes);

// Shared memory: passes in which each of 32 banks gives one word to all lanes that want it. Of 8 bytes
// a lane the halves of the warp come one after the other, of 16 the quarters, unless they may merge.
int count_wavefronts(uint32_t lanes, const uint64_t* addresses, int bytes);

// Shared memory: passes that as many bytes need without a conflict.
int count_ideal_wavefronts(uint32_t lanes, int bytes);

// Distinct bytes that were asked for.
int count_bytes(uint32_t lanes, const uint64_t* addresses, int bytes);

}  // namespace machine
