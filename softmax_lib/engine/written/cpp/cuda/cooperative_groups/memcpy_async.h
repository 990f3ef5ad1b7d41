// Copies by a whole group; copies.h says when they are made.
#pragma once
#include "../../copies.h"
#include "../../groups/partitions.h"

namespace cooperative_groups {

// `count` bytes.
template <class Group, class T, class Size>
__forceinline__ void memcpy_async(const Group& group, T* destination, const T* source, const Size& count) {
    emulator::copy_by_group<Size>(group, destination, source, (size_t)count);
    emulator_commit_copies();
}
// As many elements as both have.
template <class Group, class T, class To, class From>
__forceinline__ void memcpy_async(const Group& group, T* destination, const To& to, const T* source, const From& from) {
    size_t count = (size_t)to < (size_t)from ? (size_t)to : (size_t)from;
    emulator::copy_by_group<To>(group, destination, source, count * sizeof(T));
    emulator_commit_copies();
}

template <class Group>
__forceinline__ void wait(const Group& group, EMULATOR_PLACE) {
    emulator_await_copies(0, false);
    group.sync(file, line);
}
template <unsigned stages, class Group>
__forceinline__ void wait_prior(const Group& group, EMULATOR_PLACE) {
    emulator_await_copies(stages, false);
    group.sync(file, line);
}

}  // namespace cooperative_groups
