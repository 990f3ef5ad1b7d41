// Traced launches: every load and store of the kernel is checked, and written down.
//
// The kernel is compiled with -fsanitize=thread, which calls a hook before each access; no
// ThreadSanitizer is linked, the hooks are ours (trace.cpp).
#pragma once
#include "block.h"

namespace emulator {

class Worker;

// One thing that one thread did.
struct Record {
    uint64_t address;      // global accesses: of the byte; shared ones: offset in the block's
                           // shared memory; warp calls: lane mask; barriers: 0
    union {
        uint8_t value[16];                              // loads and stores: what was moved
        struct { uint64_t given, received; } exchange;  // warp calls; atomics: after, before
    };
    uint32_t site;         // return address in the kernel's library, from its start
    uint32_t block;
    uint16_t thread;
    Operation operation;
    uint8_t size;          // bytes
    uint8_t step;
    ValueType type;        // warp calls
    uint8_t source_lane;   // shuffles: the lane that `received` comes from
};
static_assert(sizeof(Record) == 40);

// A barrier or warp call by the running thread, made from `pc`.
EMULATOR_COLD void trace_call(Worker& worker, Operation operation, const WarpCall* call, const void* pc);
// The value that a waiting thread's shuffle or vote gave it.
EMULATOR_COLD void trace_received(Worker& worker, Thread& thread, int source_lane);
// The running thread has gone on: what it stored last is in memory by now.
EMULATOR_COLD void trace_settle(Worker& worker, Thread& thread);

// A read by the running thread that an atomic variable was asked for.
void trace_read(Worker& worker, const void* pointer, int size, const void* pc);
// An atomic of the running thread, before it and after: what it found and what it left. What an
// exchange finds is often of no interest.
void trace_before_atomic(Worker& worker, const void* pointer, int size, const void* pc);
void trace_after_atomic(Worker& worker, bool is_exchange, const void* pointer, int size, uint64_t before,
                        uint64_t after, const void* pc);

// All blocks are done: addresses in shared memory become offsets in it.
void trace_relocate(Worker& worker);

}  // namespace emulator
