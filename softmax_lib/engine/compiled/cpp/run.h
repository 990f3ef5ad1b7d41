// A launch in progress: its blocks one after the other, and what was counted.
#pragma once
#include <deque>
#include <memory>

#include "hazards.h"
#include "warp.h"

namespace machine {

// A generic address tells by its upper word which memory it is of.
constexpr uint32_t SHARED_WINDOW = 0x10000, LOCAL_WINDOW = 0x20000;

// Of the variant of a load or store: it is volatile or atomic.
constexpr uint32_t STRONG = 512;

// A warp whose instructions are told apart, and how many it is to do; other launches have none.
struct Follow {
    uint64_t block = ~uint64_t{0};
    int warp = 0;
    uint64_t done = 0, most = 0;
    Warp* found = nullptr;
    std::vector<int32_t> trace;
};

struct Runner {
    Launch launch;
    std::vector<Instruction> code;
    std::vector<Handler> handlers;           // what does each of them
    std::vector<Fixed> fixed;
    std::vector<Bank> banks;
    std::vector<Array> arrays;
    uint8_t forgotten[16];                   // where lanes write what nobody keeps
    std::vector<uint32_t> last_array;        // by site: where it was found last
    std::vector<Counts> counts;              // by site and array, or one of the other columns
    std::vector<Executed> begun;             // straight lines, by their first instruction
    std::vector<uint64_t> barriers;          // by instruction: times that all of a block met there
    std::deque<std::unique_ptr<Cluster>> resident;
    uint64_t cluster_count = 0, next_cluster = 0, finished = 0, clock = 0;
    int64_t warp_turn = 0;                   // instructions of a warp until others of its block get their turn
    Follow follow;
    Status status{};
    std::unique_ptr<engine::Hazards> hazards;   // of a launch that is watched
    bool has_fences = false;
    size_t slots = 0;                        // blocks that were made

    Counts& counts_of(int site, size_t column) {
        return counts[static_cast<size_t>(site) * (arrays.size() + MORE_COLUMNS) + column];
    }
    size_t column_of(Space space) const { return arrays.size() + static_cast<size_t>(space) - SHARED; }
};

inline uint64_t total(const uint32_t* axes) { return static_cast<uint64_t>(axes[0]) * axes[1] * axes[2]; }

// The lanes that do an instruction, of those that are there.
inline uint32_t lanes_of(const Warp& w, const Instruction& i, uint32_t active) {
    uint32_t on = w.predicate[i.guard] ^ (0u - (i.guard_flip & 1u));
    return i.guard_flip & 2 ? on : active & on;
}

// Where an access leads to, by lane.
void addresses_of(Warp& w, const Instruction& i, uint64_t* found);

// Does an instruction that is one of FlowOperation, for those of a warp's active lanes whose guard is true.
void flow(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes);

// Lanes that come to a barrier of their block, or their cluster, wait for a phase of an mbarrier, or end.
void arrive_at_block(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes);
void arrive_at_cluster(Cluster& cluster, int lanes);
void await_cluster(Warp& w, uint32_t lanes);
void await_phase(Warp& w, const Instruction& i, uint32_t lanes);
void end_lanes(Runner& runner, Warp& w, uint32_t lanes);

// Where a lane's address in shared memory is: of its own block, or of another one of its cluster.
uint8_t* place_in_shared(Block& block, int lane, uint64_t address, uint64_t bytes);

// What a launch that is watched is told (watching.cpp): that it begins, that a block does, of an access before it is done
// in `memory`, and that a block or all of a cluster have met.
struct Asked {
    engine::Ask what;
    bool is_exchange = false;
};
void watch_launch(Runner& runner);
void watch_block(const Block& block, uint64_t cluster);
void watch_access(const Warp& w, const Instruction& i, int lane, Space space, uint64_t address, Asked asked, const uint8_t* memory);
void watch_meeting(const Block& block, bool is_of_cluster);

// The next cluster that is to run, in the place of one that has ended where there is a `spare` one.
std::unique_ptr<Cluster> start_next(Runner& runner, std::unique_ptr<Cluster> spare);

}  // namespace machine
