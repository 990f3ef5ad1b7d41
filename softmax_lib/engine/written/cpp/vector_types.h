// CUDA's vector types: aggregates with CUDA's members, sizes and alignments.
//
// A copy is ONE load and ONE store on the GPU, and a trace has to see it so. When g++ traces, it is
// told to leave structs whole (-fno-tree-sra in flags.py), and an assignment loads before it stores:
// of `*to = *from` g++ would report the store first, and of `*to = float4{...}` four stores. clang
// takes structs apart whatever it is told, so there copies are opaque to it.
#pragma once

namespace emulator {

// What one access moves; no alias is taken for granted (-fno-strict-aliasing).
template <size_t bytes> struct UnitOf;
template <> struct UnitOf<1> { typedef uint8_t type; };
template <> struct UnitOf<2> { typedef uint16_t type; };
template <> struct UnitOf<4> { typedef uint32_t type; };
template <> struct UnitOf<8> { typedef uint64_t type; };
template <> struct UnitOf<16> { typedef uint32_t type __attribute__((vector_size(16))); };
template <size_t bytes> using Unit = typename UnitOf<bytes>::type;

}  // namespace emulator

#if defined(EMULATOR_OPAQUE_COPIES) || defined(__SANITIZE_THREAD__)
namespace emulator {

// Who calls these tells of it, and so do structs of users, which clang copies by them.
__asm__(".set memcpy, __tsan_memcpy\n.set memmove, __tsan_memmove\n.set memset, __tsan_memset");

#if defined(EMULATOR_OPAQUE_COPIES)
template <class T> EMULATOR_INLINE void look_elsewhere(T& unit) { asm("" : "+r"(unit)); }
#if defined(__x86_64__)
EMULATOR_INLINE void look_elsewhere(Unit<16>& unit) { asm("" : "+x"(unit)); }
#else
EMULATOR_INLINE void look_elsewhere(Unit<16>& unit) { asm("" : "+w"(unit)); }
#endif
#else
template <class T> EMULATOR_INLINE void look_elsewhere(T&) {}
#endif

template <class Vector>
EMULATOR_INLINE void copy_whole(Vector& to, const Vector& from) {
    typedef Unit<sizeof(Vector) < 16 ? sizeof(Vector) : 16> Part;  // 32 bytes: two of these
    for (unsigned i = 0; i < sizeof(Vector) / sizeof(Part); i++) {
        Part part = reinterpret_cast<const Part*>(&from)[i];
        look_elsewhere(part);
        reinterpret_cast<Part*>(&to)[i] = part;
    }
}

}  // namespace emulator
#define EMULATOR_ASSIGN_WHOLE(name)                                    \
    __attribute__((always_inline)) name& operator=(const name& from) { \
        ::emulator::copy_whole(*this, from);                           \
        return *this;                                                  \
    }
#else
#define EMULATOR_ASSIGN_WHOLE(name)
#endif

#if defined(EMULATOR_OPAQUE_COPIES)
#define EMULATOR_COPY_OPAQUELY(name) \
    EMULATOR_ASSIGN_WHOLE(name)      \
    __attribute__((always_inline)) name(const name& from) { ::emulator::copy_whole(*this, from); }
#define EMULATOR_COPY_WHOLE(name, parameters, ...) \
    EMULATOR_COPY_OPAQUELY(name)                   \
    name() = default;                              \
    constexpr __attribute__((always_inline)) name parameters : __VA_ARGS__ {}
#else
#define EMULATOR_COPY_OPAQUELY(name)
#define EMULATOR_COPY_WHOLE(name, ...) EMULATOR_ASSIGN_WHOLE(name)
#endif

#define EMULATOR_VECTOR1(T, name)                                           \
    struct name { T x; };                                                   \
    EMULATOR_INLINE constexpr name make_##name(T x) { return name{x}; }
#define EMULATOR_VECTOR2(T, name)                                           \
    struct alignas(2 * sizeof(T)) name {                                    \
        T x, y;                                                             \
        EMULATOR_COPY_WHOLE(name, (T x, T y = 0), x(x), y(y))            \
    };                                                                      \
    EMULATOR_INLINE constexpr name make_##name(T x, T y) { return name{x, y}; }
#define EMULATOR_VECTOR3(T, name)                                           \
    struct name { T x, y, z; };                                             \
    EMULATOR_INLINE constexpr name make_##name(T x, T y, T z) { return name{x, y, z}; }
#define EMULATOR_VECTOR4_ALIGNED(T, name, alignment)                        \
    struct alignas(alignment) name {                                        \
        T x, y, z, w;                                                       \
        EMULATOR_COPY_WHOLE(name, (T x, T y = 0, T z = 0, T w = 0), x(x), y(y), z(z), w(w)) \
    };                                                                      \
    EMULATOR_INLINE constexpr name make_##name(T x, T y, T z, T w) { return name{x, y, z, w}; }
#define EMULATOR_VECTOR4(T, name) \
    EMULATOR_VECTOR4_ALIGNED(T, name, (4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16))

#define EMULATOR_VECTORS(T, name)                               \
    EMULATOR_VECTOR1(T, name##1) EMULATOR_VECTOR2(T, name##2)   \
    EMULATOR_VECTOR3(T, name##3) EMULATOR_VECTOR4(T, name##4)

EMULATOR_VECTORS(signed char, char) EMULATOR_VECTORS(unsigned char, uchar)
EMULATOR_VECTORS(short, short) EMULATOR_VECTORS(unsigned short, ushort)
EMULATOR_VECTORS(int, int) EMULATOR_VECTORS(unsigned int, uint)
EMULATOR_VECTORS(long, long) EMULATOR_VECTORS(unsigned long, ulong)
EMULATOR_VECTORS(long long, longlong) EMULATOR_VECTORS(unsigned long long, ulonglong)
EMULATOR_VECTORS(float, float) EMULATOR_VECTORS(double, double)

// CUDA 13 names the alignment of those of 32 bytes.
#define EMULATOR_VECTOR4_OF_32_BYTES(T, name) \
    EMULATOR_VECTOR4_ALIGNED(T, name##4_16a, 16) EMULATOR_VECTOR4_ALIGNED(T, name##4_32a, 32)
EMULATOR_VECTOR4_OF_32_BYTES(long, long) EMULATOR_VECTOR4_OF_32_BYTES(unsigned long, ulong)
EMULATOR_VECTOR4_OF_32_BYTES(long long, longlong)
EMULATOR_VECTOR4_OF_32_BYTES(unsigned long long, ulonglong)
EMULATOR_VECTOR4_OF_32_BYTES(double, double)

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 index) : x(index.x), y(index.y), z(index.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
