// Reductions over a tile or a coalesced group, in the order of a GPU: floats come out in the same bits.
#pragma once
#include "../../groups/collectives.h"

namespace cooperative_groups {

namespace details {

// Each lane adds what the lane half the tile away has, then a quarter, ...
template <class Tile, class T, class Op>
__forceinline__ T reduce_by_halves(const Tile& tile, T value, Op& op, emulator::Place place) {
    for (unsigned mask = tile.size() / 2; mask > 0; mask /= 2) {
        value = op(value, tile.shfl_xor(value, mask, place.file, place.line));
    }
    return value;
}

// The same among what the warps of a tile gave, for the warp `rank`.
template <class T, class Op>
__forceinline__ T reduce_warps(const uint64_t* given, unsigned warps, unsigned rank, Op& op) {
    T values[emulator::MOST_SEATS], combined[emulator::MOST_SEATS];
    for (unsigned i = 0; i < warps; i++) values[i] = emulator::from_bits<T>(given[i]);
    for (unsigned mask = warps / 2; mask > 0; mask /= 2) {
        for (unsigned i = 0; i < warps; i++) combined[i] = op(values[i], values[i ^ mask]);
        for (unsigned i = 0; i < warps; i++) values[i] = combined[i];
    }
    return values[rank];
}

template <unsigned Size, class Parent, class T, class Op>
__forceinline__ T reduce_group(const thread_block_tile<Size, Parent>& tile, T value, Op& op, emulator::Place place) {
    if constexpr (Size > EMULATOR_WARP) {
        auto warp = partitions::tile<EMULATOR_WARP, thread_block_tile<Size, Parent>>();
        value = reduce_group(warp, value, op, place);
        uint64_t all[emulator::MOST_SEATS];
        tile.give_warps(value, true, all, place);
        return reduce_warps<T>(all, tile.warps, tile.warp_rank(), op);
    } else if constexpr (Size >= 16 && has_instruction<std::decay_t<Op>, T>) {
        return reduce_by_instruction<std::decay_t<Op>>(tile.get_mask(), value, place);
    } else {
        return reduce_by_halves(tile, value, op, place);
    }
}

template <class T, class Op>
__forceinline__ T reduce_group(const coalesced_group& group, T value, Op& op, emulator::Place place) {
    if constexpr (has_instruction<std::decay_t<Op>, T>) {
        return reduce_by_instruction<std::decay_t<Op>>(group.get_mask(), value, place);
    } else {
        if (group.size() == EMULATOR_WARP) return reduce_by_halves(partitions::tile<EMULATOR_WARP, thread_block>(), value, op, place);
        T scanned = scan_by_doubling(group, value, op, place);
        return group.shfl(scanned, (int)group.size() - 1, place.file, place.line);
    }
}

}  // namespace details

template <class Group, class T, class Op>
__forceinline__ std::decay_t<T> reduce(const Group& group, T&& value, Op&& op, EMULATOR_PLACE) {
    details::check_collective<Group, std::decay_t<Op>, std::decay_t<T>>();
    return details::reduce_group(group, std::decay_t<T>(value), op, {file, line});
}

// One thread stores or combines the result, which nobody else gets.
template <class Group, class To, class T, class Op>
__forceinline__ void reduce_store_async(const Group& group, To&& to, T&& value, Op&& op, EMULATOR_PLACE) {
    auto result = reduce(group, value, op, file, line);
    if (group.thread_rank() != 0) return;
    if constexpr (std::is_pointer_v<std::decay_t<To>>) {
        *to = result;
    } else {
        to.store(result);
    }
}
template <class Group, class Atomic, class T, class Op>
__forceinline__ void reduce_update_async(const Group& group, Atomic&& atomic, T&& value, Op&& op, EMULATOR_PLACE) {
    auto result = reduce(group, value, op, file, line);
    if (group.thread_rank() == 0) details::combine_into(atomic, result, op);
}

}  // namespace cooperative_groups
