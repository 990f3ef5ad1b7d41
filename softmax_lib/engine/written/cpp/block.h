// A block that runs or waits: its threads, who of them can go on, and what the others wait for.
#pragma once
#include <cstdint>
#include <cstring>
#include <unordered_set>
#include <vector>

#include "fibers.h"
#include "kernel_interface.h"
#include "rules.h"

// What is inlined where: a barrier's frames are on a thousand stacks at once, and small for that. These are on
// the path of every barrier and warp call,
#define EMULATOR_HOT inline __attribute__((always_inline))
// and these rare: what they keep on the stack must not be in the frame of a fast barrier.
#define EMULATOR_COLD __attribute__((noinline, cold))

namespace emulator {

using engine::EachLane;
using engine::lanes_where;

constexpr int MAX_BLOCK_SIZE = 1024;

constexpr uint32_t MOST_STEPS = 64;

constexpr uint64_t NO_RECORD = ~uint64_t(0);

enum class State : uint8_t { not_started, running, at_barrier, in_warp_call, at_wide_barrier, polling, in_step, exited };

// One CUDA thread. It fills one cache line: a barrier touches every thread of a block, and with a
// thousand of them what they touch is what it costs.
struct alignas(64) Thread {
    int index;                // x first, then y, then z
    uint16_t axes[3];
    State state;
    Operation operation;      // the call it waits at,
    uint32_t step;            // of which function, times MOST_STEPS, it has begun which step (steps.py)
    Place place;              // where that is,
    const WarpCall* call;     // if it is a warp call: in the frame of the caller, on its stack,
    uint64_t received;        // and what the call gave it; in a step: the instruction
    Stack* stack;
    void* stack_pointer;      // where it goes on; valid while it waits
};
static_assert(sizeof(Thread) == 64);

// Records of a traced thread that still miss something.
struct OpenRecords {
    uint64_t call = NO_RECORD;   // what the call gives
    uint64_t store = NO_RECORD;  // the value stored
    uint32_t place = 0;          // metered launches: of the call
};

// The threads that can go on, by warp and lane.
class ReadySet {
public:
    void clear(int warps) {
        words_ = (warps + 63) / 64;
        memset(lanes_, 0, warps * sizeof *lanes_);
        memset(warps_, 0, words_ * sizeof *warps_);
    }
    void add(int warp, uint32_t lanes) {
        lanes_[warp] |= lanes;
        if (lanes_[warp]) warps_[warp / 64] |= uint64_t(1) << warp % 64;
    }
    bool is_empty() const {
        for (int word = 0; word < words_; word++) {
            if (warps_[word]) return false;
        }
        return true;
    }
    bool has(int warp) const { return lanes_[warp] != 0; }
    // Takes the lowest ready lane of `warp`, else of the next warp that has one; -1 when none has.
    // Staying in the warp keeps its stacks in the cache, and a trace readable.
    EMULATOR_HOT int take(int warp, int lane_bits) {
        if (!lanes_[warp]) warp = next_warp(warp);
        if (warp < 0) return -1;
        int lane = __builtin_ctz(lanes_[warp]);
        lanes_[warp] &= lanes_[warp] - 1;
        if (!lanes_[warp]) warps_[warp / 64] &= ~(uint64_t(1) << warp % 64);
        return (warp << lane_bits) + lane;
    }

private:
    uint32_t lanes_[MAX_BLOCK_SIZE];
    uint64_t warps_[MAX_BLOCK_SIZE / 64];
    int words_ = 0;

    EMULATOR_COLD int next_warp(int warp) const {
        uint64_t above = ~uint64_t(0) << warp % 64;
        for (int i = 0; i <= words_; i++) {  // the first word twice: it wraps around
            int word = (warp / 64 + i) % words_;
            uint64_t found = warps_[word] & (i == 0 ? above : ~uint64_t(0));
            if (found) return word * 64 + __builtin_ctzll(found);
        }
        return -1;
    }
};

// How many threads a block has, along its axes and in warps.
struct BlockShape {
    unsigned axes[3] = {1, 1, 1};
    int threads = 1, warp_size = 32, lane_bits = 5;

    int warps() const { return (threads + warp_size - 1) >> lane_bits; }
    int warp_of(const Thread& thread) const { return thread.index >> lane_bits; }
    int lane_of(const Thread& thread) const { return thread.index & (warp_size - 1); }
    // Lanes that a warp has: fewer in the last one of a block that does not fill it.
    EMULATOR_HOT unsigned lanes_of(int warp) const {
        int missing = ((warp + 1) << lane_bits) - threads;
        return ~0u >> (32 - warp_size) >> (missing > 0 ? missing : 0);
    }
};

inline bool same_place(const Thread& a, const Thread& b) {
    return a.operation == b.operation && a.place.line == b.place.line && a.place.column == b.place.column &&
           (a.place.file == b.place.file || strcmp(a.place.file, b.place.file) == 0);
}

// Whether a thread has exited, and by a `return` that does not lie behind what `other` is at: one that has come past
// that, as to the end behind a loop, never left it out.
inline bool has_left_before(const Thread& thread, const Thread& other) {
    bool is_past = thread.step / MOST_STEPS == other.step / MOST_STEPS && thread.step > other.step;
    return thread.state == State::exited && !is_past;
}

struct Block {
    uint64_t number = 0;          // in the grid: x first, then y, then z
    unsigned axes[3] = {0, 0, 0};
    unsigned cluster = 0, rank = 0;  // which cluster of those that take turns, and where in it
    std::vector<Thread> threads;
    // By thread, in traced launches; of the second, bytes of its small variables.
    std::vector<OpenRecords> open_records;
    std::vector<std::unordered_set<const char*>> unwritten;
    std::vector<char> shared;     // its shared memory while another block runs
    ReadySet ready, polling;
    int exited = 0;

    // the barrier that threads are arriving at
    int arrived = 0;
    const Thread* first_arrived = nullptr;
    bool same_barrier = true;
    int predicates = 0;           // of how many threads it held
    int barrier_result = 0;

    uint32_t waiting_lanes[MAX_BLOCK_SIZE];   // by warp: lanes in a warp call
    uint32_t stepping_lanes[MAX_BLOCK_SIZE];  // by warp: lanes before a volatile access,
    int stepping = 0;                         // and how many in all

    void start(const BlockShape& shape, bool traced) {
        int warps = shape.warps();
        ready.clear(warps);
        polling.clear(warps);
        memset(waiting_lanes, 0, warps * sizeof *waiting_lanes);
        memset(stepping_lanes, 0, warps * sizeof *stepping_lanes);
        if (threads.size() < static_cast<size_t>(shape.threads)) threads.resize(shape.threads);
        unsigned at[3] = {0, 0, 0};
        for (int i = 0; i < shape.threads; i++) {
            Thread& thread = threads[i];
            thread.index = i;
            thread.state = State::not_started;
            thread.step = 0;
            for (int axis = 0; axis < 3; axis++) thread.axes[axis] = static_cast<uint16_t>(at[axis]);
            for (int axis = 0; axis < 3 && ++at[axis] == shape.axes[axis]; axis++) at[axis] = 0;
        }
        if (traced) {
            open_records.assign(shape.threads, OpenRecords());
            unwritten.assign(shape.threads, {});
        }
        for (int warp = 0; warp < warps; warp++) ready.add(warp, shape.lanes_of(warp));
        exited = arrived = predicates = stepping = 0;
        first_arrived = nullptr;
        same_barrier = true;
    }
    // Whether `operation` and place are those of the barrier that others wait at, or it is the first.
    EMULATOR_HOT void arrive(Thread& thread, Operation operation, int predicate, Place place) {
        thread.operation = operation;
        thread.place = place;
        thread.state = State::at_barrier;
        if (!first_arrived) first_arrived = &thread;
        same_barrier = same_barrier && same_place(*first_arrived, thread);
        predicates += predicate != 0;
        arrived++;
    }
    void complete_barrier() {
        switch (first_arrived->operation) {
            case Operation::barrier_and: barrier_result = predicates == arrived; break;
            case Operation::barrier_or: barrier_result = predicates != 0; break;
            default: barrier_result = predicates;
        }
        arrived = predicates = 0;
        first_arrived = nullptr;
        same_barrier = true;
    }

    // The lanes of a warp call, if all of them wait at the same one by now; else 0. The block may not have a lane of the
    // mask, and it may have left before.
    unsigned complete_lanes(const BlockShape& shape, int warp, unsigned mask) const {
        const Thread* warp_threads = &threads[warp << shape.lane_bits];
        unsigned named = mask & shape.lanes_of(warp), lanes = named & waiting_lanes[warp];
        const Thread& first = warp_threads[__builtin_ctz(lanes)];
        for (int lane : EachLane{named & ~lanes}) {
            if (!has_left_before(warp_threads[lane], first)) return 0;
        }
        for (int lane : EachLane{lanes}) {
            const Thread& other = warp_threads[lane];
            if (other.call->mask != first.call->mask || other.operation != first.operation) return 0;
        }
        return lanes;
    }
};

// A barrier of all threads of several blocks, which may arrive first and wait later: `apart`, so many.
struct WideBarrier {
    uint64_t expected = 0, arrived = 0, phase = 0, apart = 0;
};

}  // namespace emulator
