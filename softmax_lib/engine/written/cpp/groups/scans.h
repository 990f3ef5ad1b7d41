// The steps of a scan, in the order of a GPU.
#pragma once
#include "operators.h"

namespace cooperative_groups {
namespace details {

// Each thread adds what the thread one rank below has, then two, four, ... of those that there are.
template <class Group, class T, class Op>
__forceinline__ T scan_by_doubling(const Group& group, T value, Op& op, emulator::Place place) {
    unsigned rank = group.thread_rank(), threads = group.size();
    for (unsigned distance = 1; distance < threads; distance *= 2) {
        T below = group.shfl_up(value, distance, place.file, place.line);
        if (rank >= distance) value = op(value, below);
    }
    return value;
}

template <class Op, class T>
constexpr bool can_subtract = std::is_integral_v<T> && std::is_same_v<Op, plus<T>>;

// What the threads below have: nothing for the first, for which that is a zero.
template <class Op, class Group, class T>
__forceinline__ T exclude(const Group& group, T scanned, T value, emulator::Place place) {
    if constexpr (can_subtract<Op, T>) {
        return scanned - value;
    } else {
        T below = group.shfl_up(scanned, 1, place.file, place.line);
        return group.thread_rank() == 0 ? T{} : below;
    }
}

// Among what the warps of a tile gave: what those below the warp `rank` have.
template <class T, class Op>
__forceinline__ T scan_warps(const uint64_t* given, unsigned warps, unsigned rank, Op& op) {
    T values[emulator::MOST_SEATS];
    for (unsigned i = 0; i < warps; i++) values[i] = emulator::from_bits<T>(given[i]);
    for (unsigned distance = 1; distance < warps; distance *= 2) {
        for (unsigned i = warps; i-- > distance;) values[i] = op(values[i], values[i - distance]);
    }
    return rank == 0 ? T{} : values[rank - 1];
}

// Of a tile of several warps: first in each warp, then among the warps' last threads.
template <bool inclusive, class Group, class T, class Op>
__forceinline__ T scan_group(const Group& group, T value, Op& op, emulator::Place place) {
    typedef std::decay_t<Op> Operator;
    if constexpr (is_wide_tile<Group>) {
        auto warp = partitions::tile<EMULATOR_WARP, Group>();
        T scanned = scan_by_doubling(warp, value, op, place);
        uint64_t all[emulator::MOST_SEATS];
        bool is_last = warp.thread_rank() + 1 == warp.size();
        group.give_warps(scanned, is_last, all, place);
        T below = scan_warps<T>(all, group.warps, group.warp_rank(), op);
        if constexpr (!inclusive) {
            scanned = warp.shfl_up(scanned, 1, place.file, place.line);
            if (warp.thread_rank() == 0) return below;
        }
        return group.warp_rank() == 0 ? scanned : op(scanned, below);
    } else {
        T scanned = scan_by_doubling(group, value, op, place);
        if constexpr (inclusive) return scanned;
        return exclude<Operator>(group, scanned, value, place);
    }
}

// Replaces what an atomic holds by what the operator makes of it and `value`; returns what it held.
template <class Atomic, class T, class Op>
__forceinline__ T combine_into(Atomic& atomic, T value, Op& op) {
    T before = atomic.load();
    while (!atomic.compare_exchange_weak(before, op(before, value))) {
    }
    return before;
}

}  // namespace details
}  // namespace cooperative_groups
