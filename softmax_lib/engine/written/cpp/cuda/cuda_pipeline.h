// Copies from global to shared memory in batches, older than <cuda/pipeline>.
#pragma once
#include "cuda_awbarrier.h"
#include "cuda_pipeline_primitives.h"

namespace nvcuda::experimental {

class pipeline {
public:
    pipeline() = default;
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;

    __forceinline__ size_t commit() { return batches_++; }
    __forceinline__ void commit_and_wait() { commit(); }
    __forceinline__ void wait(size_t) {}
    template <unsigned batches>
    __forceinline__ void wait_prior() {}
    __forceinline__ void arrive_on(awbarrier&) {}

private:
    size_t batches_ = 0;
};

template <size_t elements, class T>
__forceinline__ auto segment(T* first) -> T (*)[elements] {
    return (T(*)[elements])first;
}

template <class T>
__forceinline__ void memcpy_async(T& destination, const T& source, pipeline&) {
    emulator::copy_share<alignof(T)>(&destination, &source, sizeof(T), 0, 1);
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
