// A block that runs or waits: its threads, who of them can go on, and what the others wait for.
#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "fibers.h"
#include "inlining.h"
#include "kernel_interface.h"
#include "rules.h"

namespace emulator {

using engine::EachLane;
using engine::lanes_where;

constexpr int MAX_BLOCK_SIZE = 1024;

constexpr uint64_t NO_RECORD = ~uint64_t(0);

enum class State : uint8_t { not_started, running, at_barrier, in_warp_call, at_wide_barrier, polling, exited };

// One CUDA thread. It fills one cache line: a barrier touches every thread of a block, and with a
// thousand of them what they touch is what it costs.
struct alignas(64) Thread {
    int index;                // x first, then y, then z
    uint16_t axes[3];
    State state;
    Operation operation;      // the call it waits at,
    Place place;              // where that is,
    const WarpCall* call;     // if it is a warp call: in the frame of the caller, on its stack,
    uint64_t received;        // and what the call gave it
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
    void clear(int warps);
    void add(int warp, uint32_t lanes);
    bool is_empty() const;
    // Takes the lowest ready lane of `warp`, else of the next warp that has one; -1 when none has.
    // Staying in the warp keeps its stacks in the cache, and a trace readable.
    EMULATOR_HOT int take(int warp, int lane_bits);

private:
    uint32_t lanes_[MAX_BLOCK_SIZE];
    uint64_t warps_[MAX_BLOCK_SIZE / 64];
    int words_ = 0;

    EMULATOR_COLD int next_warp(int warp) const;
};

// How many threads a block has, along its axes and in warps.
struct BlockShape {
    unsigned axes[3] = {1, 1, 1};
    int threads = 1, warp_size = 32, lane_bits = 5;

    int warps() const { return (threads + warp_size - 1) >> lane_bits; }
    int warp_of(const Thread& thread) const { return thread.index >> lane_bits; }
    int lane_of(const Thread& thread) const { return thread.index & (warp_size - 1); }
    // Lanes that a warp has: fewer in the last one of a block that does not fill it.
    EMULATOR_HOT unsigned lanes_of(int warp) const;
};

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

    void start(const BlockShape& shape, bool traced);
    // Whether `operation` and place are those of the barrier that others wait at, or it is the first.
    EMULATOR_HOT void arrive(Thread& thread, Operation operation, int predicate, Place place);
    void complete_barrier();

    // The lanes of a warp call, if all of them wait at the same one by now; else 0.
    unsigned complete_lanes(const BlockShape& shape, int warp, unsigned mask) const;
};

// A barrier of all threads of several blocks, which may arrive first and wait later.
struct WideBarrier {
    uint64_t expected = 0, arrived = 0, phase = 0;
};

}  // namespace emulator
