// The hooks that -fsanitize=thread calls before each load and store, and the log they write.
#include "trace.h"

#include <cstring>

#include "worker.h"

namespace emulator {

// ---- the log

static uint64_t append(Worker& worker, const void* pc, const Record& filled) {
    Launch& launch = *worker.launch;
    if (launch.request.record_limit == 0) return NO_RECORD;
    if (launch.records.size() >= launch.request.record_limit) {
        Fault fault{};
        fault.kind = FaultKind::record_limit;
        fault.block = worker.block;
        worker.abandon(fault);
    }
    Record record = filled;
    record.site = launch.library.site_of(pc);
    record.block = static_cast<uint32_t>(worker.block);
    record.thread = static_cast<uint16_t>(worker.running->index);
    record.step = static_cast<uint8_t>(launch.request.step);
    launch.records.push_back(record);
    return launch.records.size() - 1;
}

void trace_settle_store(Worker& worker, Thread& thread) {
    uint64_t& store = worker.open_records[thread.index].store;
    if (store == NO_RECORD) return;
    Record& record = worker.launch->records[store];
    memcpy(record.value, reinterpret_cast<const void*>(record.address), record.size);
    store = NO_RECORD;
}

static void log_call(Worker& worker, Operation operation, const WarpCall* call, const void* pc) {
    Thread& thread = *worker.running;
    trace_settle_store(worker, thread);
    Record record{};
    record.operation = operation;
    if (call) {
        record.address = call->mask;
        record.exchange.given = call->value;
        record.size = call->size;
        record.type = call->type;
    }
    worker.open_records[thread.index].call = append(worker, pc, record);
}

void trace_call(Worker& worker, Operation operation, const WarpCall* call, const void* pc) {
    if (worker.launch->request.record_limit) log_call(worker, operation, call, pc);
    if (!worker.launch->meter) return;
    Thread& thread = *worker.running;
    Meter& meter = *worker.launch->meter;
    uint32_t place = worker.open_records[thread.index].place = meter.place_of(worker.launch->library.site_of(pc));
    if (worker.speaks_for(thread, call)) meter.call(place, operation);
}

void trace_received(Worker& worker, Thread& thread, int source_lane) {
    uint64_t call = worker.open_records[thread.index].call;
    if (call == NO_RECORD) return;
    Record& record = worker.launch->records[call];
    record.exchange.received = thread.received;
    record.source_lane = static_cast<uint8_t>(source_lane);
}

void trace_relocate(Worker& worker) {
    uint64_t low = reinterpret_cast<uintptr_t>(worker.shared_low);
    for (Record& record : worker.launch->records) {
        if (record.operation <= Operation::atomic && record.address - low < worker.launch->library.shared_bytes) {
            record.address -= low;
        }
    }
}

// ---- accesses

static bool lies_in(const std::vector<Array>& arrays, uint64_t address, unsigned size) {
    for (const Array& array : arrays) {
        uint64_t offset = address - array.address;
        if (offset < array.bytes && offset + size <= array.bytes) return true;
    }
    return false;
}

// Constants and __device__ variables; what is read from there is not written down.
static bool is_of_library(const Worker& worker, uintptr_t address) {
    const Library& library = worker.launch->library;
    return address - library.base < library.bytes;
}

static bool is_allowed(const Worker& worker, uintptr_t address, unsigned size) {
    uintptr_t shared = address - reinterpret_cast<uintptr_t>(worker.shared_low);
    if (shared < worker.launch->library.shared_bytes) return lies_in(worker.launch->variables, shared, size);
    return lies_in(worker.launch->arrays, address, size);
}

static void check(Worker& worker, Access access, uintptr_t address, unsigned size, const void* pc) {
    if (!is_allowed(worker, address, size)) {
        worker.abandon(describe_access(worker, access, size, address, pc));
    }
    if (address % size) {
        Fault fault = describe_access(worker, access, size, address, pc);
        fault.is_misaligned = true;
        worker.abandon(fault);
    }
}

static void measure(Worker& worker, Operation operation, uintptr_t address, unsigned size, const void* pc) {
    uintptr_t offset = address - reinterpret_cast<uintptr_t>(worker.shared_low);
    bool is_shared = offset < worker.launch->library.shared_bytes;
    Meter& meter = *worker.launch->meter;
    uint32_t site = worker.launch->library.site_of(pc);
    meter.access({worker.running->index, operation, is_shared, is_shared ? offset : address, size, site, 0});
}

static void log_access(Worker& worker, Operation operation, const void* pointer, unsigned size, const void* pc) {
    trace_settle_store(worker, *worker.running);
    Record record{};
    record.address = reinterpret_cast<uintptr_t>(pointer);
    record.operation = operation;
    record.size = static_cast<uint8_t>(size);
    if (operation == Operation::load) memcpy(record.value, pointer, size);
    uint64_t index = append(worker, pc, record);
    if (operation == Operation::store) worker.open_records[worker.running->index].store = index;  // the value comes later
}

static void on_access(Operation operation, const void* pointer, unsigned size, const void* pc) {
    Worker& worker = my_worker();
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (worker.stacks.contains(address)) return;  // a thread's own variables
    if (is_of_library(worker, address)) return;
    worker.enter_runtime(pc);
    Access access = operation == Operation::load ? Access::load : Access::store;
    check(worker, access, address, size, pc);
    if (worker.launch->meter) measure(worker, operation, address, size, pc);
    if (worker.launch->request.record_limit) log_access(worker, operation, pointer, size, pc);
    worker.leave_runtime();
}

void trace_before_atomic(Worker& worker, const void* pointer, int size, const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (is_of_library(worker, address)) return;
    worker.enter_runtime(pc);
    trace_settle_store(worker, *worker.running);
    check(worker, Access::store, address, size, pc);
    worker.leave_runtime();
}

void trace_after_atomic(Worker& worker, const void* pointer, int size, uint64_t before, uint64_t after,
                        const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (is_of_library(worker, address)) return;
    worker.enter_runtime(pc);
    Record record{};
    record.address = address;
    record.operation = Operation::atomic;
    record.size = static_cast<uint8_t>(size);
    record.exchange.given = after;
    record.exchange.received = before;
    append(worker, pc, record);
    if (worker.launch->meter) {
        measure(worker, Operation::atomic, address, static_cast<unsigned>(size), pc);
    }
    worker.leave_runtime();
}

}  // namespace emulator

// ---- the hooks; the names and meanings are ThreadSanitizer's

#define PC __builtin_return_address(0)
#define HOOKS(size)                                                                                    \
    EMULATOR_API void __tsan_read##size(void* a) { emulator::on_access(LOAD, a, size, PC); }           \
    EMULATOR_API void __tsan_write##size(void* a) { emulator::on_access(STORE, a, size, PC); }         \
    EMULATOR_API void __tsan_unaligned_read##size(void* a) { emulator::on_access(LOAD, a, size, PC); } \
    EMULATOR_API void __tsan_unaligned_write##size(void* a) { emulator::on_access(STORE, a, size, PC); } \
    EMULATOR_API void __tsan_read_write##size(void* a) {                                               \
        emulator::on_access(LOAD, a, size, PC);                                                        \
        emulator::on_access(STORE, a, size, PC);                                                       \
    }                                                                                                  \
    EMULATOR_API void __tsan_unaligned_read_write##size(void* a) {                                     \
        emulator::on_access(LOAD, a, size, PC);                                                        \
        emulator::on_access(STORE, a, size, PC);                                                       \
    }

static constexpr emulator::Operation LOAD = emulator::Operation::load;
static constexpr emulator::Operation STORE = emulator::Operation::store;

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

// Sizes without a hook of their own, such as a float3's: as many words.
static void on_range(emulator::Operation operation, char* low, unsigned long bytes, const void* pc) {
    for (unsigned long i = 0; i + 4 <= bytes; i += 4) emulator::on_access(operation, low + i, 4, pc);
}
EMULATOR_API void __tsan_read_range(char* low, unsigned long bytes) { on_range(LOAD, low, bytes, PC); }
EMULATOR_API void __tsan_write_range(char* low, unsigned long bytes) { on_range(STORE, low, bytes, PC); }

EMULATOR_API void* __tsan_memcpy(char* to, char* from, unsigned long bytes) {
    on_range(LOAD, from, bytes, PC);
    on_range(STORE, to, bytes, PC);
    return memcpy(to, from, bytes);
}
EMULATOR_API void* __tsan_memmove(char* to, char* from, unsigned long bytes) {
    on_range(LOAD, from, bytes, PC);
    on_range(STORE, to, bytes, PC);
    return memmove(to, from, bytes);
}
EMULATOR_API void* __tsan_memset(char* to, int value, unsigned long bytes) {
    on_range(STORE, to, bytes, PC);
    return memset(to, value, bytes);
}
// Blocks run one after the other in traced launches, and in order.
EMULATOR_API void __tsan_atomic_thread_fence(int) {}
EMULATOR_API void __tsan_init() {}
EMULATOR_API void __tsan_func_entry(void*) {}
EMULATOR_API void __tsan_func_exit() {}
