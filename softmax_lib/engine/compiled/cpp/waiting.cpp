#include "waiting.h"

#include "lanes.h"

namespace machine {

void make_ready(Warp& w, int32_t at, uint32_t lanes) {
    for (Group& group : w.ready) {
        if (group.at == at) {
            group.lanes |= lanes;
            return;
        }
    }
    w.ready.push_back({at, lanes});
}

void let_go(Warp& w, uint32_t lanes, bool apart) {
    w.waiting &= ~lanes;
    w.at_barrier &= ~lanes;
    while (lanes) {
        int32_t at = w.goes_on[first_of(lanes)];
        uint32_t together = lanes & lanes_with(w.goes_on, at);
        if (apart) w.ready.push_back({at, together});
        else make_ready(w, at, together);
        lanes &= ~together;
    }
}

// Whether all of `lanes` wait for the same as `lane` does: a function that calls itself has a barrier's number again and
// again, each time for other lanes.
static bool all_wait(const Warp& w, uint32_t lanes, int lane) {
    if (lanes & ~w.waiting) return false;
    uint32_t like = lanes_with(w.waits, w.waits[lane]) & lanes_with(w.waits_for, w.waits_for[lane]);
    if (w.waits[lane] == Wait::CONVERGENCE) {
        const uint32_t* members = w.members[w.waits_for[lane]];
        like &= lanes_with(members, members[lane]);
    }
    return !(lanes & ~like);
}

// All have come: the next meeting is the one around it.
static void end_meeting(Warp& w, uint32_t number) {
    Meeting& met = w.meetings[number];
    for (int lane : EachLane{met.lanes}) w.meeting[lane] = met.outer;
    met.lanes = 0;
    while (!w.meetings.empty() && !w.meetings.back().lanes) w.meetings.pop_back();
}

void release(Warp& w, uint32_t left_out) {
    for (int lane : EachLane{w.waiting}) {
        if (!(w.waiting >> lane & 1)) continue;  // it went on with one before
        uint32_t expected;
        switch (w.waits[lane]) {
            case Wait::CONVERGENCE: expected = w.members[w.waits_for[lane]][lane]; break;
            case Wait::WARP_SYNC:
            case Wait::COLLECTIVE: expected = w.waits_for[lane] & ~left_out; break;
            case Wait::MEETING: expected = w.meetings[w.waits_for[lane]].lanes; break;
            default: continue;
        }
        expected = (expected & w.live) | 1u << lane;
        if (!all_wait(w, expected, lane)) continue;
        // they do it together, at one of the places where they are
        if (w.waits[lane] == Wait::COLLECTIVE) put_word(w.goes_on, expected, w.goes_on[lane]);
        if (w.waits[lane] == Wait::MEETING) end_meeting(w, w.waits_for[lane]);
        let_go(w, expected, w.waits[lane] == Wait::WARP_SYNC || w.waits[lane] == Wait::COLLECTIVE);
    }
}

void wait(Warp& w, uint32_t lanes, Wait what, uint32_t what_for, int32_t goes_on) {
    put_word(w.waits, lanes, what);
    put_word(w.waits_for, lanes, what_for);
    put_word(w.goes_on, lanes, goes_on);
    (what == Wait::BLOCK ? w.at_barrier : w.waiting) |= lanes;
    w.active &= ~lanes;
}

bool pick(Warp& w) {
    if (w.ready.empty()) return false;
    w.at = w.ready.back().at;
    w.active = w.ready.back().lanes;
    w.ready.pop_back();
    return true;
}

}  // namespace machine
