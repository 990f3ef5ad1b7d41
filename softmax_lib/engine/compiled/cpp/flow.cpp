// Branches, and where lanes that parted meet again.
#include <algorithm>

#include "lanes.h"
#include "run.h"
#include "waiting.h"

namespace machine {

namespace {

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
        for (int lane : EachLane{together}) w.meeting[lane] = number;
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
    uint32_t come = lanes_where(w.active, [&](int lane) { return meeting_here(w, lane) >= 0; });
    each_key(come, [&](int lane) { return w.meeting[lane]; }, [&](int32_t number, uint32_t together) {
        wait(w, together, Wait::MEETING, static_cast<uint32_t>(number), here);
    });
    if (w.active) w.at = here + 1;
    if (come) release(w);
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
    for (int lane : EachLane{lanes}) {
        uint32_t all = w.members[number][lane];
        for (int member : EachLane{all}) {
            uint32_t& members = w.members[number][member];
            if (members == all) members = all & ~lanes;
        }
    }
    w.at++;
    if (lanes) release(w);
}

// Each lane waits for those that it names, in row a. Variant bit 0: those that name others do what follows apart from them.
void sync_warp(Warp& w, const Instruction& i, uint32_t lanes, Wait what) {
    int32_t next = w.at + 1;
    auto named_by = [&, named = w.row(i.a)](int lane) { return named[lane] ^ i.flip[0]; };
    bool goes_on = lanes == w.active;
    each_key(lanes, named_by, [&](uint32_t named, uint32_t together) {
        goes_on = goes_on && (named & w.live) == together && (together == lanes || !(i.variant & 1));
    });
    if (!goes_on) {
        each_key(lanes, named_by, [&](uint32_t named, uint32_t together) { wait(w, together, what, named, next); });
    }
    if (w.active) w.at = next;
    if (!goes_on) release(w);
}

// Whether those whose guard is true are all that row a names: code asks so, before it parts, whether they agree.
bool are_converged(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t named = w.row(i.a)[first_of(w.active)] ^ i.flip[0];
    return (named & w.live) == lanes;
}

}  // namespace

void flow(Runner& runner, Warp& w, const Instruction& i, uint32_t lanes) {
    switch (static_cast<FlowOperation>(i.operation)) {
        case BRANCH: return branch(w, lanes & w.predicate_of(i.s, i.s_flip), i.target);
        case BRANCH_IF_DIVERGED: return branch(w, lanes && !are_converged(w, i, lanes) ? w.active : 0, i.target);
        case BRANCH_IF_CONVERGED: return branch(w, are_converged(w, i, lanes) ? lanes : 0, i.target);
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
        case WARP_SYNC: return sync_warp(w, i, lanes, Wait::WARP_SYNC);
        case COLLECT:
            put_word(w.returns, lanes, i.target);
            return sync_warp(w, i, lanes, Wait::COLLECTIVE);
        case END_COLLECT: return part(w, lanes, [&](int lane) { return w.returns[lane]; });
        case BLOCK_BARRIER:
            if (lanes != w.active) {  // of the others none is stopped
                make_ready(w, w.at + 1, w.active & ~lanes);
                w.active = lanes;
            }
            if (!lanes) return void(pick(w));
            return arrive_at_block(runner, w, i, lanes);
        case PART: return part_until(w, lanes & w.predicate_of(i.s, i.s_flip), i.target, i.offset);
        case EXPECT:
            if (i.offset >= 0) expect(w, w.active, i.offset);
            w.at++;
            return;
        case MEET: return meet(w);
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

}  // namespace machine
