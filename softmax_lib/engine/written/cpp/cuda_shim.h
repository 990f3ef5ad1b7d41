// What makes an unmodified .cu file C++17 for the CPU; the compiler reads it before each source.
//
// A CUDA thread is a fiber and a block runs on one OS thread, so __shared__ variables are
// thread_local ones and every barrier, shuffle and vote is a call that may switch fibers.
// EMULATOR_WARP, lanes a warp, comes from the command line.
#pragma once
// Not libstdc++'s special functions of C++17, which no GPU has: g++ would make all of them anew with each kernel.
#define _GLIBCXX_BITS_SPECFUN_H 1
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernel_interface.h"

// ---- 1. words of the language

// What NVIDIA's compilers define: a kernel is compiled as for an H100 or H200.
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000

#define __global__ __attribute__((noinline, used))
#define __device__
#define __host__
#define __constant__ __attribute__((visibility("protected")))  // a mark, which dwarf.py reads
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
// Inside a function thread_local implies static. Without constinit g++ guards a float4's by a flag,
// which a trace would take for shared memory. And what nobody writes is used, or it would be zeros
// that nobody reads.
#ifdef __clang__
#define __shared__ __attribute__((used)) thread_local
#else
#define __shared__ __attribute__((used)) __constinit thread_local
#endif
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict
#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

#define EMULATOR_INLINE static inline __attribute__((always_inline, unused, no_sanitize("float-cast-overflow")))
// Default arguments: they give the line of the caller, not of this file.
#define EMULATOR_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()
#if defined(__clang__)
#define EMULATOR_COLUMN int column = __builtin_COLUMN()
#elif __GNUC__ >= 11
// What g++ looks for when it is asked where something is.
namespace std {
struct source_location {
    struct __impl {
        const char *_M_file_name, *_M_function_name;
        unsigned _M_line, _M_column;
    };
};
}  // namespace std
#define EMULATOR_COLUMN \
    int column = (int)static_cast<const std::source_location::__impl*>(__builtin_source_location())->_M_column
#else
#define EMULATOR_COLUMN int column = 0
#endif

#include "shifts.h"
#include "vector_types.h"

#include "rounding.h"
#include "float_math.h"
#include "integer_functions.h"
#include "video_instructions.h"

// ---- 2. who am I

#define EMULATOR_AXES(function) function(0), function(1), function(2)
#define threadIdx (::uint3{EMULATOR_AXES(emulator_thread_index)})
#define blockIdx (::uint3{EMULATOR_AXES(emulator_block_index)})
#define blockDim (::dim3(EMULATOR_AXES(emulator_block_size)))
#define gridDim (::dim3(EMULATOR_AXES(emulator_grid_size)))
static constexpr int warpSize = EMULATOR_WARP;

// ---- 3. threads together, memory, atomics

#include "atomics.h"
#include "memory_functions.h"
#include "warp_functions.h"
#include "host_types.h"

// ---- 4. stopping, printing, and the device's heap

#include "cuda/assert.h"
#define __trap() emulator_fail("__trap() was called", {__FILE__, __LINE__})
#define printf emulator_print
#define malloc emulator_malloc
#define free emulator_free
#define EMULATOR_OWN __attribute__((visibility("hidden")))
EMULATOR_OWN void* operator new(size_t bytes) { return emulator_malloc(bytes); }
EMULATOR_OWN void* operator new[](size_t bytes) { return emulator_malloc(bytes); }
EMULATOR_OWN void operator delete(void* block) noexcept { emulator_free(block); }
EMULATOR_OWN void operator delete[](void* block) noexcept { emulator_free(block); }
EMULATOR_OWN void operator delete(void* block, size_t) noexcept { emulator_free(block); }
EMULATOR_OWN void operator delete[](void* block, size_t) noexcept { emulator_free(block); }

// ---- 5. variables that begin without a value, in a traced kernel

namespace emulator {
template <class T>
EMULATOR_INLINE void mark_unwritten(T& variable) {
    typedef std::remove_all_extents_t<T> Element;
    if constexpr (std::is_trivially_default_constructible_v<Element>) {
        emulator_mark_unwritten(&variable, sizeof variable, sizeof(Element));
    }
}
}  // namespace emulator
#define EMULATOR_UNWRITTEN(variable) emulator::mark_unwritten(variable)

// ---- 6. the generated end of each translation unit

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
    EMULATOR_API __attribute__((no_sanitize("thread"))) void emulator_call_##number(void* const* emulator_arguments) { \
        emulator::call(__VA_ARGS__, emulator_arguments, emulator::indices_of(__VA_ARGS__));                      \
    }                                                                                                   \
    EMULATOR_API const int emulator_parameters_##number = emulator::parameters_of(__VA_ARGS__);         \
    EMULATOR_API const auto emulator_signature_##number = kernel_signature::SignatureOf<decltype(&__VA_ARGS__)>::signature_table;
