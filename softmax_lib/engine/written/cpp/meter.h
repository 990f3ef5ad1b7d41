// A metered launch: the hooks of a traced one feed it one access of one thread at a time, and it
// counts requests and looks for hazards.
#pragma once
#include <cstdint>
#include <vector>

#include "requests.h"

namespace emulator {

struct Array;

// Where a line's instructions begin, in ascending order of `start`.
struct Line {
    uint64_t start;  // in the kernel's library
    uint32_t place;  // number of file and line
    uint32_t unused;
};

class Meter {
public:
    Meter(const std::vector<Array>& arrays, const std::vector<Array>& variables,
          const std::vector<Line>& lines, size_t shared_bytes, int block_size, int warp_size);

    // Of the instruction that returns to `site`, an offset in the kernel's library.
    uint32_t place_of(uint32_t site);

    void start_block(size_t slot, uint64_t number, unsigned cluster);
    void enter_block(size_t slot);
    void access(ThreadAccess access, uint32_t site, size_t owner);
    void call(uint32_t place, Operation operation, unsigned lanes) { requests.call(place, operation, lanes); }
    void meet_block();           // all threads have reached a barrier
    void meet_warp(int warp, unsigned lanes, bool are_all);  // lanes of a warp have reached a warp call
    void meet_blocks(Operation operation);  // all blocks of a cluster or grid have reached a barrier
    void end_blocks();

    Requests requests;
    Hazards hazards;

private:
    void locate(ThreadAccess& access) const;

    std::vector<Line> lines_;
    std::vector<int32_t> places_;            // by site; -1 before it was seen
    const std::vector<Array>&arrays_, &variables_;
    size_t blocks_ = 0, here_ = 0;
};

}  // namespace emulator
