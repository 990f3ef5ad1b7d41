// What reductions and scans have in common: what they combine values by, and a scan's steps in the order of a GPU.
#pragma once
#include <utility>

#include "partitions.h"

namespace cooperative_groups {

// The operator, the instruction that reduces a warp's integers by it, and what it makes of a and b.
#define EMULATOR_OPERATORS(DO)                                                            \
    DO(plus, reduce_add, a + b) DO(less, reduce_min, b < a ? b : a) DO(greater, reduce_max, a < b ? b : a) \
    DO(bit_and, reduce_and, a & b) DO(bit_or, reduce_or, a | b) DO(bit_xor, reduce_xor, a ^ b)
#define EMULATOR_OPERATOR(name, instruction, result) \
    template <class T> struct name { __forceinline__ T operator()(T a, T b) const { return result; } };
EMULATOR_OPERATORS(EMULATOR_OPERATOR)

namespace details {

// An operator for another type would convert what it gets.
template <class Op, class T> constexpr bool takes = true;
template <class Op, class T> constexpr auto reduction = emulator::Operation::poll;
#define EMULATOR_FACTS(name, instruction, result)                                                       \
    template <class Other, class T> constexpr bool takes<name<Other>, T> = std::is_same_v<Other, T>;    \
    template <class T> constexpr auto reduction<name<T>, T> = emulator::Operation::instruction;
EMULATOR_OPERATORS(EMULATOR_FACTS)
template <class Op, class T>
constexpr bool has_instruction =
    std::is_integral_v<T> && sizeof(T) <= 4 && reduction<Op, T> != emulator::Operation::poll;

template <class Op, class T>
__forceinline__ T reduce_by_instruction(unsigned mask, T value, emulator::Place place) {
    typedef std::conditional_t<std::is_unsigned_v<T>, unsigned, int> Word;
    return static_cast<T>(emulator::reduce(reduction<Op, T>, mask, static_cast<Word>(value), place));
}

template <class Group> constexpr bool is_tile = false;
template <unsigned Size, class Parent> constexpr bool is_tile<thread_block_tile<Size, Parent>> = true;
template <class Group> constexpr bool is_wide_tile = false;
template <unsigned Size, class Parent> constexpr bool is_wide_tile<thread_block_tile<Size, Parent>> = (Size > EMULATOR_WARP);
template <class Group>
constexpr bool is_tile_or_lanes = is_tile<Group> || std::is_same_v<Group, coalesced_group>;

template <class Group, class Op, class T>
__forceinline__ void check_collective() {
    static_assert(is_tile_or_lanes<Group>, "a tile or a coalesced_group is reduced or scanned, and no other group");
    static_assert(takes<Op, T>, "the operator is for another type than the value's");
    typedef std::decay_t<decltype(std::declval<Op>()(std::declval<T>(), std::declval<T>()))> Result;
    static_assert(std::is_same_v<Result, T> || !takes<Op, T>, "the operator gives another type than it takes");
}

// ---- scans

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
