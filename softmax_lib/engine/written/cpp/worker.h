// A worker is an OS thread that runs blocks: their CUDA threads are fibers. Blocks of a plain launch
// come one after the other; those of a cluster, or of a cooperative grid, take turns.
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "block.h"
#include "fibers.h"
#include "kernel_interface.h"
#include "launch.h"

namespace emulator {

// What is said of a thread whose index leads out of its own variables.
constexpr char STRAY_INDEX[] = "a local array is indexed far outside of it, beyond what the thread has";

// What a signal handler saw.
struct Interruption {
    int signal;
    const void* pc;        // in the kernel's library, or where a call from there would return to
    bool pc_is_exact;
    uintptr_t address, stack_pointer;
    Access access;
};

// What a thread looked at again and again without anything having changed.
struct IdleLook {
    const void* address;
    int times;
    int others;       // looks elsewhere since: a word may be looked at in parts
    const void* pc;   // of the first
};

// Bits of a float that becomes an unsigned number out of range at a place, and what is to be made of them.
struct Cast {
    uint64_t bits, made;
    bool is_there, is_double, is_wide;
    uint32_t line, column;
    bool is(uint64_t other, unsigned kind) const { return is_there && bits == other && kind == 2u * is_double + is_wide; }
};

// Those of a thread that no instruction has made yet, and the last that one has.
struct Casts {
    const Thread* thread;
    uint64_t block;
    Cast told[8], last;
    unsigned count;
};

class Worker {
public:
    Worker();

    // Runs blocks of `launch` until none is left.
    void run(Launch& launch);

    // What kernels call, through kernel_calls.cpp. Inline, and with what is rare kept out: a
    // barrier's frames are on a thousand stacks at once.
    EMULATOR_HOT int barrier(Operation operation, int predicate, Place place);
    EMULATOR_HOT uint64_t warp_call(const WarpCall& call, Place place);
    EMULATOR_COLD uint64_t arrive(Operation operation, Place place, bool is_apart);
    EMULATOR_COLD void wait(Operation operation, uint64_t arrival, Place place);
    // Lets every thread run that can, before this one looks again at what it waits for.
    EMULATOR_COLD void poll(Place place, const void* address);
    // The running thread found at `address` what it had found there before. Soon it has to poll; then this gives the
    // instruction of its first look.
    const void* look_again(const void* address, int patience, const void* pc);
    // Before a volatile access at `pc` lanes of a warp wait for one another, as those that run in step do.
    EMULATOR_COLD void keep_step(const void* pc);
    void note_change() { idle_polls_ = 0; }
    // Of the running thread: it has stored something; it has let others run, and may look at the same word again.
    void forget_looks() { look() = {}; }
    void expect_look() { look().times = 1000; }

    // Where `pointer` into this block's shared memory is in that of another block of the cluster.
    void* map_shared(const void* pointer, unsigned rank);
    // The block whose shared memory an address lies in, and the offset there; null outside of any.
    const Block* shared_owner(uintptr_t address, uintptr_t& offset) const;

    // Reports a fault and leaves the block, from any fiber.
    [[noreturn]] void abandon(const Fault& fault);
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
    Block* block = nullptr;       // the running thread's
    std::vector<Block> blocks;    // those that take turns; `live_blocks` of them in this launch
    std::atomic<size_t> live_blocks{0};
    std::atomic<uint64_t> first_block{0};  // number of the first of them
    BlockShape shape;
    StackPool stacks;
    char* shared_low = nullptr;   // shared memory of `block`; null where the system cannot tell
    volatile bool in_runtime = true;
    ThreadAccess next_access{};             // what is known of the next atomic or volatile one before it is made
    std::atomic<uint64_t> finished{0};  // CUDA threads, in this launch
    uint64_t clock = 0;
    Casts casts{};

    Interruption interruption{};
    std::vector<char> signal_stack, rescue_stack;

    static void fiber_main();

private:
    void find_shared_memory();
    void run_group(uint64_t first_block);
    void place_blocks(uint64_t group);
    void run_threads();
    EMULATOR_HOT Thread* next_thread(int warp);
    EMULATOR_COLD Thread* next_elsewhere();
    EMULATOR_COLD bool wake_pollers();
    EMULATOR_COLD void end_step(int warp);
    void enter_block(Block& next);
    EMULATOR_HOT void yield(Thread& thread, int next_warp);
    EMULATOR_HOT void resume(Thread& next, void** save);
    EMULATOR_HOT void prefetch_stack(int index) const;
    void thread_exited(Thread& thread);
    [[noreturn]] EMULATOR_COLD void stalled();
    EMULATOR_COLD void release_barrier();
    EMULATOR_COLD bool is_one_barrier();
    EMULATOR_COLD void complete_warp_call(int warp, unsigned lanes);
    void complete_without(const Thread& thread);
    WideBarrier& wide_barrier(Operation operation);
    void release_wide_barrier(Operation operation, WideBarrier& barrier);

    WideBarrier grid_barrier_;
    std::vector<WideBarrier> cluster_barriers_;
    void* main_stack_pointer_ = nullptr;
    IdleLook& look() {
        if (looks_.empty()) looks_.resize(live_blocks * static_cast<size_t>(shape.threads));
        return looks_[static_cast<size_t>((block - blocks.data()) * shape.threads + running->index)];
    }
    std::vector<IdleLook> looks_;  // by block and thread; empty before the first
    uint64_t idle_polls_ = 0;     // since any thread did something else
};

// The worker of this OS thread; null outside of launches.
extern __thread Worker* current_worker;

// The same, for what runs on a fiber, without the look-up of a thread-local variable.
inline Worker& my_worker() { return *static_cast<Worker*>(owner_of_my_stack()); }

// That worker, in the runtime from here to the end of the scope.
class Entered {
public:
    EMULATOR_HOT explicit Entered(const void* pc) : worker_(my_worker()) { worker_.enter_runtime(pc); }
    EMULATOR_HOT ~Entered() { worker_.leave_runtime(); }
    Worker& operator*() const { return worker_; }
    Worker* operator->() const { return &worker_; }

private:
    Worker& worker_;
};

// diagnosis.cpp: sentences about the block that a worker is in. A null `pc` is an unknown one.
Fault describe_stall(Worker& worker);
Fault describe_hang(const Worker& worker, const void* pc, bool pc_is_exact);
Fault describe_failure(const Worker& worker, const char* what, Place place);
Fault describe_call(const Worker& worker, const char* what, const void* pc);  // one that would return to there
Fault describe_access(const Worker& worker, Access access, int size, uintptr_t address, const void* pc);
Fault describe_misaligned(const Worker& worker);           // these two: where the worker
Fault describe_trap(const Worker& worker, const char* what);  // was interrupted

// signals.cpp: faults of the hardware, and the knock on a spinning worker's door.
void install_signal_handlers();
void remove_signal_handlers();
void prepare_thread_for_signals(Worker& worker);
void interrupt(std::thread& thread);

}  // namespace emulator
