// What makes an unmodified .cu file C++17 for the CPU; the compiler reads it before each source.
//
// A CUDA thread is a fiber and a block runs on one OS thread, so __shared__ variables are
// thread_local ones and every barrier, shuffle and vote is a call that may switch fibers.
// WARP, lanes a warp, comes from the command line.
#pragma once
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmath>
#include <type_traits>

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

#include "device_math.h"

// ---- 2. who am I

// Blocks and grids have one dimension here.
#define threadIdx (::uint3{emulator_thread_index(), 0, 0})
#define blockIdx (::uint3{emulator_block_index(), 0, 0})
#define blockDim (::dim3(emulator_block_size()))
#define gridDim (::dim3(emulator_grid_size()))
static constexpr int warpSize = WARP;

// ---- 3. threads together, memory, atomics

#include "atomics.h"
#include "memory_functions.h"
#include "warp_functions.h"

// ---- 4. stopping, and printing

#undef assert
#define assert(condition) \
    ((condition) ? (void)0 : emulator_fail("assertion `" #condition "` failed", {__FILE__, __LINE__}))
#define __trap() emulator_fail("__trap() was called", {__FILE__, __LINE__})
#define printf emulator_print

// ---- 5. the generated end of each translation unit

// EMULATOR_ENTRY(softmax_naive, 4, (float*)a[0], (float*)a[1], (int)a[2], (int)a[3])
#define EMULATOR_ENTRY(kernel, parameters, ...)                                               \
    static_assert(emulator::parameters_of(kernel) == parameters,                              \
                  #kernel " is launched with " #parameters " arguments and takes another number"); \
    EMULATOR_API __attribute__((no_sanitize("thread"))) void emulator_call_##kernel(const int64_t* a) { \
        kernel(__VA_ARGS__);                                                                  \
    }

// `extern __shared__ float tile[];` inside a function declares a variable of another file, so it
// gets one under that symbol: the 48 KiB that a launch may have without asking for more. `initialise`
// is what the compilers call the function that sets its first values: it has none to set.
#define EMULATOR_DYNAMIC(name, initialise)                                                 \
    alignas(128) __attribute__((used)) thread_local float emulator_dynamic_##name[12288]   \
        __asm__(EMULATOR_SYMBOL(#name));                                                   \
    extern "C" __attribute__((used)) void emulator_initialise_##name() {}                  \
    __asm__(".globl " EMULATOR_SYMBOL(#initialise) "\n"                                    \
            ".set " EMULATOR_SYMBOL(#initialise) ", " EMULATOR_SYMBOL("emulator_initialise_" #name));

namespace emulator {
template <class... Parameters>
constexpr int parameters_of(void (*)(Parameters...)) {
    return sizeof...(Parameters);
}
}  // namespace emulator
