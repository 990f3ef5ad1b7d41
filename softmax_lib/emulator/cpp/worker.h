// A worker is an OS thread that runs blocks, one after the other: its CUDA threads are fibers.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "fibers.h"
#include "inlining.h"
#include "kernel_interface.h"
#include "launch.h"

namespace emulator {

constexpr int MAX_BLOCK_SIZE = 1024;

constexpr uint64_t NO_RECORD = ~uint64_t(0);

enum class State : uint8_t { not_started, running, at_barrier, in_warp_call, exited };

// One CUDA thread. It fills one cache line: a barrier touches every thread of a block, and with a
// thousand of them what they touch is what it costs.
struct alignas(64) Thread {
    int index;
    State state;
    Operation operation;      // the call it waits at,
    Place place;              // where that is,
    const WarpCall* call;     // if it is a warp call: in the frame of the caller, on its stack,
    uint64_t received;        // and what the call gave it
    Stack* stack;
    void* stack_pointer;      // where it goes on; valid while it waits
};
static_assert(sizeof(Thread) == 64);

// Records of a traced thread that still miss something.
struct OpenRecords {
    uint64_t call = NO_RECORD;   // what the call gives
    uint64_t store = NO_RECORD;  // the value stored
    uint32_t place = 0;          // metered launches: of the call
};

// The threads that can go on, by warp and lane.
class ReadySet {
public:
    void clear(int warps);
    void add(int warp, uint32_t lanes);
    // Takes the lowest ready lane of `warp`, else of the next warp that has one; -1 when none has.
    // Staying in the warp keeps its stacks in the cache, and a trace readable.
    EMULATOR_HOT int take(int warp, int lane_bits);

private:
    uint32_t lanes_[MAX_BLOCK_SIZE];
    uint64_t warps_[MAX_BLOCK_SIZE / 64];
    int words_ = 0;

    EMULATOR_COLD int next_warp(int warp) const;
};

// What a signal handler saw.
struct Interruption {
    int signal;
    const void* pc;        // in the kernel's library, or where a call from there would return to
    bool pc_is_exact;
    uintptr_t address;
    Access access;
};

class Worker {
public:
    Worker();

    // Runs blocks of `launch` until none is left.
    void run(Launch& launch);

    // What kernels call, through the functions at the end of scheduler.cpp. Inline, and with what
    // is rare kept out: a barrier's frames are on a thousand stacks at once.
    EMULATOR_HOT int barrier(Operation operation, int predicate, Place place);
    EMULATOR_HOT uint64_t warp_call(const WarpCall& call, Place place);
    unsigned active_mask() const;

    // Reports a fault and leaves the block, from any fiber.
    [[noreturn]] void abandon(const Fault& fault);
    // Leaves the block without a word: another one has the fault, or the launch was cancelled.
    [[noreturn]] void leave_block();

    // The launch was stopped while the running thread was at `pc`: at that very instruction, or in a
    // call that would return to there.
    [[noreturn]] EMULATOR_COLD void stop_here(const void* pc, bool pc_is_exact);

    // Where a signal handler lets the interrupted thread go on.
    [[noreturn]] void leave_after_signal();

    // Between these two the runtime's own data may be half changed: a signal must wait.
    EMULATOR_HOT void enter_runtime(const void* pc);
    void leave_runtime() { in_runtime = false; }

    Launch* launch = nullptr;
    Thread* running = nullptr;
    uint64_t block = 0;
    std::vector<Thread> threads;
    std::vector<OpenRecords> open_records;  // of each thread, in traced launches
    int thread_count = 0;
    int warp_size = 0, lane_bits = 0;
    StackPool stacks;
    char* shared_low = nullptr;   // the block's shared memory; null where the system cannot tell
    volatile bool in_runtime = true;
    std::atomic<uint64_t> finished{0};  // CUDA threads, in this launch

    Interruption interruption{};
    std::vector<char> signal_stack, rescue_stack;

    // One thread of those that make a call together: the block's first, or the first of the lanes.
    bool speaks_for(const Thread& thread, const WarpCall* call) const;

    int warp_of(const Thread& thread) const { return thread.index >> lane_bits; }
    int lane_of(const Thread& thread) const { return thread.index & (warp_size - 1); }

    static void fiber_main();

private:
    void find_shared_memory();
    void run_block(uint64_t block);
    void start_block();
    void run_threads();
    EMULATOR_HOT void yield(Thread& thread, int next_warp);
    EMULATOR_HOT void resume(Thread& next, void** save);
    EMULATOR_HOT void prefetch_stack(int index) const;
    void thread_exited(Thread& thread);
    [[noreturn]] EMULATOR_COLD void stalled();
    EMULATOR_COLD void release_barrier();
    EMULATOR_COLD void complete_warp_call(int warp, unsigned lanes);
    void exchange(int warp, unsigned lanes);
    EMULATOR_HOT unsigned existing_lanes(int warp) const;

    ReadySet ready_;
    unsigned all_lanes_ = 0;      // of a whole warp
    void* main_stack_pointer_ = nullptr;
    int exited_ = 0;

    // the barrier that threads are arriving at
    int arrived_ = 0;
    const Thread* first_arrived_ = nullptr;
    bool same_barrier_ = true;
    int predicates_ = 0;          // of how many threads it held
    int barrier_result_ = 0;

    uint32_t waiting_lanes_[MAX_BLOCK_SIZE];   // by warp: lanes in a warp call
};

// The worker of this OS thread; null outside of launches.
extern __thread Worker* current_worker;

// The same, for what runs on a fiber, without the look-up of a thread-local variable.
inline Worker& my_worker() { return *static_cast<Worker*>(owner_of_my_stack()); }

// diagnosis.cpp: sentences about the block that a worker is in. A null `pc` is an unknown one.
Fault describe_stall(const Worker& worker);
Fault describe_hang(const Worker& worker, const void* pc, bool pc_is_exact);
Fault describe_failure(const Worker& worker, const char* what, Place place);
Fault describe_access(const Worker& worker, Access access, int size, uintptr_t address, const void* pc);
Fault describe_misaligned(const Worker& worker);           // these two: where the worker
Fault describe_trap(const Worker& worker, const char* what);  // was interrupted

// signals.cpp: faults of the hardware, and the knock on a spinning worker's door.
void install_signal_handlers();
void remove_signal_handlers();
void prepare_thread_for_signals(Worker& worker);
void interrupt(std::thread& thread);

}  // namespace emulator
