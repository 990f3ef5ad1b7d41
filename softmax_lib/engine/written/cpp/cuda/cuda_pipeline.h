// Copies from global to shared memory in batches, older than <cuda/pipeline>: ../copies.h says when they are made.
#pragma once
#include "../copies.h"
#include "cuda_awbarrier.h"

namespace emulator {

// All but the last `zeros` of its bytes are read; the rest become zeros. One store.
template <size_t size>
EMULATOR_INLINE void copy_with_zeros(void* destination, const void* source, size_t zeros) {
    char* to = static_cast<char*>(destination);
    const char* from = static_cast<const char*>(source);
    if (zeros == 0) return copy_unit<size>(to, from);
    alignas(16) char filled[size] = {};
    copy_around<4>(filled, from, size - zeros, 0, 1);
    copy_unit<size>(to, filled);
}

EMULATOR_INLINE void copy_for_pipeline(void* destination, const void* source, size_t size, size_t zeros, Place place) {
    if ((size != 4 && size != 8 && size != 16) || zeros > size) {
        emulator_fail("__pipeline_memcpy_async() copies 4, 8 or 16 bytes, of which it can leave out some", place);
    }
    InBackground copies;
    if (size == 16) return copy_with_zeros<16>(destination, source, zeros);
    if (size == 8) return copy_with_zeros<8>(destination, source, zeros);
    copy_with_zeros<4>(destination, source, zeros);
}

}  // namespace emulator

EMULATOR_INLINE void __pipeline_memcpy_async(void* __restrict__ destination, const void* __restrict__ source,
                                             size_t size_and_alignment, size_t zfill = 0, EMULATOR_PLACE) {
    emulator::copy_for_pipeline(destination, source, size_and_alignment, zfill, {file, line});
}
EMULATOR_INLINE void __pipeline_commit() { emulator_commit_copies(); }
EMULATOR_INLINE void __pipeline_wait_prior(size_t batches) { emulator_await_copies(batches, false); }
// The barrier waits for one arrival more, which comes with the copies: at once.
EMULATOR_INLINE void __pipeline_arrive_on(__mbarrier_t* barrier) { emulator_bind_copies(barrier); }

namespace nvcuda::experimental {

class pipeline {
public:
    pipeline() = default;
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    __forceinline__ size_t commit() {
        __pipeline_commit();
        return batches_++;
    }
    __forceinline__ void commit_and_wait() { wait(commit()); }
    __forceinline__ void wait(size_t batch) {
        if (batch < batches_) __pipeline_wait_prior(batches_ - batch - 1);
    }
    template <unsigned batches>
    __forceinline__ void wait_prior() { __pipeline_wait_prior(batches); }
    __forceinline__ void arrive_on(awbarrier& barrier) { emulator_bind_copies(&barrier); }

private:
    size_t batches_ = 0;
};

template <size_t elements, class T>
__forceinline__ auto segment(T* first) -> T (*)[elements] {
    return (T(*)[elements])first;
}

template <class T>
__forceinline__ void memcpy_async(T& destination, const T& source, pipeline&) {
    emulator::copy_alone<size_t>(&destination, &source, sizeof(T));
}
// What the source is shorter by becomes zeros.
template <class T, size_t to, size_t from>
__forceinline__ void memcpy_async(T (*destination)[to], const T (*source)[from], pipeline&, EMULATOR_PLACE) {
    constexpr size_t bytes = sizeof *destination;
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "segments of 4, 8 or 16 bytes are copied");
    static_assert(from <= to, "the source is not longer than the destination");
    emulator::copy_for_pipeline(destination, source, bytes, bytes - sizeof *source, {file, line});
}

}  // namespace nvcuda::experimental
