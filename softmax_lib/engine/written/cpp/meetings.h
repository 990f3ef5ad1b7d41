// Threads of a block that wait for one another in ways that the runtime does not know: tiles of
// several warps, numbered barriers, lanes that happen to be at the same line.
//
// A thread that waits describes itself in a variable on its own stack, and all of these form a list:
// whoever comes last finds what the others gave, writes what they get, and lets them go. One block
// runs on one OS thread, so nothing here is ever changed by two at once.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "kernel_interface.h"

// Not seen by a trace: what is read and written there is the emulator's, not the kernel's.
#define EMULATOR_UNSEEN static __attribute__((noinline, unused, no_sanitize("thread")))

namespace emulator {

EMULATOR_INLINE unsigned thread_of_block() {
    return emulator_thread_index(0) +
           emulator_block_size(0) * (emulator_thread_index(1) + emulator_block_size(1) * emulator_thread_index(2));
}
EMULATOR_INLINE unsigned block_threads() {
    return emulator_block_size(0) * emulator_block_size(1) * emulator_block_size(2);
}
EMULATOR_INLINE unsigned lane_of_warp() { return thread_of_block() % EMULATOR_WARP; }

enum class MeetingKind : uint8_t { barrier, tile, lanes };

constexpr unsigned ALL_LANES = ~0u >> (32 - EMULATOR_WARP);
constexpr int MOST_SEATS = 32;  // a tile has at most as many warps
constexpr int NO_SEAT = -1;

// One thread that waits. Threads meet whose `kind` and `number` are the same, and lanes only at the
// same line. The last that came speaks for those that came before.
struct Waiting {
    MeetingKind kind;
    unsigned number;
    unsigned expected;     // threads
    Place place;
    unsigned thread;
    int seat = NO_SEAT;    // where what it gives goes in everybody's `all`
    uint64_t given = 0;
    uint64_t* all = nullptr;
    unsigned lanes = 0;    // those that have met
    bool is_over = false;
    unsigned there = 1;          // of those who meet
    Waiting* before = nullptr;   // who came before
    Waiting* next = nullptr;     // the last of another meeting
};

// What a block has for all of its threads. It is shared memory, so that each block has its own; what
// it starts with depends on the system, hence the mark.
struct BlockState {
    uint64_t mark;
    Waiting* meetings;                  // the last who came to each
    unsigned gatherings[1024 / EMULATOR_WARP];   // of lanes, that are over, by warp
    uint64_t phase;                     // of the barrier that threads arrive at and wait for apart
    unsigned arrived;
    // What a thread waits for at the barrier of its cluster: the runtime's number of it. At most two
    // are under way in a block, and a bit says at which of them a thread is.
    uint64_t cluster_arrivals[2];
    uint64_t is_odd[1024 / 64];
};

EMULATOR_UNSEEN BlockState& block_state() {
    static __shared__ BlockState emulator_hidden_state;
    constexpr uint64_t mark = 0x656d756c61746f72;
    if (emulator_hidden_state.mark != mark) {
        // Word by word: a trace sees what memset() touches.
        uint64_t* words = reinterpret_cast<uint64_t*>(&emulator_hidden_state);
        for (size_t i = 0; i < sizeof emulator_hidden_state / sizeof *words; i++) words[i] = 0;
        emulator_hidden_state.mark = mark;
    }
    return emulator_hidden_state;
}

EMULATOR_UNSEEN bool is_same_place(Place a, Place b) {
    return a.line == b.line && (a.file == b.file || __builtin_strcmp(a.file, b.file) == 0);
}

EMULATOR_UNSEEN bool belongs_to(const Waiting& one, const Waiting& other) {
    return one.kind == other.kind && one.number == other.number &&
           (one.kind != MeetingKind::lanes || is_same_place(one.place, other.place));
}

// Where the meeting of `mine` is in the list of meetings, or its end.
EMULATOR_UNSEEN Waiting** find_meeting(const Waiting& mine) {
    Waiting** link = &block_state().meetings;
    while (*link && !belongs_to(**link, mine)) link = &(*link)->next;
    return link;
}

// Lets all go that `mine` meets, which it is one of.
EMULATOR_UNSEEN void end_meeting(const Waiting& mine) {
    MeetingKind kind = mine.kind;
    Waiting** link = find_meeting(mine);
    Waiting* last = *link;
    *link = last->next;
    unsigned lanes = 0, warps = 0;
    uint64_t all[MOST_SEATS];
    for (const Waiting* one = last; one; one = one->before) {
        lanes |= 1u << one->thread % EMULATOR_WARP;
        warps |= 1u << one->thread / EMULATOR_WARP;
        if (one->seat != NO_SEAT) all[one->seat] = one->given;
    }
    for (Waiting* one = last; one; one = one->before) {
        one->lanes = lanes;
        for (int i = 0; one->all && i < MOST_SEATS; i++) one->all[i] = all[i];
        one->is_over = true;
    }
    // Lanes that are at the same line are not ordered by that.
    emulator_meet_warps(kind == MeetingKind::lanes ? 0 : warps);
}

EMULATOR_UNSEEN void join(Waiting& mine) {
    Waiting** link = find_meeting(mine);
    if (Waiting* last = *link) {
        mine.before = last;
        mine.there = last->there + 1;
        mine.next = last->next;
    }
    *link = &mine;
    if (mine.there == mine.expected) end_meeting(mine);
}

// Waits for `expected` threads. What those with a seat give is then in everybody's `all`, which
// has MOST_SEATS places.
EMULATOR_INLINE void meet(MeetingKind kind, unsigned number, unsigned expected, Place place,
                          int seat = NO_SEAT, uint64_t given = 0, uint64_t* all = nullptr) {
    Waiting mine{kind, number, expected, place, thread_of_block(), seat, given, all};
    join(mine);
    while (!mine.is_over) emulator_poll(place);
}

// Lets the lanes go that are at the line of `mine`, unless others of the warp wait at an earlier one,
// or have just been let go and may come here.
EMULATOR_UNSEEN void end_gathering(Waiting& mine, unsigned seen) {
    BlockState& state = block_state();
    if (state.gatherings[mine.number] != seen) return;
    for (const Waiting* other = state.meetings; other; other = other->next) {
        if (other->kind == mine.kind && other->number == mine.number && other->place.line < mine.place.line) return;
    }
    state.gatherings[mine.number]++;
    end_meeting(mine);
}

EMULATOR_UNSEEN unsigned gatherings_of(unsigned warp) { return block_state().gatherings[warp]; }

// The lanes of the warp that come to this line before they have to wait for something else. A poll
// lets all others run as far as they can. Then those at the first line go on, as the hardware lets
// the branches of an if end before it goes on behind it.
EMULATOR_INLINE unsigned gather_lanes(Place place) {
    Waiting mine{MeetingKind::lanes, thread_of_block() / EMULATOR_WARP, 0, place, thread_of_block()};
    join(mine);
    while (!mine.is_over) {
        unsigned seen = gatherings_of(mine.number);
        emulator_poll(place);
        if (!mine.is_over) end_gathering(mine, seen);
    }
    return mine.lanes;
}

// ---- the block's barrier in two halves

EMULATOR_UNSEEN uint64_t arrive_at_block(unsigned threads) {
    BlockState& state = block_state();
    emulator_arrive_at(&state);
    uint64_t phase = state.phase;
    if (++state.arrived == threads) {
        state.arrived = 0;
        state.phase++;
        emulator_end_phase(&state);
    }
    return phase;
}

EMULATOR_UNSEEN uint64_t phase_of_block() {
    emulator_take_over(&block_state());
    return block_state().phase;
}

// ---- the cluster's

EMULATOR_UNSEEN void keep_cluster_arrival(unsigned thread, uint64_t arrival) {
    BlockState& state = block_state();
    uint64_t bit = uint64_t(1) << thread % 64;
    uint64_t& word = state.is_odd[thread / 64];
    word ^= bit;
    state.cluster_arrivals[(word & bit) != 0] = arrival;
}

EMULATOR_UNSEEN uint64_t cluster_arrival(unsigned thread) {
    BlockState& state = block_state();
    return state.cluster_arrivals[state.is_odd[thread / 64] >> thread % 64 & 1];
}

EMULATOR_INLINE void arrive_at_cluster(Place place) {
    keep_cluster_arrival(thread_of_block(), emulator_arrive(Operation::cluster_barrier, place));
}
EMULATOR_INLINE void wait_for_cluster(Place place) {
    emulator_wait(Operation::cluster_barrier, cluster_arrival(thread_of_block()), place);
}

}  // namespace emulator
