// Parts of groups, and what works on a group of any type.
#pragma once
#include "tiles.h"

namespace cooperative_groups {

class partitions {
public:
    template <unsigned Size, class Parent>
    static __forceinline__ thread_block_tile<Size, Parent> tile() {
        return thread_block_tile<Size, Parent>();
    }
    static __forceinline__ coalesced_group by_label(unsigned mask, unsigned same, emulator::Place place) {
        unsigned lane = emulator::lane_of_warp(), leader = (unsigned)__builtin_ctz(same);
        unsigned leaders = __ballot_sync(mask, lane == leader, place.file, place.line);
        return coalesced_group::of(same, emulator::rank_of_lane(leaders, leader), (unsigned)__builtin_popcount(leaders));
    }
    // Without a division where all agree.
    static __forceinline__ coalesced_group by_predicate(unsigned mask, bool predicate, emulator::Place place) {
        unsigned yes = __ballot_sync(mask, predicate, place.file, place.line), no = mask & ~yes;
        if (!yes || !no) return coalesced_group::of(mask);
        return coalesced_group::of(predicate ? yes : no, predicate, 2);
    }
    template <class Label>
    static __forceinline__ coalesced_group by(unsigned mask, Label label, emulator::Place place) {
        static_assert(std::is_integral_v<Label> || std::is_pointer_v<Label>, "a label is an integer or a pointer");
        if constexpr (std::is_same_v<Label, bool>) {
            return by_predicate(mask, label, place);
        } else if constexpr (std::is_pointer_v<Label>) {
            return by(mask, (unsigned long long)label, place);
        } else {
            return by_label(mask, __match_any_sync(mask, label, place.file, place.line), place);
        }
    }
};

// ---- parts of `size` threads

template <unsigned Size, class Parent>
__forceinline__ thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
    return partitions::tile<Size, Parent>();
}
template <unsigned Size, unsigned ParentSize, class Grandparent>
__forceinline__ thread_block_tile<Size, thread_block_tile<ParentSize, Grandparent>> tiled_partition(
    const thread_block_tile<ParentSize, Grandparent>&) {
    static_assert(Size < ParentSize, "a part has fewer threads than the whole");
    return partitions::tile<Size, thread_block_tile<ParentSize, Grandparent>>();
}

__forceinline__ thread_block_tile<1> this_thread() {
    return partitions::tile<1, thread_block_tile<1, thread_block>>();
}

__forceinline__ void check_tile_size(unsigned size, emulator::Place place) {
    if (size == 0 || size > EMULATOR_WARP || (size & (size - 1))) {
        emulator_fail("tiled_partition() takes a power of two up to the size of a warp", place);
    }
}

// By rank: the first `size` lanes of the group are the first part.
__forceinline__ coalesced_group tiled_partition(const coalesced_group& parent, unsigned size, EMULATOR_PLACE) {
    check_tile_size(size, {file, line});
    unsigned threads = parent.num_threads();
    if (threads <= size) return parent;
    unsigned mask = 0, part = parent.thread_rank() / size;
    for (unsigned rank = part * size; rank < (part + 1) * size && rank < threads; rank++) {
        mask |= 1u << emulator::lane_of_rank(parent.lanes_.mask, rank);
    }
    bool is_tile = parent.lanes_.is_tile;
    return coalesced_group::of(mask, part, is_tile ? threads / size : (threads + size - 1) / size, is_tile);
}

__forceinline__ thread_group tiled_partition(const thread_group& parent, unsigned size, EMULATOR_PLACE) {
    check_tile_size(size, {file, line});
    if (parent.kind_ == thread_group::Kind::lanes) {
        return tiled_partition(coalesced_group(parent.lanes_), size, file, line);
    }
    if (parent.kind_ != thread_group::Kind::block) {
        emulator_fail("tiled_partition() takes a block or a part of one", {file, line});
    }
    unsigned thread = emulator::thread_of_block(), threads = emulator::block_threads();
    unsigned rest = threads - (thread & ~(size - 1)), there = rest < size ? rest : size;
    unsigned mask = ~0u >> (32 - there) << (emulator::lane_of_warp() & ~(size - 1));
    return coalesced_group::of(mask, thread / size, (threads + size - 1) / size, true);
}

// ---- parts by what their threads say

template <class Label>
__forceinline__ coalesced_group labeled_partition(const coalesced_group& group, Label label, EMULATOR_PLACE) {
    return partitions::by(group.get_mask(), label, {file, line});
}
template <class Label, unsigned Size, class Parent>
__forceinline__ coalesced_group labeled_partition(const thread_block_tile<Size, Parent>& tile, Label label,
                                                  EMULATOR_PLACE) {
    static_assert(Size <= EMULATOR_WARP, "labeled_partition() takes a tile of one warp");
    return partitions::by(tile.get_mask(), label, {file, line});
}
__forceinline__ coalesced_group binary_partition(const coalesced_group& group, bool predicate, EMULATOR_PLACE) {
    return partitions::by_predicate(group.get_mask(), predicate, {file, line});
}
template <unsigned Size, class Parent>
__forceinline__ coalesced_group binary_partition(const thread_block_tile<Size, Parent>& tile, bool predicate,
                                                 EMULATOR_PLACE) {
    static_assert(Size <= EMULATOR_WARP, "binary_partition() takes a tile of one warp");
    return partitions::by_predicate(tile.get_mask(), predicate, {file, line});
}

// ---- any group

template <class Group>
__forceinline__ void sync(const Group& group, EMULATOR_PLACE) {
    group.sync(file, line);
}
template <class Group>
__forceinline__ auto thread_rank(const Group& group) {
    return group.thread_rank();
}
template <class Group>
__forceinline__ auto group_size(const Group& group) {
    return group.num_threads();
}

// ---- one thread of a group does something for all

// Which thread that is is up to the GPU; here it is the first.
template <class Group, class Function, class... Arguments>
__forceinline__ void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
    if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}

// An overload for each number of arguments, since nothing can follow a list of any length.
#define EMULATOR_INVOKE(types, parameters, arguments)                                                   \
    template <class Group, class Function EMULATOR_LIST types>                                          \
    __forceinline__ auto invoke_one_broadcast(const Group& group, Function&& function EMULATOR_LIST parameters, \
                                              EMULATOR_PLACE) {                                         \
        typedef std::decay_t<decltype(function arguments)> Result;                                      \
        static_assert(!std::is_void_v<Result>, "what returns nothing is for invoke_one()");             \
        Result result{};                                                                                \
        if (group.thread_rank() == 0) result = function arguments;                                      \
        return group.shfl(result, 0, file, line);                                                       \
    }
#define EMULATOR_LIST(...) __VA_OPT__(, ) __VA_ARGS__
EMULATOR_INVOKE((), (), ())
EMULATOR_INVOKE((class A), (A&& a), (static_cast<A&&>(a)))
EMULATOR_INVOKE((class A, class B), (A&& a, B&& b), (static_cast<A&&>(a), static_cast<B&&>(b)))
EMULATOR_INVOKE((class A, class B, class C), (A&& a, B&& b, C&& c),
                (static_cast<A&&>(a), static_cast<B&&>(b), static_cast<C&&>(c)))

}  // namespace cooperative_groups
