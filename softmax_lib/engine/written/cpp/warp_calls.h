// What shuffles, votes, matches and reductions give to each lane of a warp.
#pragma once
#include "block.h"

namespace emulator {

// What the lanes of a warp gave, and what they get.
struct Exchange {
    uint64_t given[32];
    uint64_t received[32];
    int source[32];      // shuffles: the lane that it comes from; absent ones are not in `lanes`
    unsigned lanes;      // that take part
};

// `threads` are the warp's. Fills in what the call gives; a shuffle from a lane that takes no part
// gives the lane's own value, and `source` tells which it asked for.
void exchange(Exchange& made, const Thread* threads, unsigned lanes, int warp_size);

inline bool is_shuffle(Operation operation) {
    return operation >= Operation::shuffle && operation <= Operation::shuffle_xor;
}

}  // namespace emulator
