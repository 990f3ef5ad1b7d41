// Atomics, on the types that CUDA has them for.
#pragma once
#include <float.h>
#include <stdint.h>

#include <type_traits>
#include <utility>

#include "kernel_interface.h"
#include "memory_functions.h"
#include "warp_functions.h"

struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;

namespace emulator {

// Replaces *address by change(*address) in one step; returns what was there before.
template <class T, class Change>
EMULATOR_INLINE T update(T* address, Change change) {
    for (;;) {
        uint64_t before = emulator_atomic_load(address, sizeof(T));
        uint64_t after = to_bits<T>(change(from_bits<T>(before)));
        if (emulator_atomic_exchange_if(address, sizeof(T), before, after)) return from_bits<T>(before);
    }
}

// Leaves `value` in *address; returns what was there before, which may be nothing that anybody wrote.
template <class T>
EMULATOR_INLINE T exchange(T* address, T value) {
    return from_bits<T>(emulator_atomic_exchange(address, sizeof(T), to_bits<T>(value)));
}

EMULATOR_INLINE float flushed(float value) {
    return __builtin_fabsf(value) < FLT_MIN ? __builtin_copysignf(0.0f, value) : value;
}

// Atomic additions of floats flush subnormals in global memory, and keep them in shared memory. Of all
// NaNs they give one.
template <class T>
EMULATOR_INLINE T add_at(const void* address, T old, T value) {
    if constexpr (std::is_same_v<T, float>) {
        bool is_kept = emulator_is_shared(address);
        float sum = is_kept ? old + value : flushed(flushed(old) + flushed(value));
        return sum != sum ? from_bits<float>(0x7fffffff) : sum;
    }
    return old + value;
}

template <class T, class... Types>
constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);
template <class T>
constexpr bool is_16_bit_float = is_one_of<T, __half, __half2, __nv_bfloat16, __nv_bfloat162>;
template <class T>
constexpr bool never = false;

struct NoAtomic {};
template <class Result>
using atomic_result = std::enable_if_t<!std::is_same_v<Result, NoAtomic>, Result>;

}  // namespace emulator

// Overloads rather than one template, so that a kernel can add its own, such as a float's maximum.
#define EMULATOR_ATOMIC(name, T, result)                                                    \
    EMULATOR_INLINE T name(T* address, T value) {                                           \
        return emulator::update(address, [=](T old) -> T { return result; });               \
    }

// What no other overload takes comes here. The scope says who else takes part; here every atomic is
// one for all, and an x-ray knows those of a block.
#define EMULATOR_REFUSED_ATOMIC(name, plain, types)                                                \
    template <class T>                                                                             \
    EMULATOR_INLINE emulator::NoAtomic name(T*, ...) {                                             \
        static_assert(emulator::never<T>, "CUDA has no " #plain "() on this type, but on " types); \
        return {};                                                                                 \
    }
#define EMULATOR_ATOMIC_OF_SCOPE(name, plain, narrow)                                                       \
    template <class T, class... Values>                                                                     \
    EMULATOR_INLINE emulator::atomic_result<decltype(plain(std::declval<T*>(), std::declval<Values>()...))> \
    name(T* address, Values... values) {                                                                    \
        narrow;                                                                                             \
        return plain(address, values...);                                                                   \
    }
#define EMULATOR_NO_OTHER_ATOMIC(name, types)                              \
    EMULATOR_REFUSED_ATOMIC(name, name, types)                             \
    EMULATOR_REFUSED_ATOMIC(name##_block, name, types)                     \
    EMULATOR_REFUSED_ATOMIC(name##_system, name, types)                    \
    EMULATOR_ATOMIC_OF_SCOPE(name##_block, name, emulator_narrow_atomic()) \
    EMULATOR_ATOMIC_OF_SCOPE(name##_system, name, (void)0)

#define EMULATOR_ATOMICS2(name, result) EMULATOR_ATOMIC(name, int, result) EMULATOR_ATOMIC(name, unsigned, result)
#define EMULATOR_ATOMICS4(name, result)                                                        \
    EMULATOR_ATOMICS2(name, result)                                                            \
    EMULATOR_ATOMIC(name, long long, result) EMULATOR_ATOMIC(name, unsigned long long, result) \
    EMULATOR_NO_OTHER_ATOMIC(name, "int, unsigned, long long and unsigned long long")

EMULATOR_ATOMICS2(atomicAdd, old + value) EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicAdd, float, emulator::add_at(address, old, value)) EMULATOR_ATOMIC(atomicAdd, double, old + value)
EMULATOR_NO_OTHER_ATOMIC(atomicAdd, "int, unsigned, unsigned long long, float, double, float2, float4, "
                                    "__half, __half2, __nv_bfloat16 and __nv_bfloat162")
EMULATOR_ATOMICS2(atomicSub, old - value)
EMULATOR_NO_OTHER_ATOMIC(atomicSub, "int and unsigned")
EMULATOR_ATOMICS4(atomicMin, value < old ? value : old) EMULATOR_ATOMICS4(atomicMax, old < value ? value : old)
EMULATOR_ATOMICS4(atomicAnd, old & value) EMULATOR_ATOMICS4(atomicOr, old | value)
EMULATOR_ATOMICS4(atomicXor, old ^ value)
EMULATOR_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
EMULATOR_NO_OTHER_ATOMIC(atomicInc, "unsigned")
EMULATOR_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
EMULATOR_NO_OTHER_ATOMIC(atomicDec, "unsigned")

#define EMULATOR_EXCHANGE(T) \
    EMULATOR_INLINE T atomicExch(T* address, T value) { return emulator::exchange(address, value); }
EMULATOR_EXCHANGE(int) EMULATOR_EXCHANGE(unsigned) EMULATOR_EXCHANGE(unsigned long long) EMULATOR_EXCHANGE(float)
EMULATOR_NO_OTHER_ATOMIC(atomicExch, "int, unsigned, unsigned long long and float; the emulator has none on 16 bytes")

#define EMULATOR_CAS(T)                                                                              \
    EMULATOR_INLINE T atomicCAS(T* address, T expected, T value) {                                   \
        emulator_compare();                                                                          \
        return emulator::update(address, [=](T old) -> T { return old == expected ? value : old; }); \
    }
EMULATOR_CAS(int) EMULATOR_CAS(unsigned) EMULATOR_CAS(unsigned long long) EMULATOR_CAS(unsigned short)
EMULATOR_NO_OTHER_ATOMIC(atomicCAS, "int, unsigned, unsigned long long and unsigned short; the emulator has none on "
                                    "16 bytes")

// ---- additions of several elements: each of them is atomic, and not all together

EMULATOR_INLINE float2 atomicAdd(float2* address, float2 value) {
    return emulator::update(address, [=](float2 old) -> float2 {
        return {emulator::add_at(address, old.x, value.x), emulator::add_at(address, old.y, value.y)};
    });
}
EMULATOR_INLINE float4 atomicAdd(float4* address, float4 value) {
    float2* halves = reinterpret_cast<float2*>(address);
    float2 low = atomicAdd(halves, make_float2(value.x, value.y));
    float2 high = atomicAdd(halves + 1, make_float2(value.z, value.w));
    return make_float4(low.x, low.y, high.x, high.y);
}

// The types are complete where their header has been included.
template <class T, std::enable_if_t<emulator::is_16_bit_float<T>, int> = 0>
EMULATOR_INLINE T atomicAdd(T* address, emulator::same<T> value) {
    return emulator::update(address, [=](T old) -> T { return old + value; });
}
