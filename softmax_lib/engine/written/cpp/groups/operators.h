// What reductions and scans combine values by.
#pragma once
#include <utility>

#include "partitions.h"

namespace cooperative_groups {

template <class T> struct plus {
    __forceinline__ T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
    __forceinline__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
    __forceinline__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
    __forceinline__ T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
    __forceinline__ T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
    __forceinline__ T operator()(T a, T b) const { return a ^ b; }
};

namespace details {

// The instruction that reduces a warp's integers, for the operators that have one.
template <class Op, class T> constexpr auto reduction = emulator::Operation::poll;
template <class T> constexpr auto reduction<plus<T>, T> = emulator::Operation::reduce_add;
template <class T> constexpr auto reduction<less<T>, T> = emulator::Operation::reduce_min;
template <class T> constexpr auto reduction<greater<T>, T> = emulator::Operation::reduce_max;
template <class T> constexpr auto reduction<bit_and<T>, T> = emulator::Operation::reduce_and;
template <class T> constexpr auto reduction<bit_or<T>, T> = emulator::Operation::reduce_or;
template <class T> constexpr auto reduction<bit_xor<T>, T> = emulator::Operation::reduce_xor;
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

// An operator for another type would convert what it gets.
template <class Op, class T> constexpr bool takes = true;
template <class Other, class T> constexpr bool takes<plus<Other>, T> = std::is_same_v<Other, T>;
template <class Other, class T> constexpr bool takes<less<Other>, T> = std::is_same_v<Other, T>;
template <class Other, class T> constexpr bool takes<greater<Other>, T> = std::is_same_v<Other, T>;
template <class Other, class T> constexpr bool takes<bit_and<Other>, T> = std::is_same_v<Other, T>;
template <class Other, class T> constexpr bool takes<bit_or<Other>, T> = std::is_same_v<Other, T>;
template <class Other, class T> constexpr bool takes<bit_xor<Other>, T> = std::is_same_v<Other, T>;

template <class Group, class Op, class T>
__forceinline__ void check_collective() {
    static_assert(is_tile_or_lanes<Group>, "a tile or a coalesced_group is reduced or scanned, and no other group");
    static_assert(takes<Op, T>, "the operator is for another type than the value's");
    typedef std::decay_t<decltype(std::declval<Op>()(std::declval<T>(), std::declval<T>()))> Result;
    static_assert(std::is_same_v<Result, T> || !takes<Op, T>, "the operator gives another type than it takes");
}

}  // namespace details

}  // namespace cooperative_groups
