// A decoded kernel, and what a launch of it is told: plain tables that Python fills in; library.py reads these structs from here.
#pragma once
#include <cstdint>

#include "rules.h"

namespace machine {

using engine::Counts;

constexpr int WARP = 32;
constexpr uint32_t ALL = 0xffffffffu;

// Predicates of a warp: P0 to P6 and PT, which is true; then the uniform ones; one that nobody reads; and behind it
// those of PTX, which has as many as it likes.
constexpr uint32_t NOBODY_READS = 16;

// One instruction. Its operands are rows of the warp's file: a register, a uniform register, zero, an
// immediate and a constant are all 32 words there, one a lane.
struct Instruction {
    uint16_t operation;
    uint16_t guard;        // it happens where this predicate is true
    uint16_t d;            // the row written
    uint16_t a, b, c;      // rows read
    uint16_t p, q;         // predicates written
    uint16_t s, t;         // predicates read
    uint16_t bytes;        // of an access, a lane
    uint8_t guard_flip;    // bit 0: where the guard is false; bit 1: it is done for all lanes, whoever is there
    uint8_t s_flip, t_flip;  // 1: the opposite of what is read
    uint32_t keep[3];      // bits of a, b and c that stay (|x| of a float); of a whole number: 1 is added (-x)
    uint32_t flip[3];      // bits that are turned
    uint32_t variant;      // what an operation says of itself: rounding, comparison, table
    int32_t offset;        // added to an address; of lanes that part, where they meet again
    int32_t target;        // where a branch leads, an index of the program
    int32_t site;          // of an access: the index of its counters
};
static_assert(sizeof(Instruction) == 68);

// A row that holds the same word in each lane from the start: an immediate, or 4 bytes of a constant bank.
struct Fixed {
    uint32_t row;
    int32_t bank;          // -1: `value` is the word itself; else its place in that bank
    uint32_t value;
};

constexpr int BANKS = 8;

struct Bank {
    const uint8_t* bytes;
    uint64_t size;
};

// A stretch of global memory: where the kernel finds it, and where it is; null: what is written there is forgotten, and
// a launch that reads it stops.
struct Array {
    uint64_t address;
    uint64_t bytes;
    uint8_t* memory;
    uint32_t is_input;      // of a launch that is watched: only to be read,
    uint32_t is_unwritten;  // or nobody has written into it yet
};

struct Launch {
    const Instruction* code;
    const Fixed* fixed;
    const Bank* banks;     // BANKS of them
    const Array* arrays;
    uint32_t code_count;
    uint32_t fixed_count;
    uint32_t array_count;
    uint32_t site_count;
    uint32_t rows;         // of a warp's file
    uint32_t cleared;      // of them, the first ones: registers, zero when a block begins
    uint32_t predicates;
    uint32_t shared_base;  // the address at which a block's shared memory begins
    uint32_t shared_bytes;
    uint32_t local_bytes;  // of a thread
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t cluster[3];   // blocks that run together
    uint32_t is_cooperative;  // whether all blocks do, by turns
    uint32_t first_rank;   // of a cluster in addresses of shared memory; an address without one is the block's own
    uint32_t is_watched;   // for hazards
};

// How often an instruction was executed, and by how many lanes in all.
struct Executed {
    uint64_t warps;
    uint64_t lanes;
};

// Where memory is, by address.
// CLUSTER is shared memory of another block.
enum Space : int32_t { GLOBAL, SHARED, LOCAL, CLUSTER };

// Columns of the counts behind those of the arrays: shared and local memory, and that of other blocks.
constexpr uint32_t MORE_COLUMNS = 3;

enum Ending : int32_t {
    RUNNING, DONE, OUT_OF_BOUNDS, MISALIGNED, TRAPPED, STUCK, NO_CODE, CONSTANT_BOUNDS, NOT_THERE, BLOCK_GONE, READ_BACK,
    FOLLOWED  // the warp that is followed is where it is to be, or has ended
};

struct Status {
    uint64_t block;        // the number of the block at which a launch stands or stopped
    uint64_t address;
    uint64_t finished;     // threads that have come to their end
    int32_t ending;
    int32_t at;            // index of the instruction
    int32_t thread;
    int32_t space;
};

// Where a warp stands: the instruction that it is to do next, or at which it waits; and for what (Wait), or one of these.
constexpr int32_t GOES_ON = -1, HAS_ENDED = -2;
struct Stand {
    int32_t at;
    int32_t waits;
};

// The warp that is followed, before an instruction that `lanes` of those `active` here do.
struct Look {
    const uint32_t* rows;
    const uint32_t* predicates;
    const int32_t* trace;  // its instructions since the launch went on
    uint32_t traced;
    uint32_t active, lanes;
    Stand* warps;          // of its block: room for them
    uint64_t addresses[WARP];  // of an access
};

}  // namespace machine
