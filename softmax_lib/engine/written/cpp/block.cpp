#include "block.h"

#include <cstring>

namespace emulator {

// ---- which threads can go on

void ReadySet::clear(int warps) {
    words_ = (warps + 63) / 64;
    memset(lanes_, 0, warps * sizeof *lanes_);
    memset(warps_, 0, words_ * sizeof *warps_);
}

void ReadySet::add(int warp, uint32_t lanes) {
    lanes_[warp] |= lanes;
    if (lanes_[warp]) warps_[warp / 64] |= uint64_t(1) << warp % 64;
}

bool ReadySet::is_empty() const {
    for (int word = 0; word < words_; word++) {
        if (warps_[word]) return false;
    }
    return true;
}

int ReadySet::take(int warp, int lane_bits) {
    if (!lanes_[warp]) warp = next_warp(warp);
    if (warp < 0) return -1;
    int lane = __builtin_ctz(lanes_[warp]);
    lanes_[warp] &= lanes_[warp] - 1;
    if (!lanes_[warp]) warps_[warp / 64] &= ~(uint64_t(1) << warp % 64);
    return (warp << lane_bits) + lane;
}

int ReadySet::next_warp(int warp) const {
    uint64_t above = ~uint64_t(0) << warp % 64;
    for (int i = 0; i <= words_; i++) {  // the first word twice: it wraps around
        int word = (warp / 64 + i) % words_;
        uint64_t found = warps_[word] & (i == 0 ? above : ~uint64_t(0));
        if (found) return word * 64 + __builtin_ctzll(found);
    }
    return -1;
}

unsigned BlockShape::lanes_of(int warp) const {
    int missing = ((warp + 1) << lane_bits) - threads;
    return ~0u >> (32 - warp_size) >> (missing > 0 ? missing : 0);
}

// ---- starting

void Block::start(const BlockShape& shape, bool traced) {
    int warps = shape.warps();
    ready.clear(warps);
    polling.clear(warps);
    memset(waiting_lanes, 0, warps * sizeof *waiting_lanes);
    if (threads.size() < static_cast<size_t>(shape.threads)) threads.resize(shape.threads);
    unsigned at[3] = {0, 0, 0};
    for (int i = 0; i < shape.threads; i++) {
        Thread& thread = threads[i];
        thread.index = i;
        thread.state = State::not_started;
        for (int axis = 0; axis < 3; axis++) thread.axes[axis] = static_cast<uint16_t>(at[axis]);
        for (int axis = 0; axis < 3 && ++at[axis] == shape.axes[axis]; axis++) at[axis] = 0;
    }
    if (traced) {
        open_records.assign(shape.threads, OpenRecords());
        unwritten.assign(shape.threads, {});
    }
    for (int warp = 0; warp < warps; warp++) ready.add(warp, shape.lanes_of(warp));
    exited = arrived = predicates = 0;
    first_arrived = nullptr;
    same_barrier = true;
}

// ---- the block's own barrier

static bool same_place(const Thread& a, const Thread& b) {
    return a.operation == b.operation && a.place.line == b.place.line && a.place.column == b.place.column &&
           (a.place.file == b.place.file || strcmp(a.place.file, b.place.file) == 0);
}

void Block::arrive(Thread& thread, Operation operation, int predicate, Place place) {
    thread.operation = operation;
    thread.place = place;
    thread.state = State::at_barrier;
    if (!first_arrived) first_arrived = &thread;
    same_barrier = same_barrier && same_place(*first_arrived, thread);
    predicates += predicate != 0;
    arrived++;
}

void Block::complete_barrier() {
    switch (first_arrived->operation) {
        case Operation::barrier_and: barrier_result = predicates == arrived; break;
        case Operation::barrier_or: barrier_result = predicates != 0; break;
        default: barrier_result = predicates;
    }
    arrived = predicates = 0;
    first_arrived = nullptr;
}

unsigned Block::complete_lanes(const BlockShape& shape, int warp, unsigned mask) const {
    // Lanes that the block does not have are not waited for; lanes that have exited are, in vain.
    unsigned lanes = mask & shape.lanes_of(warp);
    if ((waiting_lanes[warp] & lanes) != lanes) return 0;
    const Thread* warp_threads = &threads[warp << shape.lane_bits];
    const Thread& first = warp_threads[__builtin_ctz(lanes)];
    for (int lane : EachLane{lanes}) {
        const Thread& other = warp_threads[lane];
        if (other.call->mask != first.call->mask || other.operation != first.operation) return 0;
    }
    return lanes;
}

}  // namespace emulator
