// Running a launch: each warp from one parting or meeting of its lanes to the next.
#include "run.h"

#include <algorithm>
#include <cstring>

#include "lanes.h"
#include "numbers.h"
#include "operations.h"

namespace machine {

namespace {

// Instructions of a warp until others of its block, or other lanes of its own, get their turn.
constexpr int64_t WARP_TURN = 1 << 20, GROUP_TURN = 1 << 14;
// Instructions of a block, or a cluster, until another one begins beside it: it may wait for that one.
constexpr int64_t BLOCK_TURN = 1 << 25;
// The same of a cooperative launch, where others are often what a block waits for.
constexpr int64_t COOPERATIVE_WARP_TURN = 1 << 10, COOPERATIVE_TURN = 1 << 16;
constexpr size_t MOST_RESIDENT = 256;

const std::vector<Operation>& operations() {
    static const std::vector<Operation> all = [] {
        std::vector<Operation> found(FLOW_OPERATIONS, Operation{nullptr, nullptr});
        for (const Operation* list : OPERATION_LISTS) {
            for (; list->name; list++) found.push_back(*list);
        }
        return found;
    }();
    return all;
}

int first_of(uint32_t lanes) { return __builtin_ctz(lanes); }
int count_of(uint32_t lanes) { return __builtin_popcount(lanes); }

// ---- where lanes part and meet

void make_ready(Warp& w, int32_t at, uint32_t lanes) {
    for (Group& group : w.ready) {
        if (group.at == at) {
            group.lanes |= lanes;
            return;
        }
    }
    w.ready.push_back({at, lanes});
}

// Those of `lanes` that waited go on, each where it wanted to.
void let_go(Warp& w, uint32_t lanes) {
    w.waiting &= ~lanes;
    w.at_barrier &= ~lanes;
    while (lanes) {
        int32_t at = w.goes_on[first_of(lanes)];
        uint32_t together = lanes & lanes_with(w.goes_on, at);
        make_ready(w, at, together);
        lanes &= ~together;
    }
}

// Whether all of `lanes` wait for the same as `lane` does: a function that calls itself has a barrier's number again and
// again, each time for other lanes.
bool all_wait(const Warp& w, uint32_t lanes, int lane) {
    if (lanes & ~w.waiting) return false;
    uint32_t like = lanes_with(w.waits, w.waits[lane]) & lanes_with(w.waits_for, w.waits_for[lane]);
    if (w.waits[lane] == Wait::CONVERGENCE) {
        const uint32_t* members = w.members[w.waits_for[lane]];
        like &= lanes_with(members, members[lane]);
    }
    return !(lanes & ~like);
}

// All have come: the next meeting is the one around it.
void end_meeting(Warp& w, uint32_t number) {
    Meeting& met = w.meetings[number];
    for (uint32_t left = met.lanes; left; left &= left - 1) w.meeting[first_of(left)] = met.outer;
    met.lanes = 0;
    while (!w.meetings.empty() && !w.meetings.back().lanes) w.meetings.pop_back();
}

// Lanes that have nobody to wait for any more go on.
void release(Warp& w) {
    for (uint32_t left = w.waiting; left; left &= left - 1) {
        int lane = first_of(left);
        if (!(w.waiting >> lane & 1)) continue;  // it went on with one before
        uint32_t expected;
        switch (w.waits[lane]) {
            case Wait::CONVERGENCE: expected = w.members[w.waits_for[lane]][lane]; break;
            case Wait::WARP_SYNC:
            case Wait::COLLECTIVE: expected = w.waits_for[lane]; break;
            case Wait::MEETING: expected = w.meetings[w.waits_for[lane]].lanes; break;
            default: continue;
        }
        expected = (expected & w.live) | 1u << lane;
        if (!all_wait(w, expected, lane)) continue;
        if (w.waits[lane] == Wait::COLLECTIVE) {  // they do it together, at one of the places where they are
            int32_t at = w.goes_on[lane];
            for (uint32_t left = expected; left; left &= left - 1) w.goes_on[first_of(left)] = at;
        }
        if (w.waits[lane] == Wait::MEETING) end_meeting(w, w.waits_for[lane]);
        let_go(w, expected);
    }
}

void wait(Warp& w, uint32_t lanes, Wait what, uint32_t what_for, int32_t goes_on) {
    put_word(w.waits, lanes, what);
    put_word(w.waits_for, lanes, what_for);
    put_word(w.goes_on, lanes, goes_on);
    (what == Wait::BLOCK ? w.at_barrier : w.waiting) |= lanes;
    w.active &= ~lanes;
}

// Those of `lanes` that have the same key_of(lane) as the first of them.
template <class K> uint32_t alike(uint32_t lanes, K key_of) {
    auto key = key_of(first_of(lanes));
    uint32_t found = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        if (key_of(first_of(left)) == key) found |= left & (0u - left);
    }
    return found;
}

// f(key, lanes) for each key_of(lane) that some of `lanes` have, with those that have it.
template <class K, class F> void each_key(uint32_t lanes, K key_of, F f) {
    while (lanes) {
        uint32_t together = alike(lanes, key_of);
        f(key_of(first_of(lanes)), together);
        lanes &= ~together;
    }
}

// Lanes go on at places of their own: those that go with the first one now; the others come to this instruction again.
template <class F> void part(Warp& w, uint32_t lanes, F place_of) {
    int32_t here = place_of(first_of(lanes));
    uint32_t together = alike(lanes, place_of);
    if (lanes & ~together) w.ready.push_back({w.at, lanes & ~together});
    w.active = together;
    w.at = here;
}

bool pick(Warp& w) {
    if (w.ready.empty()) return false;
    w.at = w.ready.back().at;
    w.active = w.ready.back().lanes;
    w.ready.pop_back();
    return true;
}

// ---- barriers of a block

void release_block(Block& block, uint32_t number) {
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
        uint32_t lanes = 0;
        for (uint32_t left = w.at_barrier; left; left &= left - 1) {
            int lane = first_of(left);
            if (w.waits_for[lane] == number) lanes |= 1u << lane;
        }
        let_go(w, lanes);
    }
}

bool is_met(const Block& block, const BlockBarrier& barrier) {
    return barrier.arrived && barrier.arrived >= (barrier.expected ? barrier.expected : block.live);
}

enum BarrierKind : uint32_t { SYNC, ARRIVE, COUNT_TRUE, ALL_TRUE, ANY_TRUE };

void arrive(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes) {
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

// ---- barriers of a cluster, and phases of an mbarrier

// Those lanes of a block that wait for what `is_it(warp, lane)` says go on.
template <class F> void let_go_where(Block& block, F is_it) {
    for (Warp& w : block.warps) {
        uint32_t lanes = 0;
        for (uint32_t left = w.waiting; left; left &= left - 1) {
            int lane = first_of(left);
            if (is_it(w, lane)) lanes |= 1u << lane;
        }
        if (lanes) let_go(w, lanes);
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
void end_in_cluster(Warp& w, int lanes) {
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
    for (uint32_t left = lanes; left; left &= left - 1) {
        int lane = first_of(left);
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

// ---- what changes where a warp goes on

// The instruction at a place in the code, as bytes.
int32_t index_of(const Runner& runner, uint64_t bytes, int lane) {
    uint64_t index = bytes / 16;
    if (bytes % 16 || index >= runner.code.size()) throw Stop{NO_CODE, lane, bytes, GLOBAL};
    return static_cast<int32_t>(index);
}

void branch(Warp& w, uint32_t taken, int32_t target) {
    uint32_t others = w.active & ~taken;
    if (!taken) {
        w.at++;
    } else {
        if (others) w.ready.push_back({w.at + 1, others});
        w.active = taken;
        w.at = target;
    }
}

// Lanes are to meet at an instruction.
void expect(Warp& w, uint32_t lanes, int32_t at) {
    each_key(lanes, [&](int lane) { return w.meeting[lane]; }, [&](int32_t outer, uint32_t together) {
        auto number = static_cast<int32_t>(w.meetings.size());
        w.meetings.push_back({at, outer, together});
        for (uint32_t left = together; left; left &= left - 1) w.meeting[first_of(left)] = number;
    });
}

// A branch after which lanes that go different ways meet at `meets`; -1: nowhere in particular.
void part_until(Warp& w, uint32_t taken, int32_t target, int32_t meets) {
    if (taken && taken != w.active && meets >= 0) expect(w, w.active, meets);
    branch(w, taken, target);
}

// The meeting here that a lane is to come to; -1: none. Those within it that it has not come to it never will.
int32_t meeting_here(Warp& w, int lane) {
    int32_t number = w.meeting[lane];
    while (number >= 0 && w.meetings[static_cast<size_t>(number)].at != w.at) number = w.meetings[static_cast<size_t>(number)].outer;
    for (int32_t inner = w.meeting[lane]; number >= 0 && inner != number;) {
        Meeting& left = w.meetings[static_cast<size_t>(inner)];
        left.lanes &= ~(1u << lane);
        inner = w.meeting[lane] = left.outer;
    }
    return number;
}

// Lanes that are to meet here wait for each other, and come here again: the meeting around it may be here too.
void meet(Warp& w) {
    int32_t here = w.at;
    uint32_t come = 0;
    for (uint32_t left = w.active; left; left &= left - 1) {
        if (meeting_here(w, first_of(left)) >= 0) come |= left & (0u - left);
    }
    each_key(come, [&](int lane) { return w.meeting[lane]; }, [&](int32_t number, uint32_t together) {
        wait(w, together, Wait::MEETING, static_cast<uint32_t>(number), here);
    });
    if (w.active) w.at = here + 1;
    if (come) release(w);
}

// Lanes wait for those that they name; whoever names others comes to this instruction again.
void sync_named(Warp& w, const Instruction& i, uint32_t lanes) {
    const uint32_t* named = w.row(i.a);
    if (!lanes) {
        w.at++;
        return;
    }
    uint32_t mine = named[first_of(lanes)], those = alike(lanes, [&](int lane) { return named[lane]; });
    if (lanes & ~those) w.ready.push_back({w.at, lanes & ~those});
    if (w.active & ~lanes) make_ready(w, w.at + 1, w.active & ~lanes);
    w.active = those;
    int32_t next = w.at + 1;
    if ((mine & w.live) == those) {
        w.at = next;
        return;
    }
    wait(w, those, Wait::WARP_SYNC, mine, next);
    release(w);
}

// Whether lanes that wait all do so for the same members of a convergence barrier, at one place, where nobody else is.
bool goes_on_together(const Warp& w, uint32_t lanes, uint32_t number, uint32_t mine, int32_t at) {
    uint32_t like = lanes_with(w.waits, Wait::CONVERGENCE) & lanes_with(w.waits_for, number) & lanes_with(w.goes_on, at);
    like &= lanes_with(w.members[number], mine);
    return !(lanes & ~like) && std::none_of(w.ready.begin(), w.ready.end(), [&](const Group& group) { return group.at == at; });
}

void join_barrier(Warp& w, uint32_t number, uint32_t lanes) {
    int32_t next = w.at + 1;
    if (!lanes) {
        w.at = next;
        return;
    }
    const uint32_t* members = w.members[number];
    uint32_t mine = members[first_of(lanes)], others = mine & w.live & ~lanes;
    bool are_last = !(others & ~w.waiting), are_all = lanes == w.active;
    if (are_all && are_last && (!others || goes_on_together(w, others, number, mine, next))) {  // what mostly happens
        w.waiting &= ~others;
        w.active = others | lanes;
        w.at = next;
        return;
    }
    wait(w, lanes, Wait::CONVERGENCE, number, next);
    if (w.active) w.at = next;
    if (are_last) release(w);  // else nobody waits for less than they do
}

void leave_barrier(Warp& w, uint32_t number, uint32_t lanes) {
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t all = w.members[number][first_of(left)];
        for (uint32_t each = all; each; each &= each - 1) {
            uint32_t& members = w.members[number][first_of(each)];
            if (members == all) members = all & ~lanes;
        }
    }
    w.at++;
    if (lanes) release(w);
}

void sync_warp(Warp& w, uint32_t expected, uint32_t lanes, bool collects, int32_t target) {
    int32_t next = w.at + 1;
    if (collects) {
        for (uint32_t left = lanes; left; left &= left - 1) w.returns[first_of(left)] = target;
    }
    if (lanes == w.active && (expected & w.live) == lanes) {
        w.at = next;
        return;
    }
    wait(w, lanes, collects ? Wait::COLLECTIVE : Wait::WARP_SYNC, expected, next);
    if (w.active) w.at = next;
    release(w);
}

// The lanes named by row a, as the lanes at hand have it.
uint32_t named_lanes(Warp& w, const Instruction& i) { return w.row(i.a)[first_of(w.active)] ^ i.flip[0]; }

void flow(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes) {
    switch (static_cast<FlowOperation>(i.operation)) {
        case BRANCH: return branch(w, lanes & w.predicate_of(i.s, i.s_flip), i.target);
        case BRANCH_IF_DIVERGED: return branch(w, (named_lanes(w, i) & w.live) != w.active ? lanes : 0, i.target);
        case BRANCH_IF_CONVERGED: return branch(w, (named_lanes(w, i) & w.live) == w.active ? lanes : 0, i.target);
        case CALL: return branch(w, lanes, i.target);  // where it returns to it has put into a register
        case RETURN:
        case BRANCH_INDEXED: {
            const uint32_t* a = w.row(i.a);
            if (!lanes) {
                w.at++;
                return;
            }
            uint32_t others = w.active & ~lanes;  // they come to it again, as those that go elsewhere do
            if (others) w.ready.push_back({w.at, others});
            part(w, lanes, [&](int lane) {
                return index_of(runner, a[lane] + static_cast<uint32_t>(i.offset), lane);
            });
            return;
        }
        case EXIT:
            w.at++;
            return end_lanes(runner, w, lanes & w.predicate_of(i.s, i.s_flip));
        case JOIN_BARRIER: return join_barrier(w, i.variant, lanes & w.predicate_of(i.s, i.s_flip));
        case LEAVE_BARRIER: return leave_barrier(w, i.variant, lanes & w.predicate_of(i.s, i.s_flip));
        case WARP_SYNC: return sync_warp(w, named_lanes(w, i), lanes, false, 0);
        case COLLECT: return sync_warp(w, named_lanes(w, i), lanes, true, i.target);
        case END_COLLECT: return part(w, lanes, [&](int lane) { return w.returns[lane]; });
        case BLOCK_BARRIER:
            if (lanes != w.active) {  // of the others none is stopped
                make_ready(w, w.at + 1, w.active & ~lanes);
                w.active = lanes;
            }
            if (!lanes) return void(pick(w));
            return arrive(runner, w, i, lanes);
        case PART: return part_until(w, lanes & w.predicate_of(i.s, i.s_flip), i.target, i.offset);
        case EXPECT:
            if (i.offset >= 0) expect(w, w.active, i.offset);
            w.at++;
            return;
        case MEET: return meet(w);
        case SYNC_NAMED: return sync_named(w, i, lanes);
        case ARRIVE_CLUSTER:
            w.at++;
            w.cluster_phase = w.block->cluster->phase + 1;
            return arrive_at_cluster(*w.block->cluster, count_of(lanes));
        case AWAIT_CLUSTER: return await_cluster(w, lanes);
        case AWAIT_PHASE: return await_phase(w, i, lanes);
        case SLEEP:
            w.at++;
            w.sleeps = lanes && (i.variant == 0 || runner.launch.is_cooperative);
            return;
        case TRAP:
            if (lanes) throw Stop{TRAPPED, first_of(lanes), 0, GLOBAL};
            w.at++;
            return;
        default:
            if (lanes) throw Stop{NOT_THERE, first_of(lanes), 0, GLOBAL};
            w.at++;
    }
}

// ---- a warp's turn, a block's, a launch's

// Instructions up to one of these are executed one after the other, by the same lanes.
bool ends_line(const Instruction& i) { return i.operation < FLOW_OPERATIONS && i.operation != NOTHING; }

// Until its lanes all wait or have ended, or its turn is over. Returns the instructions done.
int64_t run_warp(Runner& runner, Warp& w) {
    const Instruction* code = runner.code.data();
    const Handler* run = runner.handlers.data();
    int64_t done = 0, of_group = 0;
    size_t slept = 0;
    w.sleeps = false;
    const int64_t most = runner.launch.is_cooperative ? COOPERATIVE_WARP_TURN : WARP_TURN;
    while (done < most) {
        if (!w.active && !pick(w)) break;
        if (w.sleeps && ++slept > w.ready.size()) break;
        if ((of_group > GROUP_TURN || w.sleeps) && !w.ready.empty()) {  // others may be what these wait for
            w.sleeps = false;
            w.ready.insert(w.ready.begin(), {w.at, w.active});
            pick(w);
            of_group = 0;
        }
        int32_t begin = w.at;
        uint32_t active = w.active, lanes;
        Executed& begun = runner.begun[static_cast<size_t>(begin)];
        begun.warps++;
        begun.lanes += static_cast<uint64_t>(count_of(active));
        const Instruction* i = code + begin;
        for (;; i++, w.at++) {
            uint32_t on = w.predicate[i->guard] ^ (0u - (i->guard_flip & 1u));
            lanes = i->guard_flip & 2 ? on : active & on;
            if (ends_line(*i)) break;
            if (lanes && i->operation != NOTHING) run[w.at](w, *i, lanes);
        }
        int64_t steps = w.at - begin + 1;
        done += steps;
        of_group += steps;
        runner.clock += static_cast<uint64_t>(steps);
        flow(runner, w, *i, lanes & active);
    }
    return done;
}

void start_warp(Block& block, Warp& w, int index, uint32_t threads) {
    const Launch& launch = *block.launch;
    uint32_t first = static_cast<uint32_t>(index) * WARP, many = std::min<uint32_t>(WARP, threads - first);
    w.block = &block;
    w.index = index;
    w.file = block.rows.data() + static_cast<size_t>(index) * launch.rows;
    w.local = block.local.data() + static_cast<size_t>(index) * WARP * launch.local_bytes;
    memset(w.file, 0, launch.cleared * sizeof(Row));
    w.predicate = block.predicates.data() + static_cast<size_t>(index) * launch.predicates;
    std::fill_n(w.predicate, launch.predicates, 0u);
    w.predicate[7] = w.predicate[15] = ALL;
    w.live = w.active = many == WARP ? ALL : (1u << many) - 1;
    w.at = 0;
    w.ready.clear();
    w.waiting = w.at_barrier = 0;
    w.whole_goes_on = -1;
    w.cluster_phase = 0;
    w.meetings.clear();
    std::fill(std::begin(w.meeting), std::end(w.meeting), -1);
    memset(w.members, 0, sizeof w.members);
}

void start_block(Block& block, const uint32_t* index) {
    const Launch& launch = *block.launch;
    const uint32_t* grid = launch.grid;
    std::copy(index, index + 3, block.index);
    block.number = (static_cast<uint64_t>(index[2]) * grid[1] + index[1]) * grid[0] + index[0];
    auto threads = static_cast<uint32_t>(total(launch.block));
    std::fill(block.shared.begin(), block.shared.end(), uint8_t{0});
    std::fill(std::begin(block.barriers), std::end(block.barriers), BlockBarrier{});
    block.live = static_cast<int>(threads);
    for (size_t n = 0; n < block.warps.size(); n++) start_warp(block, block.warps[n], static_cast<int>(n), threads);
}

// The place of a number on axes, the first of which it runs along first.
void place_on(const uint32_t* axes, uint64_t number, uint32_t* found) {
    for (int n = 0; n < 3; n++) {
        found[n] = static_cast<uint32_t>(number % axes[n]);
        number /= axes[n];
    }
}

void start_cluster(Runner& runner, Cluster& cluster, uint64_t number) {
    const Launch& launch = runner.launch;
    uint32_t clusters[3], first[3];
    for (int n = 0; n < 3; n++) clusters[n] = launch.grid[n] / launch.cluster[n];
    place_on(clusters, number, first);
    cluster.live = static_cast<int>(cluster.blocks.size() * total(launch.block));
    cluster.arrived = cluster.ended = 0;
    cluster.phase = 0;
    cluster.turn = 0;
    for (size_t rank = 0; rank < cluster.blocks.size(); rank++) {
        uint32_t index[3];
        place_on(launch.cluster, rank, index);
        for (int n = 0; n < 3; n++) index[n] += first[n] * launch.cluster[n];
        start_block(*cluster.blocks[rank], index);
    }
}

std::unique_ptr<Block> make_block(Runner& runner) {
    auto block = std::make_unique<Block>();
    const Launch& launch = runner.launch;
    size_t warps = (total(launch.block) + WARP - 1) / WARP;
    block->launch = &runner.launch;
    block->runner = &runner;
    block->shared.resize(launch.shared_bytes);
    block->warps.resize(warps);
    block->rows.resize(warps * launch.rows);
    block->predicates.resize(warps * launch.predicates);
    block->local.resize(warps * WARP * launch.local_bytes);
    for (size_t warp = 0; warp < warps; warp++) {
        for (const Fixed& fixed : runner.fixed) {
            uint32_t value = fixed.value;
            if (fixed.bank >= 0) {
                const Bank& bank = runner.banks[static_cast<size_t>(fixed.bank)];
                value = 0;
                if (uint64_t{fixed.value} + 4 <= bank.size) memcpy(&value, bank.bytes + fixed.value, 4);
            }
            Row& row = block->rows[warp * launch.rows + fixed.row];
            std::fill(std::begin(row.lane), std::end(row.lane), value);
        }
    }
    return block;
}

std::unique_ptr<Cluster> make_cluster(Runner& runner) {
    auto cluster = std::make_unique<Cluster>();
    const Launch& launch = runner.launch;
    for (uint32_t rank = 0; rank < total(launch.cluster); rank++) {
        std::unique_ptr<Block> block = make_block(runner);
        block->cluster = cluster.get();
        block->rank = rank;
        block->shared_at = launch.shared_base + (launch.first_rank ? 0 : rank << RANK_SHIFT);
        cluster->blocks.push_back(std::move(block));
    }
    return cluster;
}

void stop(Runner& runner, const Block& block, const Warp& w, Stop found) {
    runner.status.ending = found.ending;
    runner.status.block = block.number;
    runner.status.address = found.address;
    runner.status.at = w.at;
    runner.status.thread = w.index * WARP + found.lane;
    runner.status.space = found.space;
}

// Nobody can go on: a lane that waits is named, first one that does not wait for the block.
void stop_stuck(Runner& runner, Cluster& cluster) {
    for (bool is_of_block : {false, true}) {
        for (auto& block : cluster.blocks) {
            for (Warp& w : block->warps) {
                bool is_whole = w.whole_goes_on >= 0;
                uint32_t those = is_of_block ? (is_whole ? w.live : w.at_barrier) : w.waiting;
                if (!those) continue;
                int lane = first_of(those);
                w.at = (is_whole ? w.whole_goes_on : w.goes_on[lane]) - 1;
                return stop(runner, *block, w, {STUCK, lane, 0, GLOBAL});
            }
        }
    }
}

struct Turn {
    int64_t done = 0;       // instructions
    bool sleeps = true;     // whether all that did some ended where they let others go first
};

// One turn for each warp that has something to do, up to a fault.
Turn run_cluster(Runner& runner, Cluster& cluster) {
    Turn turn;
    for (auto& block : cluster.blocks) {
        for (Warp& w : block->warps) {
            if (!w.active && w.ready.empty()) continue;
            try {
                turn.done += run_warp(runner, w);
            } catch (const Stop& found) {
                stop(runner, *block, w, found);
                return turn;
            }
            turn.sleeps = turn.sleeps && (w.sleeps || !w.live);
        }
    }
    if (!turn.done && cluster.live) stop_stuck(runner, cluster);
    return turn;
}

std::unique_ptr<Cluster> start_next(Runner& runner, std::unique_ptr<Cluster> spare) {
    if (!spare) spare = make_cluster(runner);
    start_cluster(runner, *spare, runner.next_cluster++);
    return spare;
}

}  // namespace

void end_phase(Block& block, uint32_t address) {
    let_go_where(block, [&](const Warp& w, int lane) {
        return w.waits[lane] == Wait::PHASE && w.waits_for[lane] == without_rank(address);
    });
}

// Goes on for some `instructions`; the status tells whether all is done.
static void advance(Runner& runner, int64_t instructions) {
    OwnArithmetic ours;
    std::unique_ptr<Cluster> spare;
    const int64_t most = runner.launch.is_cooperative ? COOPERATIVE_TURN : BLOCK_TURN;
    while (instructions > 0 && runner.status.ending == RUNNING) {
        if (runner.resident.empty()) {
            if (runner.next_cluster == runner.cluster_count) {
                runner.status.ending = DONE;
                break;
            }
            runner.resident.push_back(start_next(runner, std::move(spare)));
        }
        std::unique_ptr<Cluster> cluster = std::move(runner.resident.front());
        runner.resident.pop_front();
        Turn turn;
        int64_t done = 0;
        while (cluster->live && done < most && done < instructions && runner.status.ending == RUNNING) {
            turn = run_cluster(runner, *cluster);
            done += turn.done;
            if (turn.sleeps) break;
        }
        instructions -= done;
        if (!cluster->live) {
            spare = std::move(cluster);
            continue;
        }
        cluster->turn += done;
        if (cluster->turn < most && !turn.sleeps) {
            runner.resident.push_front(std::move(cluster));
            continue;
        }
        cluster->turn = 0;
        runner.resident.push_back(std::move(cluster));
        bool has_room = runner.launch.is_cooperative || runner.resident.size() < MOST_RESIDENT;
        if (runner.next_cluster < runner.cluster_count && has_room) runner.resident.push_front(start_next(runner, nullptr));
    }
    runner.status.finished = runner.finished;
}

}  // namespace machine

// ---- what Python calls

using namespace machine;

extern "C" {

Runner* machine_open(const Launch* launch) {
    OwnArithmetic ours;
    auto* runner = new Runner();
    runner->launch = *launch;
    runner->code.assign(launch->code, launch->code + launch->code_count);
    for (const Instruction& i : runner->code) runner->handlers.push_back(operations()[i.operation].handler_of(i));
    runner->fixed.assign(launch->fixed, launch->fixed + launch->fixed_count);
    runner->banks.assign(launch->banks, launch->banks + BANKS);
    runner->arrays.assign(launch->arrays, launch->arrays + launch->array_count);
    runner->last_array.resize(launch->site_count);
    runner->counts.resize(launch->site_count * (launch->array_count + MORE_COLUMNS));
    runner->begun.resize(launch->code_count + 1);
    runner->barriers.resize(launch->code_count);
    runner->cluster_count = total(launch->grid) / total(launch->cluster);
    return runner;
}

void machine_run(Runner* runner, int64_t instructions, Status* status) {
    advance(*runner, instructions);
    *status = runner->status;
}

// Counts by site and array; how often each instruction was executed; barriers met, by instruction.
void machine_read(const Runner* runner, Counts* counts, Executed* executed, uint64_t* barriers) {
    OwnArithmetic ours;
    std::copy(runner->counts.begin(), runner->counts.end(), counts);
    std::copy(runner->barriers.begin(), runner->barriers.end(), barriers);
    Executed now{};
    for (size_t n = 0; n < runner->code.size(); n++) {
        now.warps += runner->begun[n].warps;
        now.lanes += runner->begun[n].lanes;
        executed[n] = now;
        if (ends_line(runner->code[n])) now = Executed{};
    }
}

void machine_close(Runner* runner) { delete runner; }
}
