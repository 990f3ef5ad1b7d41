// What a compiled kernel and the emulator's runtime know of each other.
#pragma once
#include <cstddef>
#include <cstdint>

#define EMULATOR_API extern "C" __attribute__((visibility("default")))

namespace emulator {

// Where in the reader's source a thread waits.
struct Place {
    const char* file;
    int line;
    int column = 0;   // of a barrier; 0 where the compiler does not tell
};

// What a thread can wait at, or what a record of the trace is about; and what that is called.
#define EMULATOR_OPERATIONS(DO)                                                                              \
    DO(load, "a memory access") DO(store, "a memory access") DO(atomic, "a memory access")                   \
    DO(barrier, "__syncthreads()") DO(barrier_and, "__syncthreads_and()")                                    \
    DO(barrier_or, "__syncthreads_or()") DO(barrier_count, "__syncthreads_count()")                          \
    DO(cluster_barrier, "the cluster's barrier") DO(grid_barrier, "the grid's barrier")                      \
    DO(syncwarp, "__syncwarp()") DO(shuffle, "__shfl_sync()") DO(shuffle_up, "__shfl_up_sync()")             \
    DO(shuffle_down, "__shfl_down_sync()") DO(shuffle_xor, "__shfl_xor_sync()")                              \
    DO(ballot, "__ballot_sync()") DO(any, "__any_sync()") DO(all, "__all_sync()")                            \
    DO(match_any, "__match_any_sync()") DO(match_all, "__match_all_sync()")                                  \
    DO(reduce_add, "__reduce_add_sync()") DO(reduce_min, "__reduce_min_sync()")                              \
    DO(reduce_max, "__reduce_max_sync()") DO(reduce_and, "__reduce_and_sync()")                              \
    DO(reduce_or, "__reduce_or_sync()") DO(reduce_xor, "__reduce_xor_sync()") DO(poll, "a word of memory")
#define EMULATOR_FIRST(name, words) name,
enum class Operation : uint8_t { EMULATOR_OPERATIONS(EMULATOR_FIRST) };

// A thread's stack begins at a multiple of this. A GPU's threads have 512 KiB.
constexpr size_t STACK_BYTES = 1 << 20;

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

// The generated end of every kernel's translation unit calls the kernel with these arguments: the
// address of each, as the driver's own launch takes them.
typedef void (*emulator_entry)(void* const* arguments);

// Within one CUDA thread these never change, so the compiler may ask once.
#define EMULATOR_CONSTANT __attribute__((const, nothrow, leaf))

// Along an axis: 0 is x.
EMULATOR_API unsigned emulator_thread_index(int axis) EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_block_index(int axis) EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_block_size(int axis) EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_grid_size(int axis) EMULATOR_CONSTANT;
EMULATOR_API unsigned emulator_cluster_size(int axis) EMULATOR_CONSTANT;
// Whether the launch is cooperative: all its blocks take turns, and it may have grid barriers.
EMULATOR_API bool emulator_is_cooperative() EMULATOR_CONSTANT;

EMULATOR_API int emulator_barrier(emulator::Operation, int predicate, emulator::Place) noexcept;
// Counts a barrier of the block at which threads meet by themselves (see meetings.h); one of them calls it.
EMULATOR_API void emulator_count_barrier() noexcept;
EMULATOR_API uint64_t emulator_warp_call(const emulator::WarpCall&, emulator::Place) noexcept;

// A barrier of all threads of a cluster or of a cooperative grid, in halves: what `emulator_arrive`
// returns goes into `emulator_wait`, at once or, apart from it, later. Not to be mixed up within a launch.
EMULATOR_API uint64_t emulator_arrive(emulator::Operation, emulator::Place, bool is_apart = true) noexcept;
EMULATOR_API void emulator_wait(emulator::Operation, uint64_t arrival, emulator::Place) noexcept;

// The thread finds that it has to wait for what another one does to memory: lets others run, those
// of its block first. Call it in a loop around a condition that only reads memory.
EMULATOR_API void emulator_poll(emulator::Place) noexcept;

// What the thread did before is over for the threads that take it over from the same word of shared
// memory; and all lanes of some warps have met. An x-ray is told, nobody waits.
EMULATOR_API void emulator_hand_over(const void* word) noexcept;
EMULATOR_API void emulator_take_over(const void* word) noexcept;
EMULATOR_API void emulator_meet_warps(unsigned warps) noexcept;
// The same where the word is a barrier: what was done before arrivals is over with the phase.
EMULATOR_API void emulator_arrive_at(const void* word) noexcept;
EMULATOR_API void emulator_end_phase(const void* word) noexcept;

// What is accessed between these two is copied in the background, until a phase of `barrier` is over or,
// without one, until its batch is waited for: all but the last so many, or of those the reads alone.
EMULATOR_API void emulator_begin_copies(const void* barrier) noexcept;
EMULATOR_API void emulator_end_copies(const void* = nullptr) noexcept;
EMULATOR_API void emulator_commit_copies(const void* = nullptr) noexcept;
EMULATOR_API void emulator_await_copies(size_t but_last, bool only_reads) noexcept;
// Copies that the thread has begun without a barrier: now this one waits for them.
EMULATOR_API void emulator_bind_copies(const void* barrier) noexcept;

// The thread has begun this step of a function (steps.py).
EMULATOR_API void emulator_step(unsigned number) noexcept;

// A variable of a thread that nobody has given a value yet, an array of elements of so many bytes or one
// of them.
EMULATOR_API void emulator_mark_unwritten(void* variable, size_t bytes, size_t element_bytes) noexcept;

// Grows with every call; no time.
EMULATOR_API uint64_t emulator_clock();

// Shared memory of another block of the cluster, by its rank: where `pointer`, into this block's own,
// is there. Null where the block is not of the cluster.
EMULATOR_API void* emulator_map_shared(const void* pointer, unsigned rank);
// The rank of the block whose shared memory `pointer` points into; its own for any other pointer.
EMULATOR_API unsigned emulator_shared_rank(const void* pointer);
EMULATOR_API bool emulator_is_shared(const void* pointer);

// Sizes are 1, 2, 4 or 8 bytes.
EMULATOR_API uint64_t emulator_atomic_load(const void* address, int size);  // an update begins so
EMULATOR_API uint64_t emulator_atomic_read(const void* address, int size);  // nothing follows
EMULATOR_API bool emulator_atomic_exchange_if(void* address, int size, uint64_t expected,
                                              uint64_t desired);
EMULATOR_API uint64_t emulator_atomic_exchange(void* address, int size, uint64_t desired);
// The next atomic is for the threads of its block alone: an x-ray is told.
EMULATOR_API void emulator_narrow_atomic() noexcept;
// The next atomic looks whether what the thread has read before still stands; the next volatile store is an atomic's.
EMULATOR_API void emulator_compare() noexcept;
EMULATOR_API void emulator_store_atomically() noexcept;
// Of the device's heap: null where there is no room.
EMULATOR_API void* emulator_malloc(size_t bytes);
EMULATOR_API void emulator_free(void* block);
EMULATOR_API int emulator_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
EMULATOR_API void emulator_fail(const char* what, emulator::Place) __attribute__((noreturn));
