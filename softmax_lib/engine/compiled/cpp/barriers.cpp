// Barriers of a block, of a cluster and in shared memory: who has come, and who may go on.
#include <cstring>

#include "lanes.h"
#include "numbers.h"
#include "run.h"
#include "waiting.h"

namespace machine {

// ---- of a block

static void release_block(Block& block, uint32_t number) {
    watch_meeting(block, false);
    BlockBarrier& barrier = block.barriers[number];
    barrier.result = barrier.votes;
    barrier.arrived = barrier.expected = barrier.votes = barrier.voters = 0;
    for (Warp& w : block.warps) {
        if (w.whole_goes_on >= 0) {  // mostly a warp comes as one
            if (w.whole_waits_for != number) continue;
            w.at = w.whole_goes_on;
            w.active = w.live;
            w.whole_goes_on = -1;
            continue;
        }
        let_go(w, lanes_where(w.at_barrier, [&](int lane) { return w.waits_for[lane] == number; }));
    }
}

static bool is_met(const Block& block, const BlockBarrier& barrier) {
    return barrier.arrived && barrier.arrived >= (barrier.expected ? barrier.expected : block.live);
}

enum BarrierKind : uint32_t { SYNC, ARRIVE, COUNT_TRUE, ALL_TRUE, ANY_TRUE };

void arrive_at_block(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes) {
    Block& block = *w.block;
    uint32_t number = w.row(i.a)[first_of(lanes)] & 15;
    BlockBarrier& barrier = block.barriers[number];
    barrier.expected = static_cast<int>(w.row(i.b)[first_of(lanes)]);
    barrier.arrived += count_of(lanes);
    barrier.votes += count_of(lanes & w.predicate_of(i.s, i.s_flip));
    barrier.voters += count_of(lanes);
    int32_t next = w.at + 1;
    if (i.variant == ARRIVE) {
        w.at = next;
    } else if (lanes == w.live) {
        w.whole_goes_on = next;
        w.whole_waits_for = number;
        w.active = 0;
    } else {
        wait(w, lanes, Wait::BLOCK, number, next);
    }
    if (!is_met(block, barrier)) return;
    if (i.variant == ALL_TRUE) barrier.votes = barrier.votes == barrier.voters;
    if (i.variant == ANY_TRUE) barrier.votes = barrier.votes > 0;
    runner.barriers[static_cast<size_t>(next - 1)]++;
    release_block(block, number);
}

// ---- of a cluster, and phases of an mbarrier

// Those lanes of a block that wait for what `is_it(warp, lane)` says go on.
template <class F> static void let_go_where(Block& block, F is_it) {
    for (Warp& w : block.warps) {
        let_go(w, lanes_where(w.waiting, [&](int lane) { return is_it(w, lane); }));
    }
}

void arrive_at_cluster(Cluster& cluster, int lanes) {
    cluster.arrived += lanes;
    if (cluster.arrived < cluster.live + cluster.ended || cluster.arrived == cluster.ended) return;
    cluster.phase++;
    cluster.arrived = cluster.ended;
    watch_meeting(*cluster.blocks[0], true);
    for (auto& block : cluster.blocks) {
        let_go_where(*block, [](const Warp& w, int lane) { return w.waits[lane] == Wait::CLUSTER; });
    }
}

void await_cluster(Warp& w, uint32_t lanes) {
    int32_t next = w.at + 1;
    if (w.cluster_phase <= w.block->cluster->phase) {
        w.at = next;
    } else {
        wait(w, lanes, Wait::CLUSTER, 0, next);
        if (w.active) w.at = next;
    }
}

// Lanes that end have come to this phase's barrier, if they had not, and to all others.
static void end_in_cluster(Warp& w, int lanes) {
    Cluster& cluster = *w.block->cluster;
    bool has_come = w.cluster_phase > cluster.phase;
    cluster.live -= lanes;
    cluster.ended += lanes;
    arrive_at_cluster(cluster, has_come ? 0 : lanes);
}

// Variant bit 0: wait until the phase of a parity has ended, which comes as the highest bit of row b or, bit 1, the lowest.
// Whoever waits goes on when it has; without bit 0 predicate p tells whether it has, and where not others go first.
void await_phase(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b), *c = w.row(i.c);
    uint32_t ended = 0;
    auto address_of = [&](int lane) { return a[lane] + c[lane] + static_cast<uint32_t>(i.offset); };
    for (int lane : EachLane{lanes}) {
        uint64_t state;
        memcpy(&state, place_in_shared(*w.block, lane, address_of(lane), sizeof state), sizeof state);
        uint32_t parity = i.variant & 2 ? b[lane] & 1 : b[lane] >> 31;
        ended |= (state >> 63 != parity ? 1u : 0u) << lane;
    }
    uint32_t waiting = i.variant & 1 ? lanes & ~ended : 0;
    w.predicate[i.p] = (w.predicate[i.p] & ~lanes) | ended | waiting;
    w.sleeps = lanes & ~ended & ~waiting;
    int32_t next = w.at + 1;
    each_key(waiting, address_of, [&](uint32_t address, uint32_t together) {
        wait(w, together, Wait::PHASE, without_rank(address), next);
    });
    if (w.active) w.at = next;
}

// Lanes that wait for a phase of the mbarrier at an address go on.
static void end_phase(Block& block, uint32_t address) {
    watch_meeting(block, true);
    let_go_where(block, [&](const Warp& w, int lane) {
        return w.waits[lane] == Wait::PHASE && w.waits_for[lane] == without_rank(address);
    });
}

void end_lanes(Runner& runner, Warp& w, uint32_t lanes) {
    Block& block = *w.block;
    w.live &= ~lanes;
    w.active &= ~lanes;
    block.live -= count_of(lanes);
    runner.finished += static_cast<uint64_t>(count_of(lanes));
    release(w);
    end_in_cluster(w, count_of(lanes));
    if (!block.live) return;
    for (uint32_t number = 0; number < 16; number++) {
        if (is_met(block, block.barriers[number])) release_block(block, number);
    }
}

// ---- barriers in shared memory that count arrivals and bytes: an mbarrier of PTX

namespace {

// As the code that sets one writes it: bits 1 to 20 are minus the arrivals of a phase, 43 to 62 minus those that it still
// lacks, 63 its parity. Where the hardware has the bytes that are to come is not known; here these are bits 21 to 42.
struct Mbarrier {
    uint64_t word;

    static uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }
    uint64_t get(int from, int bits) const { return word >> from & mask(bits); }
    void set(int from, int bits, uint64_t value) { word = (word & ~(mask(bits) << from)) | (value & mask(bits)) << from; }

    // So many arrivals and bytes less to come. Whether that ends the phase.
    bool lacks_less(uint64_t arrivals, uint64_t bytes) {
        set(43, 20, get(43, 20) + arrivals);
        set(21, 22, get(21, 22) - bytes);
        if (get(43, 20) || get(21, 22)) return false;
        word ^= uint64_t{1} << 63;
        set(43, 20, get(1, 20));
        return true;
    }
};

uint32_t address_of(Warp& w, const Instruction& i, int lane) {
    return w.row(i.a)[lane] + w.row(i.b)[lane] + static_cast<uint32_t>(i.offset);
}

// What it was before.
uint64_t change(Block& block, int lane, uint32_t address, uint64_t arrivals, uint64_t bytes) {
    uint8_t* at = place_in_shared(block, lane, address, sizeof(Mbarrier));
    Mbarrier barrier;
    memcpy(&barrier, at, sizeof barrier);
    uint64_t before = barrier.word;
    bool ends = barrier.lacks_less(arrivals, bytes);
    memcpy(at, &barrier, sizeof barrier);
    if (ends) end_phase(*block.cluster->blocks[rank_of(block, address)], address);
    return before;
}

// To the word of rows c, or (variant bit 0) for as many arrivals as row c says.
void set_mbarrier(Warp& w, const Instruction& i, uint32_t lanes) {
    int lane = first_of(lanes);
    uint64_t word = pair(w.row(i.c)[lane], w.row(i.c + 1u)[lane]);
    if (i.variant & 1) {
        uint64_t lacking = (uint64_t{1} << 20) - w.row(i.c)[lane];
        word = lacking << 43 | lacking << 1;
    }
    memcpy(place_in_shared(*w.block, lane, address_of(w, i, lane), sizeof word), &word, sizeof word);
}

// Each lane arrives (variant bit 0) once, or as often as row c says (1); or bytes as c says are to come (2). Rows d: the
// state before.
void arrive(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* c = w.row(i.c);
    uint32_t *d = w.row(i.d), *d2 = w.row(i.d + 1u);
    for (int lane : EachLane{lanes}) {
        uint64_t arrivals = i.variant & 2 ? c[lane] : i.variant & 1, bytes = i.variant & 4 ? c[lane] : 0;
        uint64_t before = change(*w.block, lane, address_of(w, i, lane), arrivals, 0 - bytes);
        d[lane] = low_of(before);
        d2[lane] = high_of(before);
    }
}

// Words of rows d into shared memory of a block of the cluster, at row a; they are bytes that the mbarrier at row b has
// been told of.
void store_and_tell(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t *a = w.row(i.a), *b = w.row(i.b);
    Runner& runner = *w.block->runner;
    Counts& counted = runner.counts_of(i.site, runner.column_of(CLUSTER));
    auto many = static_cast<uint64_t>(count_of(lanes));
    counted.requests++;
    counted.lanes += many;
    counted.bytes += many * i.bytes;
    for (int lane : EachLane{lanes}) {
        uint32_t at = a[lane] + static_cast<uint32_t>(i.offset);
        uint8_t* to = place_in_shared(*w.block, lane, at, i.bytes);
        if (runner.hazards) watch_access(w, i, lane, CLUSTER, at, {engine::Ask::STORE}, to);
        for (unsigned n = 0; n < i.bytes / 4u; n++) memcpy(to + 4 * n, &w.row(i.d + n)[lane], 4);
        if (runner.hazards) runner.hazards->settle();
        change(*w.block, lane, b[lane], 0, i.bytes);
    }
}

// d: the address a, of shared memory, in the block of rank b.
void to_rank(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t first = w.block->launch->first_rank;
    map(w, i, lanes, [&](uint32_t a, uint32_t b, uint32_t) { return without_rank(a) | (b + first) << RANK_SHIFT; });
}

}  // namespace

const Operation MBARRIER_OPERATIONS[] = {
    {"set mbarrier", set_mbarrier},
    {"arrive at mbarrier", arrive},
    {"store and tell", store_and_tell},
    {"to rank", to_rank},
    {nullptr, nullptr},
};

}  // namespace machine
