// What makes an unmodified .cu file C++17 for the CPU; the compiler reads it before each source.
//
// A CUDA thread is a fiber and a block runs on one OS thread, so __shared__ variables are
// thread_local ones and every barrier, shuffle and vote is a call that may switch fibers.
// WARP, lanes a warp, comes from the command line.
#pragma once
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernel_interface.h"

// ---- 1. words of the language

#define __global__ __attribute__((noinline, used))
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
// Inside a function thread_local implies static. Without constinit g++ guards a float4's by a flag,
// which a trace would take for shared memory.
#ifdef __clang__
#define __shared__ thread_local
#else
#define __shared__ __constinit thread_local
#endif
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

#define EMULATOR_INLINE static inline __attribute__((always_inline, unused))
// Default arguments: they give the line of the caller, not of this file.
#define EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

#include "vector_types.h"

#include "rounding.h"
#include "conversions.h"
#include "float_math.h"
#include "fast_math.h"
#include "integer_functions.h"
#include "video_instructions.h"

// ---- 2. who am I

#define EMULATOR_AXES(function) function(0), function(1), function(2)
#define threadIdx (::uint3{EMULATOR_AXES(emulator_thread_index)})
#define blockIdx (::uint3{EMULATOR_AXES(emulator_block_index)})
#define blockDim (::dim3(EMULATOR_AXES(emulator_block_size)))
#define gridDim (::dim3(EMULATOR_AXES(emulator_grid_size)))
static constexpr int warpSize = WARP;

// ---- 3. barriers

EMULATOR_INLINE void __syncthreads(EMULATOR_PLACE) {
    emulator_barrier(emulator::Operation::barrier, 0, {file, line});
}
EMULATOR_INLINE int __syncthreads_and(int predicate, EMULATOR_PLACE) {
    return emulator_barrier(emulator::Operation::barrier_and, predicate, {file, line});
}
EMULATOR_INLINE int __syncthreads_or(int predicate, EMULATOR_PLACE) {
    return emulator_barrier(emulator::Operation::barrier_or, predicate, {file, line});
}
EMULATOR_INLINE int __syncthreads_count(int predicate, EMULATOR_PLACE) {
    return emulator_barrier(emulator::Operation::barrier_count, predicate, {file, line});
}
// On one OS thread a block's memory is always in order; between blocks the hardware's own is enough.
EMULATOR_INLINE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EMULATOR_INLINE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
EMULATOR_INLINE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- 4. shuffles and votes

namespace emulator {

template <class T>
constexpr ValueType value_type = std::is_floating_point_v<T> ? ValueType::floating
                                 : std::is_signed_v<T>       ? ValueType::integer
                                                             : ValueType::unsigned_integer;

template <class T>
EMULATOR_INLINE uint64_t to_bits(T value) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
EMULATOR_INLINE T from_bits(uint64_t bits) {
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

template <class T>
EMULATOR_INLINE T shuffle(Operation operation, unsigned mask, T value, unsigned argument, int width,
                          Place place) {
    WarpCall call{operation, value_type<T>, sizeof(T), mask, argument, (unsigned)width, to_bits(value)};
    return from_bits<T>(emulator_warp_call(call, place));
}

EMULATOR_INLINE unsigned vote(Operation operation, unsigned mask, bool predicate, Place place) {
    WarpCall call{operation, ValueType::unsigned_integer, 4, mask, 0, WARP, predicate};
    return (unsigned)emulator_warp_call(call, place);
}

}  // namespace emulator

template <class T>
EMULATOR_INLINE T __shfl_sync(unsigned mask, T value, int source_lane, int width = WARP, EMULATOR_PLACE) {
    return emulator::shuffle(emulator::Operation::shuffle, mask, value, source_lane, width, {file, line});
}
template <class T>
EMULATOR_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = WARP, EMULATOR_PLACE) {
    return emulator::shuffle(emulator::Operation::shuffle_up, mask, value, delta, width, {file, line});
}
template <class T>
EMULATOR_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = WARP, EMULATOR_PLACE) {
    return emulator::shuffle(emulator::Operation::shuffle_down, mask, value, delta, width, {file, line});
}
template <class T>
EMULATOR_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = WARP, EMULATOR_PLACE) {
    return emulator::shuffle(emulator::Operation::shuffle_xor, mask, value, lane_mask, width, {file, line});
}
EMULATOR_INLINE unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_PLACE) {
    return emulator::vote(emulator::Operation::ballot, mask, predicate != 0, {file, line});
}
EMULATOR_INLINE int __any_sync(unsigned mask, int predicate, EMULATOR_PLACE) {
    return emulator::vote(emulator::Operation::any, mask, predicate != 0, {file, line});
}
EMULATOR_INLINE int __all_sync(unsigned mask, int predicate, EMULATOR_PLACE) {
    return emulator::vote(emulator::Operation::all, mask, predicate != 0, {file, line});
}
EMULATOR_INLINE void __syncwarp(unsigned mask = 0xffffffff, EMULATOR_PLACE) {
    emulator::vote(emulator::Operation::syncwarp, mask, false, {file, line});
}
// Which lanes run side by side is the hardware's affair; here, all that have not exited.
EMULATOR_INLINE unsigned __activemask() { return emulator_active_mask(); }

// ---- 5. memory

// Cache hints change no value.
template <class T> EMULATOR_INLINE T __ldg(const T* address) { return *address; }
template <class T> EMULATOR_INLINE T __ldca(const T* address) { return *address; }
template <class T> EMULATOR_INLINE T __ldcg(const T* address) { return *address; }
template <class T> EMULATOR_INLINE T __ldcs(const T* address) { return *address; }
template <class T> EMULATOR_INLINE T __ldcv(const T* address) { return *address; }
template <class T> EMULATOR_INLINE T __ldlu(const T* address) { return *address; }
template <class T> EMULATOR_INLINE void __stwb(T* address, T value) { *address = value; }
template <class T> EMULATOR_INLINE void __stcg(T* address, T value) { *address = value; }
template <class T> EMULATOR_INLINE void __stcs(T* address, T value) { *address = value; }
template <class T> EMULATOR_INLINE void __stwt(T* address, T value) { *address = value; }

namespace emulator {

// Replaces *address by change(*address) in one step; returns what was there before.
template <class T, class Change>
EMULATOR_INLINE T update(T* address, Change change) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomics work on 4 or 8 bytes");
    for (;;) {
        uint64_t before = emulator_atomic_load(address, sizeof(T));
        uint64_t after = to_bits<T>(change(from_bits<T>(before)));
        if (emulator_atomic_exchange_if(address, sizeof(T), before, after)) return from_bits<T>(before);
    }
}

template <class T> struct Same { typedef T type; };
template <class T> using same = typename Same<T>::type;  // keeps T from being deduced twice

}  // namespace emulator

#define EMULATOR_ATOMIC(name, result)                                         \
    template <class T>                                                        \
    EMULATOR_INLINE T name(T* address, emulator::same<T> value) {             \
        return emulator::update(address, [=](T old) -> T { return result; }); \
    }
EMULATOR_ATOMIC(atomicAdd, old + value)
EMULATOR_ATOMIC(atomicSub, old - value)
EMULATOR_ATOMIC(atomicMax, old < value ? value : old)
EMULATOR_ATOMIC(atomicMin, value < old ? value : old)
EMULATOR_ATOMIC(atomicExch, value)
EMULATOR_ATOMIC(atomicAnd, old & value)
EMULATOR_ATOMIC(atomicOr, old | value)
EMULATOR_ATOMIC(atomicXor, old ^ value)
EMULATOR_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMULATOR_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
template <class T>
EMULATOR_INLINE T atomicCAS(T* address, emulator::same<T> expected, emulator::same<T> value) {
    return emulator::update(address, [=](T old) -> T { return old == expected ? value : old; });
}

// ---- 6. stopping, and printing

#undef assert
#define assert(condition) \
    ((condition) ? (void)0 : emulator_fail("assertion `" #condition "` failed", {__FILE__, __LINE__}))
#define __trap() emulator_fail("__trap() was called", {__FILE__, __LINE__})
#define printf emulator_print

// ---- 7. the generated end of each translation unit

namespace emulator {
// Neither the wrapper nor what it reads is the kernel's.
template <class... Parameters, size_t... i>
__attribute__((noinline, no_sanitize("thread"))) void call(void (*kernel)(Parameters...), void* const* arguments,
                                                          std::index_sequence<i...>) {
    kernel(*static_cast<Parameters*>(arguments[i])...);
}
template <class... Parameters>
constexpr std::index_sequence_for<Parameters...> indices_of(void (*)(Parameters...)) { return {}; }
template <class... Parameters>
constexpr int parameters_of(void (*)(Parameters...)) { return sizeof...(Parameters); }
}  // namespace emulator

// EMULATOR_ENTRY(0, softmax<float, 256>): how the runtime calls the kernel, and what it takes.
#define EMULATOR_ENTRY(number, ...)                                                                     \
    EMULATOR_API __attribute__((no_sanitize("thread"))) void emulator_call_##number(void* const* arguments) { \
        emulator::call(__VA_ARGS__, arguments, emulator::indices_of(__VA_ARGS__));                      \
    }                                                                                                   \
    EMULATOR_API const int emulator_parameters_##number = emulator::parameters_of(__VA_ARGS__);         \
    EMULATOR_API const auto emulator_signature_##number = signature::Of<decltype(&__VA_ARGS__)>::table;
