// Scans over a tile or a coalesced group: to each thread what it and those before it have.
#pragma once
#include "../../groups/collectives.h"

namespace cooperative_groups {

template <class Group, class T, class Op>
__forceinline__ std::decay_t<T> inclusive_scan(const Group& group, T&& value, Op&& op, EMULATOR_PLACE) {
    details::check_collective<Group, std::decay_t<Op>, std::decay_t<T>>();
    return details::scan_group<true>(group, std::decay_t<T>(value), op, {file, line});
}
template <class Group, class T, class Op>
__forceinline__ std::decay_t<T> exclusive_scan(const Group& group, T&& value, Op&& op, EMULATOR_PLACE) {
    details::check_collective<Group, std::decay_t<Op>, std::decay_t<T>>();
    return details::scan_group<false>(group, std::decay_t<T>(value), op, {file, line});
}
template <class Group, class T>
__forceinline__ std::decay_t<T> inclusive_scan(const Group& group, T&& value, EMULATOR_PLACE) {
    return inclusive_scan(group, value, plus<std::decay_t<T>>(), file, line);
}
template <class Group, class T>
__forceinline__ std::decay_t<T> exclusive_scan(const Group& group, T&& value, EMULATOR_PLACE) {
    return exclusive_scan(group, value, plus<std::decay_t<T>>(), file, line);
}

namespace details {

// A scan behind what an atomic holds, to which all of the group's values are added.
template <bool inclusive, class Group, class Atomic, class T, class Op>
__forceinline__ T scan_update(const Group& group, Atomic& atomic, T value, Op& op, emulator::Place place) {
    check_collective<Group, std::decay_t<Op>, T>();
    static_assert(!is_wide_tile<Group>, "the emulator updates an atomic from a tile of one warp");
    T scanned = scan_by_doubling(group, value, op, place), before{};
    unsigned last = group.size() - 1;
    if (group.thread_rank() == last) before = combine_into(atomic, scanned, op);
    before = group.shfl(before, (int)last, place.file, place.line);
    if constexpr (!inclusive) scanned = exclude<std::decay_t<Op>>(group, scanned, value, place);
    return op(before, scanned);
}

}  // namespace details

template <class Group, class Atomic, class T, class Op>
__forceinline__ std::decay_t<T> inclusive_scan_update(const Group& group, Atomic&& atomic, T&& value, Op&& op,
                                                      EMULATOR_PLACE) {
    return details::scan_update<true>(group, atomic, std::decay_t<T>(value), op, {file, line});
}
template <class Group, class Atomic, class T, class Op>
__forceinline__ std::decay_t<T> exclusive_scan_update(const Group& group, Atomic&& atomic, T&& value, Op&& op,
                                                      EMULATOR_PLACE) {
    return details::scan_update<false>(group, atomic, std::decay_t<T>(value), op, {file, line});
}
template <class Group, class Atomic, class T>
__forceinline__ std::decay_t<T> inclusive_scan_update(const Group& group, Atomic&& atomic, T&& value,
                                                      EMULATOR_PLACE) {
    return inclusive_scan_update(group, atomic, value, plus<std::decay_t<T>>(), file, line);
}
template <class Group, class Atomic, class T>
__forceinline__ std::decay_t<T> exclusive_scan_update(const Group& group, Atomic&& atomic, T&& value,
                                                      EMULATOR_PLACE) {
    return exclusive_scan_update(group, atomic, value, plus<std::decay_t<T>>(), file, line);
}

}  // namespace cooperative_groups
