// What shuffles, votes, matches and reductions give to each lane of a warp.
#pragma once
#include <algorithm>

#include "block.h"

namespace emulator {

// What the lanes of a warp gave, and what they get.
struct Exchange {
    uint64_t given[32];
    uint64_t received[32];
    int source[32];      // shuffles: the lane that it comes from; absent ones are not in `lanes`
    unsigned lanes;      // that take part
};

inline bool is_shuffle(Operation operation) {
    return operation >= Operation::shuffle && operation <= Operation::shuffle_xor;
}

// The lane that a shuffle reads. One outside of its segment is replaced by the caller's own.
inline int source_lane(const WarpCall& call, int lane, int warp_size) {
    int width = static_cast<int>(call.width), argument = static_cast<int>(call.argument);
    int segment = lane & ~(width - 1);
    int source = lane;
    switch (call.operation) {
        case Operation::shuffle: return segment + (argument & (width - 1));
        case Operation::shuffle_up: source = lane - argument; return source < segment ? lane : source;
        case Operation::shuffle_down: source = lane + argument; break;
        case Operation::shuffle_xor: source = lane ^ argument; break;
        default: return lane;
    }
    return source >= segment + width || source >= warp_size || source < 0 ? lane : source;
}

inline uint64_t vote(Operation operation, unsigned lanes, unsigned yes) {
    switch (operation) {
        case Operation::ballot: return yes;
        case Operation::any: return yes != 0;
        case Operation::all: return yes == lanes;
        default: return 0;
    }
}

template <class T>
inline uint64_t combine(Operation operation, uint64_t a, uint64_t b) {
    T left = static_cast<T>(a), right = static_cast<T>(b);
    switch (operation) {
        case Operation::reduce_add: return static_cast<uint64_t>(left) + static_cast<uint64_t>(right);
        case Operation::reduce_min: return static_cast<uint64_t>(std::min(left, right));
        case Operation::reduce_max: return static_cast<uint64_t>(std::max(left, right));
        case Operation::reduce_and: return a & b;
        case Operation::reduce_or: return a | b;
        default: return a ^ b;
    }
}

inline uint64_t combine(const WarpCall& call, uint64_t a, uint64_t b) {
    bool is_signed = call.type == ValueType::integer;
    if (call.size == 8) return is_signed ? combine<int64_t>(call.operation, a, b) : combine<uint64_t>(call.operation, a, b);
    uint64_t result = is_signed ? combine<int32_t>(call.operation, a, b) : combine<uint32_t>(call.operation, a, b);
    return static_cast<uint32_t>(result);
}

// Lanes that gave the same as `lane` did.
inline unsigned alike(const Exchange& made, int lane) {
    return lanes_where(made.lanes, [&](int other) { return made.given[other] == made.given[lane]; });
}

// What each lane gets that is the same for all: a vote's result, or a reduction's.
inline uint64_t joint_result(const Exchange& made, const WarpCall& call) {
    int first = __builtin_ctz(made.lanes);
    if (call.operation == Operation::match_all) return alike(made, first) == made.lanes ? made.lanes : 0;
    unsigned yes = 0;
    uint64_t reduced = made.given[first];
    for (int lane : EachLane{made.lanes}) {
        if (made.given[lane]) yes |= 1u << lane;
        if (lane != first) reduced = combine(call, reduced, made.given[lane]);
    }
    return call.operation >= Operation::reduce_add ? reduced : vote(call.operation, made.lanes, yes);
}

// `threads` are the warp's. Fills in what the call gives; a shuffle from a lane that takes no part
// gives the lane's own value, and `source` tells which it asked for.
inline void exchange(Exchange& made, const Thread* threads, unsigned lanes, int warp_size) {
    made.lanes = lanes;
    for (int lane : EachLane{lanes}) made.given[lane] = threads[lane].call->value;
    const WarpCall& first = *threads[__builtin_ctz(lanes)].call;
    bool is_joint = !is_shuffle(first.operation) && first.operation != Operation::match_any;
    uint64_t joint = is_joint ? joint_result(made, first) : 0;
    for (int lane : EachLane{lanes}) {
        made.source[lane] = lane;
        if (is_joint) {
            made.received[lane] = joint;
        } else if (first.operation == Operation::match_any) {
            made.received[lane] = alike(made, lane);
        } else {
            int source = made.source[lane] = source_lane(*threads[lane].call, lane, warp_size);
            made.received[lane] = made.given[lanes >> source & 1 ? source : lane];
        }
    }
}

}  // namespace emulator
