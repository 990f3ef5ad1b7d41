// A metered launch: the hooks of a traced one feed it one access of one thread at a time, and it
// counts requests and looks for hazards.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "heap.h"
#include "requests.h"

namespace emulator {

// One array in emulated device memory.
struct Array {
    uint64_t address;
    uint64_t bytes;
    int32_t is_input;      // only to be read
    int32_t is_unwritten;  // nobody has written into it when the launch begins
    int32_t is_constant;   // in the kernel's library
    int32_t unused;
};

// Where a line's instructions begin, in ascending order of `start`.
struct Line {
    uint64_t start;  // in the kernel's library
    uint32_t place;  // number of file and line
    uint32_t unused;
};

class Meter {
public:
    Meter(const std::vector<Array>& arrays, const std::vector<Array>& variables, const std::vector<Line>& lines,
          size_t shared_bytes, int block_size, int warp_size)
        : requests(block_size, warp_size),
          hazards(arrays, shared_bytes, block_size, warp_size),
          lines_(lines),
          arrays_(arrays),
          variables_(variables) {}

    // Of the instruction that returns to `site`, an offset in the kernel's library.
    uint32_t place_of(uint32_t site) {
        if (site >= places_.size()) places_.resize(site + 1, -1);
        if (places_[site] < 0) {
            auto after = [](uint64_t pc, const Line& line) { return pc < line.start; };
            auto next = std::upper_bound(lines_.begin(), lines_.end(), uint64_t(site) - 1, after);
            places_[site] = next == lines_.begin() ? 0 : static_cast<int32_t>((next - 1)->place);
        }
        return static_cast<uint32_t>(places_[site]);
    }

    void start_block(size_t slot, uint64_t number, unsigned cluster) {
        blocks_ = slot + 1;
        requests.start_block(slot);
        hazards.start_block(slot, number, cluster);
    }
    void enter_block(size_t slot) {
        here_ = slot;
        hazards.enter_block(slot);
    }
    void access(ThreadAccess& access, uint32_t site, size_t owner) {
        access.place = place_of(site);
        locate(access);
        if (access.array < 0) {
            auto [block, bytes] = heap().block_of(access.address);
            if (bytes) hazards.access_heap(access, block, bytes);
            return;
        }
        requests.access(here_, access, site);
        hazards.access(access, owner);
    }
    void call(uint32_t place, Operation operation, unsigned lanes) { requests.call(place, operation, lanes); }
    // all threads have reached a barrier
    void meet_block() {
        requests.close_all(here_);
        hazards.meet_block();
    }
    // lanes of a warp have reached a warp call; a __syncwarp() alone orders memory
    void meet_warp(int warp, unsigned lanes, bool are_all, bool is_sync) {
        if (are_all) requests.close(here_, warp);
        if (!is_sync) hazards.call_warp(warp);
        else if (are_all) hazards.meet_warp(warp);
        else hazards.meet_lanes(warp, lanes);
    }
    // What was stored is in memory by now.
    void settle() {
        if (!is_range) hazards.settle();
    }
    // all blocks of a cluster or grid have reached a barrier
    void meet_blocks(Operation operation, bool is_apart) {
        end_blocks();
        if (is_apart) hazards.end_apart(operation == Operation::grid_barrier);
        else if (operation == Operation::grid_barrier) hazards.meet_grid();
        else hazards.meet_cluster();
    }
    void end_blocks() {
        for (size_t slot = 0; slot < blocks_; slot++) requests.close_all(slot);
    }

    Requests requests;
    Hazards hazards;
    bool is_range = false;   // accesses are parts of one

private:
    // Which array the access is in; arrays and variables are few.
    void locate(ThreadAccess& access) const {
        const std::vector<Array>& stretches = access.is_shared ? variables_ : arrays_;
        for (size_t i = 0; i < stretches.size(); i++) {
            access.offset = access.address - stretches[i].address;
            if (access.offset >= stretches[i].bytes) continue;
            access.array = static_cast<int>(access.is_shared ? arrays_.size() + i : i);
            return;
        }
        access.array = -1;
    }

    std::vector<Line> lines_;
    std::vector<int32_t> places_;            // by site; -1 before it was seen
    const std::vector<Array>&arrays_, &variables_;
    size_t blocks_ = 0, here_ = 0;
};

}  // namespace emulator
