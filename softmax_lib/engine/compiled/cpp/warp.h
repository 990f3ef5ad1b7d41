// A warp, its block, what its lanes wait for, and what an instruction does with them.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "program.h"

namespace machine {

using engine::EachLane;
using engine::lanes_where;

struct alignas(64) Row {
    uint32_t lane[WARP];
};

// Thrown where a launch ends before its time: at an instruction, for a lane.
struct Stop {
    Ending ending;
    int lane;
    uint64_t address;
    Space space;
};

constexpr int BARRIERS = 16;

struct Block;

// Lanes that go on together from an instruction.
struct Group {
    int32_t at;
    uint32_t lanes;
};

// Lanes that parted, and the instruction at which they meet again; `outer` is the meeting that they came from, or -1.
struct Meeting {
    int32_t at;
    int32_t outer;
    uint32_t lanes;
};

enum class Wait : uint32_t { CONVERGENCE, WARP_SYNC, COLLECTIVE, MEETING, BLOCK, CLUSTER, PHASE };

struct Warp {
    Row* file = nullptr;                 // the rows
    uint32_t* predicate = nullptr;
    Block* block = nullptr;
    uint8_t* local = nullptr;            // local memory of its lanes, one after the other
    int index = 0;
    uint32_t live = 0;                   // lanes that have not ended
    uint32_t active = 0;                 // lanes that are at `at` together
    int32_t at = 0;
    std::vector<Group> ready;            // others that could go on
    uint32_t members[BARRIERS][WARP];    // of each convergence barrier, as each lane sees it
    std::vector<Meeting> meetings;
    int32_t meeting[WARP];               // by lane: the one that it is to come to next, or -1
    uint32_t waiting = 0;                // lanes that wait for others of the warp,
    uint32_t at_barrier = 0;             // and for the block
    Wait waits[WARP];                    // what such a lane waits for,
    uint32_t waits_for[WARP];            // which barrier or which lanes,
    int32_t goes_on[WARP];               // and where it goes on
    int32_t returns[WARP];               // and where once lanes that were collected part again
    int32_t whole_goes_on = -1;          // the same of all lanes that live, where they came to a block's barrier together
    uint32_t whole_waits_for = 0;
    uint32_t cluster_phase = 0;          // of the cluster's barrier, behind the one at which it came last
    bool sleeps = false;                 // its turn ended where it lets others go first

    uint32_t* row(unsigned number) { return file[number].lane; }
    uint32_t predicate_of(unsigned number, unsigned flip) const { return predicate[number] ^ (0u - flip); }
};

// A barrier of a block: who has come, and what they brought.
struct BlockBarrier {
    int arrived = 0;                     // lanes
    int expected = 0;                    // lanes, 0: all that live
    int votes = 0;
    int voters = 0;
    int result = 0;
};

struct Cluster;
struct Runner;

struct Block {
    const Launch* launch = nullptr;
    Runner* runner = nullptr;
    Cluster* cluster = nullptr;
    uint64_t number = 0;
    size_t slot = 0;                     // what it is known by, whichever its number
    uint32_t rank = 0;                   // in its cluster
    uint32_t shared_at = 0;              // the address of its shared memory, which tells its rank too
    uint32_t index[3];
    std::vector<uint8_t> shared;
    std::vector<Warp> warps;
    std::vector<Row> rows;               // of all warps
    std::vector<uint32_t> predicates;    // of all warps
    std::vector<uint8_t> local;          // of all warps
    BlockBarrier barriers[16];
    int live = 0;                        // lanes
};

// Blocks that run together, mostly one alone, and the barrier that they have in common.
struct Cluster {
    std::vector<std::unique_ptr<Block>> blocks;
    int live = 0;                        // lanes
    int arrived = 0, ended = 0;          // lanes that have come to the barrier, and that have no more to come
    uint32_t phase = 0;                  // times that all have come
    int64_t turn = 0;                    // instructions done since they had their turn
};

// In an address of shared memory: the rank of a block of a cluster, above what is the same in each.
constexpr uint32_t RANK_SHIFT = 24;
constexpr uint32_t without_rank(uint64_t address) { return static_cast<uint32_t>(address) & ((1u << RANK_SHIFT) - 1); }
inline uint32_t rank_of(const Block& block, uint64_t address) {
    uint32_t told = static_cast<uint32_t>(address) >> RANK_SHIFT, first = block.launch->first_rank;
    return told < first ? block.rank : told - first;
}

// ---- what an instruction can do: functions by name; a decoded program names them by their place in the list

using Handler = void (*)(Warp& warp, const Instruction& instruction, uint32_t lanes);

struct Operation {
    const char* name;
    Handler run;  // whatever the instruction says
    Handler (*choose)(const Instruction&) = nullptr;  // or one that does the same sooner, for what an instruction leaves out

    Handler handler_of(const Instruction& instruction) const { return choose ? choose(instruction) : run; }
};

// Lists end with an operation without a name.
extern const Operation FLOAT_OPERATIONS[], WHOLE_OPERATIONS[], WIDE_OPERATIONS[], HALF_OPERATIONS[],
    CONVERSIONS[], WARP_OPERATIONS[], MEMORY_OPERATIONS[], MBARRIER_OPERATIONS[], TYPED_NUMBERS[], TYPED_BITS[], WATCHED_OPERATIONS[];

constexpr const Operation* OPERATION_LISTS[] = {FLOAT_OPERATIONS, WHOLE_OPERATIONS, WIDE_OPERATIONS, HALF_OPERATIONS,
                                                CONVERSIONS, WARP_OPERATIONS, MEMORY_OPERATIONS, MBARRIER_OPERATIONS, TYPED_NUMBERS,
                                                TYPED_BITS, WATCHED_OPERATIONS};

// What changes where a warp goes on; flow.cpp does these.
enum FlowOperation : uint16_t {
    NOTHING, BRANCH, BRANCH_IF_DIVERGED, BRANCH_IF_CONVERGED, BRANCH_INDEXED, CALL, RETURN, EXIT,
    JOIN_BARRIER, LEAVE_BARRIER, WARP_SYNC, COLLECT, END_COLLECT, BLOCK_BARRIER, PART, EXPECT, MEET,
    ARRIVE_CLUSTER, AWAIT_CLUSTER, AWAIT_PHASE, SLEEP, TRAP, NO_CODE_HERE,
    FLOW_OPERATIONS
};
constexpr const char* FLOW_NAMES[] = {
    "nothing", "branch", "branch if diverged", "branch if converged", "branch indexed", "call", "return", "exit",
    "join barrier", "leave barrier", "warp sync", "collect", "end collect", "block barrier", "part", "expect", "meet",
    "arrive cluster", "await cluster", "await phase", "sleep", "trap", "no code here",
};

}  // namespace machine
