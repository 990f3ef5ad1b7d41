// CUDA's vector types: aggregates with CUDA's members, sizes and alignments.
//
// A copy is ONE load and ONE store on the GPU, and a trace has to see it so. When g++ traces, it is
// told to leave structs whole (-fno-tree-sra in flags.py), and an assignment loads before it stores:
// of `*to = *from` g++ would report the store first, and of `*to = float4{...}` four stores. clang
// takes structs apart whatever it is told, so there copies are opaque to it.
#pragma once

#if defined(EMULATOR_OPAQUE_COPIES) || defined(__SANITIZE_THREAD__)
namespace emulator {

typedef uint16_t Bits16 __attribute__((may_alias));
typedef uint32_t Bits32 __attribute__((may_alias));
typedef uint64_t Bits64 __attribute__((may_alias));
typedef uint32_t Bits128 __attribute__((vector_size(16), may_alias));

template <int bytes> struct CopyUnit { typedef Bits128 type; };  // 32 bytes: two of these
template <> struct CopyUnit<2> { typedef Bits16 type; };
template <> struct CopyUnit<4> { typedef Bits32 type; };
template <> struct CopyUnit<8> { typedef Bits64 type; };

// Who calls these tells of it, and so do structs of users, which clang copies by them.
__asm__(".set memcpy, __tsan_memcpy\n.set memmove, __tsan_memmove\n.set memset, __tsan_memset");

#if defined(EMULATOR_OPAQUE_COPIES)
template <class Unit> EMULATOR_INLINE void look_elsewhere(Unit& unit) { asm("" : "+r"(unit)); }
#if defined(__x86_64__)
EMULATOR_INLINE void look_elsewhere(Bits128& unit) { asm("" : "+x"(unit)); }
#else
EMULATOR_INLINE void look_elsewhere(Bits128& unit) { asm("" : "+w"(unit)); }
#endif
#else
template <class Unit> EMULATOR_INLINE void look_elsewhere(Unit&) {}
#endif

template <class Vector>
EMULATOR_INLINE void copy_whole(Vector& to, const Vector& from) {
    typedef typename CopyUnit<sizeof(Vector)>::type Unit;
    for (unsigned i = 0; i < sizeof(Vector) / sizeof(Unit); i++) {
        Unit unit = reinterpret_cast<const Unit*>(&from)[i];
        look_elsewhere(unit);
        reinterpret_cast<Unit*>(&to)[i] = unit;
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
