// Lanes of a warp that go on, wait for each other, and part.
#pragma once
#include "warp.h"

namespace machine {

inline int first_of(uint32_t lanes) { return __builtin_ctz(lanes); }
inline int count_of(uint32_t lanes) { return __builtin_popcount(lanes); }

// They can go on from an instruction.
void make_ready(Warp& w, int32_t at, uint32_t lanes);
// Those of `lanes` that waited go on, each where it wanted to; `apart` from others that are there.
void let_go(Warp& w, uint32_t lanes, bool apart = false);
// Lanes that have nobody to wait for any more go on; those that named some of `left_out` need not wait for these.
void release(Warp& w, uint32_t left_out = 0);
// For what, which of these, and where they go on.
void wait(Warp& w, uint32_t lanes, Wait what, uint32_t what_for, int32_t goes_on);
// The next ones that can go on are those at hand; false: there are none.
bool pick(Warp& w);

// Those of `lanes` that have the same key_of(lane) as the first of them.
template <class K> uint32_t alike(uint32_t lanes, K key_of) {
    auto key = key_of(first_of(lanes));
    return lanes_where(lanes, [&](int lane) { return key_of(lane) == key; });
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

}  // namespace machine
