// Copies that a GPU makes in the background, such as memcpy_async().
//
// Here they are made at once, in the order in which they are asked for, by the accesses of the thread
// that asks: a trace shows them at that line, and a wait for them has nothing to wait for. An x-ray is
// told when they begin and when they are waited for.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "kernel_interface.h"
#include "memory_functions.h"

namespace emulator {

// What is copied while there is one, until `barrier` lets go or, without one, its batch is waited for.
class InBackground {
public:
    explicit __forceinline__ InBackground(const void* barrier = nullptr) { emulator_begin_copies(barrier); }
    __forceinline__ ~InBackground() { emulator_end_copies(); }
};

// One load and one store.
template <size_t bytes>
EMULATOR_INLINE void copy_unit(char* to, const char* from) {
    *reinterpret_cast<Unit<bytes>*>(to) = *reinterpret_cast<const Unit<bytes>*>(from);
}

// Every `threads`-th unit from the `rank`-th on.
template <size_t bytes>
EMULATOR_INLINE void copy_units(char* to, const char* from, size_t units, unsigned rank, unsigned threads) {
    for (size_t i = rank; i < units; i += threads) copy_unit<bytes>(to + i * bytes, from + i * bytes);
}

// The share of the `rank`-th of `threads` threads: units in between, single bytes where they do not fit.
template <size_t unit>
EMULATOR_INLINE void copy_around(char* to, const char* from, size_t bytes, unsigned rank, unsigned threads) {
    size_t before = (unit - (uintptr_t)from % unit) % unit;
    if (before > bytes) before = bytes;
    size_t units = (bytes - before) / unit, done = before + units * unit;
    copy_units<1>(to, from, before, rank, threads);
    copy_units<unit>(to + before, from + before, units, rank, threads);
    copy_units<1>(to + done, from + done, bytes - done, rank, threads);
}

// Of what is known to be aligned to at least 4 bytes, units of as many, up to 16; else the largest
// that fit both addresses.
template <size_t alignment>
EMULATOR_INLINE void copy_share(void* destination, const void* source, size_t bytes, unsigned rank,
                                unsigned threads) {
    char* to = static_cast<char*>(destination);
    const char* from = static_cast<const char*>(source);
    if constexpr (alignment >= 4) {
        constexpr size_t unit = alignment < 16 ? alignment : 16;
        size_t units = bytes / unit;
        copy_units<unit>(to, from, units, rank, threads);
        copy_units<1>(to + units * unit, from + units * unit, bytes % unit, rank, threads);
    } else {
        uintptr_t apart = (uintptr_t)to ^ (uintptr_t)from;
        if (apart % 16 == 0 && bytes >= 16) {
            copy_around<16>(to, from, bytes, rank, threads);
        } else if (apart % 8 == 0 && bytes >= 8) {
            copy_around<8>(to, from, bytes, rank, threads);
        } else if (apart % 4 == 0 && bytes >= 4) {
            copy_around<4>(to, from, bytes, rank, threads);
        } else {
            copy_units<1>(to, from, bytes, rank, threads);
        }
    }
}

// How elements of type T are aligned, and what a size such as cuda::aligned_size_t<16> promises.
template <class T> constexpr size_t alignment_of = alignof(T);
template <> inline constexpr size_t alignment_of<void> = 1;
template <class Size, class = void> constexpr size_t promised_alignment = 1;
template <class Size> constexpr size_t promised_alignment<Size, decltype((void)Size::align)> = Size::align;
template <class T, class Size>
constexpr size_t known_alignment =
    alignment_of<T> > promised_alignment<Size> ? alignment_of<T> : promised_alignment<Size>;

// What each thread of a group copies of so many bytes, of which `Size` promises an alignment.
template <class Size, class Group, class T>
EMULATOR_INLINE void copy_by_group(const Group& group, T* destination, const T* source, size_t bytes,
                                   const void* barrier = nullptr) {
    InBackground copies(barrier);
    copy_share<known_alignment<T, Size>>(destination, source, bytes, (unsigned)group.thread_rank(), (unsigned)group.size());
}

// What a single thread does.
template <class Size, class T>
EMULATOR_INLINE void copy_alone(T* destination, const T* source, size_t bytes, const void* barrier = nullptr) {
    InBackground copies(barrier);
    copy_share<known_alignment<T, Size>>(destination, source, bytes, 0, 1);
}

}  // namespace emulator
