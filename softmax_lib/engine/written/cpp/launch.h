// The interface to Python (structs.py reads these structs from here), and one launch's shared state.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "block.h"
#include "kernel_interface.h"
#include "meter.h"
#include "trace.h"

namespace emulator {

struct Request {
    emulator_entry entry;
    void* const* arguments;     // the address of each of the kernel's arguments
    uint64_t first_block;       // blocks first_block .. first_block + blocks - 1 run
    uint64_t blocks;
    uint64_t record_limit;      // 0: check, but keep no records
    uint32_t grid[3];           // blocks, by axis
    uint32_t cluster[3];        // blocks of a cluster; 1 without clusters
    uint32_t block[3];          // threads of a block
    int32_t warp_size;
    int32_t cooperative;        // all blocks take turns, so that one can wait for any other
    int32_t array_count;
    int32_t variable_count;
    int32_t line_count;
    int32_t workers;            // OS threads
    int32_t traced;             // checks every access; one worker
    int32_t metered;            // counts requests and watches for hazards; traced ones only
    int32_t step;               // written into each record
    int32_t filler;             // each byte of what a lane gets from one that takes no part; -1: its own value
};

enum class FaultKind : int32_t { none, barrier, deadlock, waiting, address, hang, other, record_limit };

enum class Access : int32_t { unknown, load, store };

// What stopped the launch. `text` is what can be said here; faults.py adds the names that Python
// knows: of the source line at `pc`, where `line` is 0, and of the array near `address`.
struct Fault {
    FaultKind kind;
    Access access;
    uint64_t block;
    uint64_t pc;         // offset in the kernel's library; 0: unknown
    uint64_t address;    // illegal addresses, and what is waited for; 0: unknown
    int32_t thread;      // x first, then y, then z
    int32_t size;        // bytes accessed; 0: unknown
    int32_t in_shared;   // `address` is an offset in the block's shared memory
    int32_t pc_is_exact; // else it is where a call would have returned to
    int32_t is_misaligned;
    int32_t is_local;    // outside of an array of the thread's own
    int32_t line;        // in `file`; 0: unknown
    char file[256];
    char text[1024];
};

// What is left of a process that has ended, in a page that Python shares: as in `Fault`.
struct BlackBox {
    uint64_t block, pc, address;
    int32_t thread;
    int32_t signal;       // 0: nothing is known
    int32_t is_guard;     // `address` is below a stack
    int32_t pc_is_exact;
};

class Worker;

// A kernel's shared library in memory.
struct Library {
    uintptr_t base = 0;
    size_t bytes = 0;             // mapped, from its base
    uintptr_t code_low = 0;       // of that, what can be executed
    size_t code_bytes = 0;
    uintptr_t writable_low = 0;   // and what can be written: its variables
    size_t writable_bytes = 0;
    size_t shared_bytes = 0;      // of its thread-local variables: a block's shared memory
    unsigned long thread_local_module = 0;  // their number for the system; 0 where it cannot tell

    explicit Library(const void* symbol);
    uint32_t site_of(const void* pc) const {
        return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pc) - base);
    }
};

struct Launch {
    Launch(const Request& given, std::vector<Array> touched, std::vector<Array> shared, const std::vector<Line>& lines);

    const Request request;
    BlockShape shape;
    uint64_t blocks_a_cluster;
    uint64_t blocks_a_group;     // those that take turns: one, a cluster, or the grid
    // Traced launches, which check every access: all that the kernel may touch.
    std::vector<Array> arrays, constants;
    std::vector<Array> variables;   // the block's shared ones; addresses count from their segment
    Library library;             // the kernel's
    std::vector<Record> records;
    std::mutex printing;
    std::string printed;                  // by printf
    std::atomic<uint64_t> unprinted{0};   // texts that there was no room for
    std::unique_ptr<Meter> meter;

    // Workers take groups of blocks in ascending order, so when one faults all lower ones have been
    // taken; they run to their end, and the fault of the lowest is reported: always the same one.
    std::atomic<uint64_t> next_group;
    std::atomic<bool> faulted{false};
    std::atomic<bool> stopped{false};   // it hangs

    std::mutex mutex;
    std::condition_variable all_done;
    std::vector<std::thread> threads;
    std::vector<Worker*> workers;   // null once that OS thread is done
    int running = 0;
    uint64_t finished_before = 0;   // CUDA threads that workers now gone had finished
    Fault fault{};

    // Of a metered launch: where the call is that returns to `pc`.
    uint32_t place_of(const void* pc) { return meter->place_of(library.site_of(pc)); }
    void report(const Fault& found);
    void keep_printed(const std::string& text);
    // Whether a block that only waits can hope for a lower one, which still runs.
    bool may_be_helped(uint64_t block);
};

}  // namespace emulator

// `lines` are those of the library, for a metered launch.
emulator::Launch* emulator_start(const emulator::Request& request, std::vector<emulator::Array> arrays,
                                 std::vector<emulator::Array> variables, const std::vector<emulator::Line>& lines);
// Waits at most `seconds`; whether all is done.
EMULATOR_API int emulator_await(emulator::Launch* launch, double seconds);
// CUDA threads that have finished so far.
EMULATOR_API uint64_t emulator_progress(emulator::Launch* launch);
EMULATOR_API void emulator_stop(emulator::Launch* launch);
// Joins the OS threads: call it after emulator_await has said that all is done.
EMULATOR_API void emulator_finish(emulator::Launch* launch);
