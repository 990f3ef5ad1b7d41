// Barriers, and what the lanes of a warp do together: shuffles, votes, matches, reductions.
#pragma once
#include <time.h>

#include <type_traits>

#include "kernel_interface.h"
#include "meetings.h"

// ---- barriers of a block

EMULATOR_INLINE void __syncthreads(EMULATOR_PLACE, EMULATOR_COLUMN) {
    emulator_barrier(emulator::Operation::barrier, 0, {file, line, column});
}
#define EMULATOR_BARRIER(name)                                                                           \
    EMULATOR_INLINE int __syncthreads_##name(int predicate, EMULATOR_PLACE, EMULATOR_COLUMN) {           \
        return emulator_barrier(emulator::Operation::barrier_##name, predicate, {file, line, column});   \
    }
EMULATOR_BARRIER(and) EMULATOR_BARRIER(or) EMULATOR_BARRIER(count)
// The block's barriers have numbers; `threads` of them have to come, whole warps.
EMULATOR_INLINE void __barrier_sync_count(unsigned number, unsigned threads, EMULATOR_PLACE) {
    if (threads && emulator::thread_of_block() % threads == 0) emulator_count_barrier();
    emulator::meet(emulator::MeetingKind::barrier, number, threads, {file, line});
}
EMULATOR_INLINE void __barrier_sync(unsigned number, EMULATOR_PLACE) {
    __barrier_sync_count(number, emulator::block_threads(), file, line);
}

// ---- shuffles and votes

namespace emulator {

template <class T>
constexpr ValueType value_type = std::is_floating_point_v<T> ? ValueType::floating
                                 : std::is_signed_v<T>       ? ValueType::integer
                                                             : ValueType::unsigned_integer;

template <class T>
EMULATOR_INLINE uint64_t to_bits(const T& value) {
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
EMULATOR_INLINE T shuffle(Operation operation, unsigned mask, const T& value, unsigned argument,
                          int width, Place place) {
    WarpCall call{operation, value_type<T>, sizeof(T), mask, argument, (unsigned)width, to_bits(value)};
    return from_bits<T>(emulator_warp_call(call, place));
}

// What each lane gives, and all get, or get something of.
template <class T>
EMULATOR_INLINE uint64_t warp_exchange(Operation operation, unsigned mask, T value, Place place) {
    WarpCall call{operation, value_type<T>, sizeof(T), mask, 0, EMULATOR_WARP, to_bits(value)};
    return emulator_warp_call(call, place);
}

EMULATOR_INLINE unsigned vote(Operation operation, unsigned mask, bool predicate, Place place) {
    return (unsigned)warp_exchange(operation, mask, (unsigned)predicate, place);
}

// Of 4 or 8 bytes; smaller integers are widened, as the hardware compares words.
template <class T>
EMULATOR_INLINE unsigned match(Operation operation, unsigned mask, T value, Place place) {
    static_assert(std::is_arithmetic_v<T>, "a match compares integers, floats or doubles");
    typedef std::conditional_t<(sizeof(T) < 4), int, T> Word;
    return (unsigned)warp_exchange(operation, mask, (Word)value, place);
}

template <class T>
EMULATOR_INLINE T reduce(Operation operation, unsigned mask, T value, Place place) {
    return from_bits<T>(warp_exchange(operation, mask, value, place));
}

}  // namespace emulator

#define EMULATOR_SHUFFLE(name, operation, Argument)                                                             \
    template <class T>                                                                                          \
    EMULATOR_INLINE T name(unsigned mask, T value, Argument argument, int width = EMULATOR_WARP, EMULATOR_PLACE) { \
        return emulator::shuffle(emulator::Operation::operation, mask, value, argument, width, {file, line});   \
    }
EMULATOR_SHUFFLE(__shfl_sync, shuffle, int) EMULATOR_SHUFFLE(__shfl_xor_sync, shuffle_xor, int)
EMULATOR_SHUFFLE(__shfl_up_sync, shuffle_up, unsigned) EMULATOR_SHUFFLE(__shfl_down_sync, shuffle_down, unsigned)
#define EMULATOR_VOTE(T, name)                                                                      \
    EMULATOR_INLINE T __##name##_sync(unsigned mask, int predicate, EMULATOR_PLACE) {               \
        return emulator::vote(emulator::Operation::name, mask, predicate != 0, {file, line});       \
    }
EMULATOR_VOTE(unsigned, ballot) EMULATOR_VOTE(int, any) EMULATOR_VOTE(int, all)
EMULATOR_INLINE int __uni_sync(unsigned mask, int predicate, EMULATOR_PLACE) {
    return emulator::match(emulator::Operation::match_all, mask, (int)(predicate != 0), {file, line}) != 0;
}
EMULATOR_INLINE void __syncwarp(unsigned mask = 0xffffffff, EMULATOR_PLACE) {
    emulator::vote(emulator::Operation::syncwarp, mask, false, {file, line});
}

// ---- matches and reductions

template <class T>
EMULATOR_INLINE unsigned __match_any_sync(unsigned mask, T value, EMULATOR_PLACE) {
    return emulator::match(emulator::Operation::match_any, mask, value, {file, line});
}
template <class T>
EMULATOR_INLINE unsigned __match_all_sync(unsigned mask, T value, int* predicate, EMULATOR_PLACE) {
    unsigned lanes = emulator::match(emulator::Operation::match_all, mask, value, {file, line});
    *predicate = lanes != 0;
    return lanes;
}

// Two overloads, as CUDA has them: a long long or a float is refused.
#define EMULATOR_REDUCTION(name, T)                                                             \
    EMULATOR_INLINE T __##name##_sync(unsigned mask, T value, EMULATOR_PLACE) {                 \
        return emulator::reduce(emulator::Operation::name, mask, value, {file, line});          \
    }
#define EMULATOR_REDUCTIONS(name) EMULATOR_REDUCTION(name, int) EMULATOR_REDUCTION(name, unsigned)
EMULATOR_REDUCTIONS(reduce_add) EMULATOR_REDUCTIONS(reduce_min) EMULATOR_REDUCTIONS(reduce_max)
EMULATOR_REDUCTION(reduce_and, unsigned) EMULATOR_REDUCTION(reduce_or, unsigned) EMULATOR_REDUCTION(reduce_xor, unsigned)

// ---- which lanes run side by side

// The lanes that come to this line before they have to wait for others. Hardware promises less, and
// mostly gives the same: lanes that took the same branch.
EMULATOR_INLINE unsigned __activemask(EMULATOR_PLACE) { return emulator::gather_lanes({file, line}); }

// ---- time, which the emulator has none of: it passes with every look

// Another name for the same function, so that clock() is the GPU's also behind <ctime>.
#define EMULATOR_TEXT_(...) #__VA_ARGS__
#define EMULATOR_TEXT(...) EMULATOR_TEXT_(__VA_ARGS__)
#define EMULATOR_SYMBOL(name) EMULATOR_TEXT(__USER_LABEL_PREFIX__) name
extern "C" clock_t clock() noexcept __asm__(EMULATOR_SYMBOL("emulator_clock"));
EMULATOR_INLINE long long clock64() { return (long long)emulator_clock(); }
EMULATOR_INLINE void __nanosleep(unsigned, EMULATOR_PLACE) { emulator_poll({file, line}); }
