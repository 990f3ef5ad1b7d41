#include "meter.h"

#include <algorithm>

#include "heap.h"
#include "launch.h"

namespace emulator {

static std::vector<WatchedBytes> watched(const std::vector<Array>& arrays) {
    std::vector<WatchedBytes> stretches;
    for (const Array& array : arrays) stretches.push_back({array.bytes, array.is_input != 0, array.is_unwritten != 0});
    return stretches;
}

Meter::Meter(const std::vector<Array>& arrays, const std::vector<Array>& variables,
             const std::vector<Line>& lines, size_t shared_bytes, int block_size, int warp_size)
    : requests(block_size, warp_size),
      hazards(watched(arrays), shared_bytes, block_size, warp_size),
      lines_(lines),
      arrays_(arrays),
      variables_(variables) {}

uint32_t Meter::place_of(uint32_t site) {
    if (site >= places_.size()) places_.resize(site + 1, -1);
    if (places_[site] < 0) {
        auto after = [](uint64_t pc, const Line& line) { return pc < line.start; };
        auto next = std::upper_bound(lines_.begin(), lines_.end(), uint64_t(site) - 1, after);
        places_[site] = next == lines_.begin() ? 0 : static_cast<int32_t>((next - 1)->place);
    }
    return static_cast<uint32_t>(places_[site]);
}

void Meter::start_block(size_t slot, uint64_t number, unsigned cluster) {
    blocks_ = slot + 1;
    requests.start_block(slot);
    hazards.start_block(slot, number, cluster);
}

void Meter::enter_block(size_t slot) {
    here_ = slot;
    hazards.enter_block(slot);
}

void Meter::end_blocks() {
    for (size_t slot = 0; slot < blocks_; slot++) requests.close_all(slot);
}

void Meter::meet_block() {
    requests.close_all(here_);
    hazards.meet_block();
}

void Meter::meet_warp(int warp, unsigned lanes, bool are_all) {
    if (!are_all) return hazards.meet_lanes(warp, lanes);
    requests.close(here_, warp);
    hazards.meet_warp(warp);
}

void Meter::meet_blocks(Operation operation) {
    end_blocks();
    if (operation == Operation::grid_barrier) hazards.meet_grid();
    else hazards.meet_cluster();
}

// Which array the access is in; arrays and variables are few.
void Meter::locate(ThreadAccess& access) const {
    const std::vector<Array>& stretches = access.is_shared ? variables_ : arrays_;
    for (size_t i = 0; i < stretches.size(); i++) {
        access.offset = access.address - stretches[i].address;
        if (access.offset >= stretches[i].bytes) continue;
        access.array = static_cast<int>(access.is_shared ? arrays_.size() + i : i);
        return;
    }
    access.array = -1;
}

void Meter::access(ThreadAccess access, uint32_t site, size_t owner) {
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

}  // namespace emulator
