// What the lanes of a warp tell each other, and what they know of themselves.
#include <algorithm>
#include <cstring>

#include "lanes.h"
#include "run.h"

namespace machine {

namespace {

enum Shuffle : uint32_t { UP, DOWN, BUTTERFLY, INDEX };

// Row b says from how far, c the bounds: the lowest 5 bits the last lane, the next, from bit 8 on, the segment's mask.
void shuffle(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    alignas(64) uint32_t got[WARP], on[WARP];
    alignas(64) int from[WARP];
    uint32_t held = 0, how = i.variant;
    LANES {
        int by = static_cast<int>(b[k] & 31), segment = static_cast<int>(c[k] >> 8 & 31), clamp = static_cast<int>(c[k] & 31);
        int least = k & segment, most = least | (clamp & ~segment);
        int other = how == UP ? k - by : how == DOWN ? k + by : how == BUTTERFLY ? k ^ by : least | (by & ~segment);
        bool is_inside = how == UP ? other >= most : other <= most;
        held |= (is_inside ? 1u : 0u) << k;
        from[k] = is_inside ? other & 31 : k;
    }
    for (int k = 0; k < WARP; k++) got[k] = a[from[k]];
    uint32_t* d = w.row(i.d);
    if (lanes == ALL) {
        memcpy(d, got, sizeof got);
    } else {
        spread(lanes, on);
        LANES d[k] = chosen(on[k], got[k], d[k]);
    }
    set_predicate(w, i.p, lanes, held);
}

// Row d: lanes whose predicate s is true; predicate p whether that is any (variant 0), all (1) or all or none (2) of them.
// Variant bit 2: the row is a uniform one.
void vote(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t on = lanes, bits = on & w.predicate_of(i.s, i.s_flip);
    bool is_uniform = i.variant & 4;
    uint32_t how = i.variant & 3;
    bool found = how == 0 ? bits != 0 : how == 1 ? bits == on : bits == on || !bits;
    uint32_t* d = w.row(i.d);
    for (int lane : EachLane{is_uniform ? ALL : lanes}) d[lane] = bits;
    set_predicate(w, i.p, is_uniform ? ALL : lanes, found ? ALL : 0);
}

// Lanes with the same word as mine (variant bit 0: the same pair); bit 1: all of them, or none, and p tells.
void match(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = w.row(i.a), *a2 = w.row(i.a + (i.variant & 1));
    uint32_t* d = w.row(i.d);
    uint32_t found[WARP] = {};
    for (int k : EachLane{lanes}) {
        found[k] = lanes_where(lanes, [&](int n) { return a[n] == a[k] && a2[n] == a2[k]; });
    }
    bool is_one = found[__builtin_ctz(lanes)] == lanes;
    for (int k : EachLane{lanes}) d[k] = i.variant & 2 ? (is_one ? lanes : 0) : found[k];
    if (i.variant & 2) set_predicate(w, i.p, lanes, is_one ? ALL : 0);
}

enum Reduction : uint32_t { SUM, LEAST, GREATEST, AND, OR, XOR };
// Of all lanes, into a uniform row; variant bit 3: signed; 4: the row is one of these lanes alone.
void reduce(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = w.row(i.a);
    uint32_t bias = i.variant & 8 ? 0x80000000u : 0, made = a[__builtin_ctz(lanes)];
    for (int k : EachLane{lanes & (lanes - 1)}) {
        uint32_t x = a[k];
        switch (i.variant & 7) {
            case SUM: made += x; break;
            case LEAST: made = (x ^ bias) < (made ^ bias) ? x : made; break;
            case GREATEST: made = (x ^ bias) > (made ^ bias) ? x : made; break;
            case AND: made &= x; break;
            case OR: made |= x; break;
            default: made ^= x;
        }
    }
    uint32_t* d = w.row(i.d);
    for (int lane : EachLane{i.variant & 16 ? lanes : ALL}) d[lane] = made;
}

// A word of the first lane that takes part, for all; p: the lanes that have another one.
void make_uniform(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = w.row(i.a);
    uint32_t found = a[__builtin_ctz(lanes)], others = 0;
    LANES others |= (a[k] != found ? 1u : 0u) << k;
    uint32_t* d = w.row(i.d);
    LANES d[k] = found;
    set_predicate(w, i.p, lanes, others);
}

enum Special : uint32_t {
    THREAD_X, THREAD_Y, THREAD_Z, BLOCK_X, BLOCK_Y, BLOCK_Z, LANE, LANES_EQUAL, LANES_BELOW, LANES_UP_TO, LANES_ABOVE,
    LANES_FROM, WARP_NUMBER, CLOCK_LOW, CLOCK_HIGH, WINDOW_OF_SHARED, RANK,
    CLUSTER_PLACE_X, CLUSTER_PLACE_Y, CLUSTER_PLACE_Z, ZERO
};

uint32_t special_of(const Warp& w, uint32_t which, uint32_t lane) {
    const Block& block = *w.block;
    const uint32_t* axes = block.launch->block;
    uint32_t thread = static_cast<uint32_t>(w.index) * WARP + lane, bit = 1u << lane;
    switch (which) {
        case THREAD_X: return thread % axes[0];
        case THREAD_Y: return thread / axes[0] % axes[1];
        case THREAD_Z: return thread / axes[0] / axes[1];
        case BLOCK_X: return block.index[0];
        case BLOCK_Y: return block.index[1];
        case BLOCK_Z: return block.index[2];
        case LANE: return lane;
        case LANES_EQUAL: return bit;
        case LANES_BELOW: return bit - 1;
        case LANES_UP_TO: return bit | (bit - 1);
        case LANES_ABOVE: return ~(bit | (bit - 1));
        case LANES_FROM: return ~(bit - 1);
        case WARP_NUMBER: return static_cast<uint32_t>(w.index);
        case CLOCK_LOW: return low_of(block.runner->clock);
        case CLOCK_HIGH: return high_of(block.runner->clock);
        case WINDOW_OF_SHARED: return SHARED_WINDOW;
        case RANK: return block.rank;
        case CLUSTER_PLACE_X: return block.index[0] % block.launch->cluster[0];
        case CLUSTER_PLACE_Y: return block.index[1] % block.launch->cluster[1];
        case CLUSTER_PLACE_Z: return block.index[2] % block.launch->cluster[2];
        default: return 0;
    }
}

void read_special(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t* d = w.row(i.d);
    uint32_t which = i.variant;
    if (which == THREAD_X && w.block->launch->block[1] * w.block->launch->block[2] == 1) {  // mostly a block is a line
        alignas(64) uint32_t on[WARP];
        spread(lanes, on);
        auto first = static_cast<uint32_t>(w.index) * WARP;
        LANES d[k] = chosen(on[k], first + static_cast<uint32_t>(k), d[k]);
        return;
    }
    bool is_own = which <= THREAD_Z || (which >= LANE && which <= LANES_FROM);
    if (!is_own) return put_word(d, lanes, special_of(w, which, 0));
    for (int k : EachLane{lanes}) {
        d[k] = special_of(w, i.variant, static_cast<uint32_t>(k));
    }
}

// A barrier's result: how many predicates were true (variant 0), or as predicate p whether all (1) or any (2) were.
void read_barrier(Warp& w, const Instruction& i, uint32_t lanes) {
    const BlockBarrier& barrier = w.block->barriers[0];
    auto result = static_cast<uint32_t>(barrier.result);
    uint32_t* d = w.row(i.d);
    for (int lane : EachLane{lanes}) d[lane] = result;
    set_predicate(w, i.p, lanes, result ? ALL : 0);
}

// The lanes at hand are those of a convergence barrier, each says so for itself.
void set_barrier(Warp& w, const Instruction& i, uint32_t lanes) { put_word(w.members[i.variant], lanes, lanes); }

// A convergence barrier's lanes go into a row, or another barrier; variant bit 8: and it is empty afterwards.
void take_barrier(uint32_t* from, uint32_t* to, const Instruction& i, uint32_t lanes) {
    for (int k : EachLane{lanes}) {
        to[k] = from[k];
        if (i.variant & 256) from[k] = 0;
    }
}
void barrier_to_row(Warp& w, const Instruction& i, uint32_t lanes) { take_barrier(w.members[i.variant & 15], w.row(i.d), i, lanes); }
void barrier_to_barrier(Warp& w, const Instruction& i, uint32_t lanes) {
    take_barrier(w.members[i.variant >> 4 & 15], w.members[i.variant & 15], i, lanes);
}
void row_to_barrier(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* a = w.row(i.a);
    for (int lane : EachLane{lanes}) w.members[i.variant & 15][lane] = a[lane];
}

}  // namespace

const Operation WARP_OPERATIONS[] = {
    {"shuffle", shuffle},
    {"vote", vote},
    {"match", match},
    {"reduce", reduce},
    {"make uniform", make_uniform},
    {"read special", read_special},
    {"read barrier", read_barrier},
    {"set barrier", set_barrier},
    {"barrier to row", barrier_to_row},
    {"row to barrier", row_to_barrier},
    {"barrier to barrier", barrier_to_barrier},
    {nullptr, nullptr},
};

}  // namespace machine
