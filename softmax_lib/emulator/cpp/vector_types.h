// CUDA's vector types. Those of 8 and 16 bytes copy themselves as ONE load and ONE store, as the
// GPU does: a plain struct would be split into its members, and a trace would show them.
#pragma once

namespace emulator {

typedef uint64_t Bits64 __attribute__((may_alias));
typedef uint32_t Bits128 __attribute__((vector_size(16), may_alias));

template <int bytes> struct CopyUnit;
template <> struct CopyUnit<8> { typedef Bits64 type; };
template <> struct CopyUnit<16> { typedef Bits128 type; };

// Keeps the compiler from looking through a copy.
#if !defined(EMULATOR_OPAQUE_COPIES)
#define EMULATOR_OPAQUE(unit)
#elif defined(__x86_64__)
#define EMULATOR_OPAQUE(unit) asm("" : "+x"(unit))
#else
#define EMULATOR_OPAQUE(unit) asm("" : "+w"(unit))
#endif

}  // namespace emulator

#define EMULATOR_COPY_WHOLE(name)                                                                   \
    name() = default;                                                                               \
    __attribute__((always_inline)) name(const name& from) { *this = from; }                         \
    __attribute__((always_inline)) name& operator=(const name& from) {                              \
        typedef ::emulator::CopyUnit<sizeof(name)>::type Unit;                                      \
        Unit unit = *reinterpret_cast<const Unit*>(&from);                                          \
        EMULATOR_OPAQUE(unit);                                                                      \
        *reinterpret_cast<Unit*>(this) = unit;                                                      \
        return *this;                                                                               \
    }

#define EMULATOR_VECTOR1(T, name)   \
    struct name { T x; };           \
    EMULATOR_INLINE name make_##name(T x) { return name{x}; }

#define EMULATOR_VECTOR2(T, name)                                \
    struct alignas(2 * sizeof(T)) name { T x, y; };              \
    EMULATOR_INLINE name make_##name(T x, T y) { return name{x, y}; }

#define EMULATOR_VECTOR2_WHOLE(T, name)                                                          \
    struct alignas(2 * sizeof(T)) name {                                                         \
        T x, y;                                                                                  \
        EMULATOR_COPY_WHOLE(name)                                                                \
        constexpr __attribute__((always_inline)) name(T x, T y) : x(x), y(y) {}                  \
    };                                                                                           \
    EMULATOR_INLINE name make_##name(T x, T y) { return name(x, y); }

#define EMULATOR_VECTOR3(T, name)   \
    struct name { T x, y, z; };     \
    EMULATOR_INLINE name make_##name(T x, T y, T z) { return name{x, y, z}; }

#define EMULATOR_VECTOR4(T, name)                                      \
    struct alignas(4 * sizeof(T)) name { T x, y, z, w; };              \
    EMULATOR_INLINE name make_##name(T x, T y, T z, T w) { return name{x, y, z, w}; }

#define EMULATOR_VECTOR4_WHOLE(T, name)                                                          \
    struct alignas(4 * sizeof(T)) name {                                                         \
        T x, y, z, w;                                                                            \
        EMULATOR_COPY_WHOLE(name)                                                                \
        constexpr __attribute__((always_inline)) name(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {} \
    };                                                                                           \
    EMULATOR_INLINE name make_##name(T x, T y, T z, T w) { return name(x, y, z, w); }

EMULATOR_VECTOR1(float, float1) EMULATOR_VECTOR2_WHOLE(float, float2)
EMULATOR_VECTOR3(float, float3) EMULATOR_VECTOR4_WHOLE(float, float4)
EMULATOR_VECTOR1(int, int1) EMULATOR_VECTOR2_WHOLE(int, int2)
EMULATOR_VECTOR3(int, int3) EMULATOR_VECTOR4_WHOLE(int, int4)
EMULATOR_VECTOR1(unsigned, uint1) EMULATOR_VECTOR2_WHOLE(unsigned, uint2)
EMULATOR_VECTOR3(unsigned, uint3) EMULATOR_VECTOR4_WHOLE(unsigned, uint4)
EMULATOR_VECTOR2_WHOLE(double, double2) EMULATOR_VECTOR2_WHOLE(long long, longlong2)
EMULATOR_VECTOR2(short, short2) EMULATOR_VECTOR4_WHOLE(short, short4)
EMULATOR_VECTOR2(unsigned short, ushort2) EMULATOR_VECTOR4_WHOLE(unsigned short, ushort4)
EMULATOR_VECTOR2(char, char2) EMULATOR_VECTOR4(char, char4)
EMULATOR_VECTOR2(unsigned char, uchar2) EMULATOR_VECTOR4(unsigned char, uchar4)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 index) : x(index.x), y(index.y), z(index.z) {}
};
