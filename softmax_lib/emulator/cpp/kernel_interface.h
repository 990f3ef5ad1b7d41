// What a compiled kernel and the emulator's runtime know of each other.
#pragma once
#include <cstdint>

#define EMULATOR_API extern "C" __attribute__((visibility("default")))

namespace emulator {

// Where in the reader's source a thread waits.
struct Place {
    const char* file;
    int line;
};

// What a thread can wait at, or what a record of the trace is about.
enum class Operation : uint8_t {
    load,
    store,
    atomic,
    barrier,
    barrier_and,
    barrier_or,
    barrier_count,
    syncwarp,
    shuffle,
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    ballot,
    any,
    all,
};

// How the bytes of a shuffled value are to be read.
enum class ValueType : uint8_t { floating, integer, unsigned_integer };

struct WarpCall {
    Operation operation;
    ValueType type;
    uint8_t size;        // bytes of the value
    unsigned mask;       // lanes that take part
    unsigned argument;   // shuffles: source lane, distance or lane mask
    unsigned width;      // shuffles: lanes a segment, a power of two
    uint64_t value;      // given by this lane
};

}  // namespace emulator

// The generated end of every kernel's translation unit calls the kernel with these arguments,
// each an address or an int.
typedef void (*emulator_entry)(const int64_t* arguments);

// Within one CUDA thread these never change, so the compiler may ask once.
#define EMULATOR_CONSTANT __attribute__((const, nothrow, leaf))

EMULATOR_API unsigned emulator_thread_index() EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_block_index() EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_block_size() EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_grid_size() EMULATOR_CONSTANT;
EMULATOR_API int emulator_barrier(emulator::Operation, int predicate, emulator::Place) noexcept;
EMULATOR_API uint64_t emulator_warp_call(const emulator::WarpCall&, emulator::Place) noexcept;
EMULATOR_API unsigned emulator_active_mask();
EMULATOR_API uint64_t emulator_atomic_load(const void* address, int size);
EMULATOR_API bool emulator_atomic_exchange_if(void* address, int size, uint64_t expected,
                                              uint64_t desired);
EMULATOR_API int emulator_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
EMULATOR_API void emulator_fail(const char* what, emulator::Place) __attribute__((noreturn));
