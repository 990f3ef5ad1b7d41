// Barriers of a block and of a cluster, and phases of an mbarrier: who has come, and who may go on.
#include <cstring>

#include "run.h"
#include "waiting.h"

namespace machine {

// ---- of a block

static void release_block(Block& block, uint32_t number) {
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

void end_phase(Block& block, uint32_t address) {
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

}  // namespace machine
