// The hooks that -fsanitize=thread calls before each load and store, and the log they write.
#include "trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "heap.h"
#include "worker.h"

namespace emulator {

// ---- the log

static uint64_t append(Worker& worker, const void* pc, const Record& filled) {
    Launch& launch = *worker.launch;
    if (launch.request.record_limit == 0) return NO_RECORD;
    if (launch.records.size() >= launch.request.record_limit) {
        Fault fault{};
        fault.kind = FaultKind::record_limit;
        fault.block = worker.block->number;
        worker.abandon(fault);
    }
    Record record = filled;
    record.site = launch.library.site_of(pc);
    record.block = static_cast<uint32_t>(worker.block->number);
    record.thread = static_cast<uint16_t>(worker.running->index);
    record.step = static_cast<uint8_t>(launch.request.step);
    launch.records.push_back(record);
    return launch.records.size() - 1;
}

static void settle_record(Worker& worker, Thread& thread) {
    uint64_t& store = worker.block->open_records[thread.index].store;
    if (store == NO_RECORD) return;
    Record& record = worker.launch->records[store];
    memcpy(record.value, reinterpret_cast<const void*>(record.address), record.size);
    store = NO_RECORD;
}

void trace_settle(Worker& worker, Thread& thread) {
    if (worker.launch->meter) worker.launch->meter->settle();
    settle_record(worker, thread);
}

static void log_call(Worker& worker, Operation operation, const WarpCall* call, const void* pc) {
    Thread& thread = *worker.running;
    settle_record(worker, thread);
    Record record{};
    record.operation = operation;
    if (call) {
        record.address = call->mask;
        record.exchange.given = call->value;
        record.size = call->size;
        record.type = call->type;
    }
    worker.block->open_records[thread.index].call = append(worker, pc, record);
}

void trace_call(Worker& worker, Operation operation, const WarpCall* call, const void* pc) {
    if (worker.launch->meter) worker.launch->meter->settle();
    if (worker.launch->request.record_limit) log_call(worker, operation, call, pc);
    if (!worker.launch->meter) return;
    Thread& thread = *worker.running;
    uint32_t place = worker.block->open_records[thread.index].place = worker.launch->place_of(pc);
    // a warp's are counted when they are complete
    if (!call && thread.index == 0) worker.launch->meter->call(place, operation, 0);
}

void trace_received(Worker& worker, Thread& thread, int source_lane) {
    uint64_t call = worker.block->open_records[thread.index].call;
    if (call == NO_RECORD) return;
    Record& record = worker.launch->records[call];
    record.exchange.received = thread.received;
    record.source_lane = static_cast<uint8_t>(source_lane);
}

void trace_relocate(Worker& worker) {
    for (Record& record : worker.launch->records) {
        uintptr_t offset;
        if (record.operation <= Operation::atomic && worker.shared_owner(record.address, offset)) {
            record.address = offset;
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

static bool is_allowed(const Worker& worker, uintptr_t address, unsigned size) {
    uintptr_t offset;
    if (worker.shared_owner(address, offset)) return lies_in(worker.launch->variables, offset, size);
    return lies_in(worker.launch->arrays, address, size) || heap().contains(address, size);
}

static void check(Worker& worker, Access access, uintptr_t address, unsigned size, const void* pc) {
    bool is_there = is_allowed(worker, address, size);
    if (is_there && address % size == 0) return;
    Fault fault = describe_access(worker, access, size, address, pc);
    fault.is_misaligned = is_there;
    worker.abandon(fault);
}

// Of the running thread: `access` says what kind it is, and the rest is filled in here.
static void measure(Worker& worker, ThreadAccess& access, uintptr_t address, unsigned size, const void* pc) {
    uintptr_t offset;
    const Block* owner = worker.shared_owner(address, offset);
    access.thread = worker.running->index;
    access.is_shared = owner != nullptr;
    access.address = owner ? offset : address;
    access.size = size;
    access.memory = reinterpret_cast<const void*>(address);
    worker.launch->meter->access(access, worker.launch->library.site_of(pc),
                                 owner ? static_cast<size_t>(owner - worker.blocks.data()) : 0);
}

static void log_access(Worker& worker, Operation operation, const void* pointer, unsigned size, const void* pc) {
    settle_record(worker, *worker.running);
    Record record{};
    record.address = reinterpret_cast<uintptr_t>(pointer);
    record.operation = operation;
    record.size = static_cast<uint8_t>(size);
    if (operation == Operation::load) memcpy(record.value, pointer, size);
    uint64_t index = append(worker, pc, record);
    if (operation == Operation::store) worker.block->open_records[worker.running->index].store = index;  // the value comes later
}

// Constants lie in the kernel's library; what is read from there is not written down.
static bool is_constant(const Worker& worker, uintptr_t address, unsigned size) {
    const Library& library = worker.launch->library;
    bool is_writable = address - library.writable_low < library.writable_bytes;
    return address - library.base < library.bytes && (!is_writable || lies_in(worker.launch->constants, address, size));
}

// Of `access` is known what it is for others; the rest is filled in.
static void watch_access(Worker& worker, Operation operation, ThreadAccess& access, const void* pointer, unsigned size,
                         const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    Entered inside(pc);
    check(worker, operation == Operation::load ? Access::load : Access::store, address, size, pc);
    if (worker.launch->meter) {
        worker.launch->meter->settle();
        access.ask = operation == Operation::load ? Ask::LOAD : Ask::STORE;
        measure(worker, access, address, size, pc);
    }
    if (worker.launch->request.record_limit) log_access(worker, operation, pointer, size, pc);
}

// ---- a thread's own variables

// What words hold that nobody has written: as a float a NaN that no computation gives. Fewer bytes than four may hold
// the same by chance, so of those each that nobody has written is known; but no hook tells of a small struct that a
// function which is not inlined returns, such as a __half: such bytes are written where they hold something else.
constexpr uint32_t UNWRITTEN = 0xffa5a5a5;
constexpr char UNWRITTEN_BYTE = static_cast<char>(0xa5);
constexpr unsigned UNIT = 2;

static std::unordered_set<const char*>& unwritten_bytes(const Worker& worker) {
    return worker.block->unwritten[static_cast<size_t>(worker.running->index)];
}

static bool is_unwritten(const Worker& worker, const char* low, unsigned size) {
    for (unsigned at = 0; at + sizeof UNWRITTEN <= size; at += sizeof UNWRITTEN) {
        uint32_t word;
        memcpy(&word, low + at, sizeof word);
        if (word == UNWRITTEN) return true;
    }
    const auto& bytes = unwritten_bytes(worker);
    for (unsigned at = 0; at < size && !bytes.empty(); at += UNIT) {
        unsigned known = 0, alike = 0;
        for (const char* byte = low + at; byte < low + std::min(size, at + UNIT); byte++) {
            known += static_cast<unsigned>(bytes.count(byte));
            alike += bytes.count(byte) && *byte == UNWRITTEN_BYTE;
        }
        if (known && alike == known) return true;
    }
    return false;
}

static void watch_own(Worker& worker, Operation operation, const char* low, unsigned size, const void* pc) {
    if (operation == Operation::store) {
        auto& bytes = unwritten_bytes(worker);
        for (unsigned at = 0; at < size && !bytes.empty(); at++) bytes.erase(low + at);
    } else if (is_unwritten(worker, low, size)) {
        Launch& launch = *worker.launch;
        launch.meter->hazards.note(HazardKind::unwritten_local, launch.place_of(pc), worker.running->index);
    }
}

static void mark_unwritten(Worker& worker, char* low, size_t bytes, size_t element_bytes) {
    bool is_small = element_bytes < sizeof UNWRITTEN;
    for (size_t at = 0; at + sizeof UNWRITTEN <= bytes && !is_small; at += sizeof UNWRITTEN) {
        memcpy(low + at, &UNWRITTEN, sizeof UNWRITTEN);
    }
    if (!worker.launch->meter || !is_small) return;
    memset(low, UNWRITTEN_BYTE, bytes);
    for (size_t at = 0; at < bytes; at++) unwritten_bytes(worker).insert(low + at);
}

static void on_access(Operation operation, const void* pointer, unsigned size, const void* pc) {
    Worker& worker = my_worker();
    if (operation == Operation::store) worker.note_change();
    if (!worker.launch->request.traced) return;
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (worker.stacks.contains(address)) {
        const Stack& own = *worker.running->stack;
        if (pointer < own.low || pointer >= own.top) worker.abandon(describe_call(worker, STRAY_INDEX, pc));
        if (worker.launch->meter) watch_own(*Entered(pc), operation, static_cast<const char*>(pointer), size, pc);
        return;
    }
    if (operation == Operation::load && is_constant(worker, address, size)) return;
    ThreadAccess access{};
    watch_access(worker, operation, access, pointer, size, pc);
}

// The running thread waits for a word to change, and looked at it first at `first`, if it does.
static void note_poll(Worker& worker, const void* first, const void* now) {
    if (!first || !worker.launch->meter) return;
    for (const void* pc : {first, now}) worker.launch->meter->hazards.note_poll(worker.launch->place_of(pc));
}

// Lanes run in step from one volatile access to the next. One that waits reads a volatile word again and again: then
// the others get their turn.
static void on_volatile(Operation operation, const void* pointer, unsigned size, const void* pc) {
    Worker& worker = my_worker();
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    bool is_traced = worker.launch->request.traced, is_load = operation == Operation::load;
    if (worker.stacks.contains(address)) return;
    ThreadAccess access = std::exchange(worker.next_access, {});
    access.is_volatile = !access.is_strong;
    access.is_strong |= is_load;
    {
        Entered inside(pc);
        if (is_traced) trace_settle(worker, *worker.running);
        constexpr int patience = 3;
        if (is_load) note_poll(worker, worker.look_again(pointer, patience, pc), pc);
        else worker.note_change(), worker.forget_looks();
        if (access.is_volatile) worker.keep_step(pc);
    }
    if (is_traced && !(is_load && is_constant(worker, address, size))) watch_access(worker, operation, access, pointer, size, pc);
}

void trace_read(Worker& worker, const void* pointer, int size, const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (worker.stacks.contains(address) || is_constant(worker, address, static_cast<unsigned>(size))) return;
    ThreadAccess access{};
    access.is_strong = true;
    watch_access(worker, Operation::load, access, pointer, static_cast<unsigned>(size), pc);
}

void trace_before_atomic(Worker& worker, const void* pointer, int size, const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    if (worker.stacks.contains(address)) return;
    Entered inside(pc);
    trace_settle(worker, *worker.running);
    check(worker, Access::store, address, static_cast<unsigned>(size), pc);
}

void trace_after_atomic(Worker& worker, bool is_exchange, const void* pointer, int size, uint64_t before,
                        uint64_t after, const void* pc) {
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
    ThreadAccess access = std::exchange(worker.next_access, {});
    access.ask = Ask::CHANGE;
    access.is_strong = true;
    access.is_exchange = is_exchange;
    if (worker.stacks.contains(address)) return;
    Entered inside(pc);
    Record record{};
    record.address = address;
    record.operation = Operation::atomic;
    record.size = static_cast<uint8_t>(size);
    record.exchange.given = after;
    record.exchange.received = before;
    append(worker, pc, record);
    if (worker.launch->meter) measure(worker, access, address, static_cast<unsigned>(size), pc);
}

}  // namespace emulator

void emulator_mark_unwritten(void* variable, size_t bytes, size_t element_bytes) noexcept {
    emulator::Entered worker(__builtin_return_address(0));
    emulator::mark_unwritten(*worker, static_cast<char*>(variable), bytes, element_bytes);
}

// ---- the hooks; the names and meanings are ThreadSanitizer's

#define PC __builtin_return_address(0)
#define HOOKS_OF(kind, size, on)                                                          \
    EMULATOR_API void __tsan_##kind##read##size(void* a) { emulator::on(LOAD, a, size, PC); }    \
    EMULATOR_API void __tsan_##kind##write##size(void* a) { emulator::on(STORE, a, size, PC); }  \
    EMULATOR_API void __tsan_##kind##read_write##size(void* a) {                                 \
        emulator::on(LOAD, a, size, PC);                                                         \
        emulator::on(STORE, a, size, PC);                                                        \
    }
#define HOOKS(size)                                                                        \
    HOOKS_OF(, size, on_access) HOOKS_OF(unaligned_, size, on_access)                      \
    HOOKS_OF(volatile_, size, on_volatile) HOOKS_OF(unaligned_volatile_, size, on_volatile)

static constexpr emulator::Operation LOAD = emulator::Operation::load;
static constexpr emulator::Operation STORE = emulator::Operation::store;

HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

// Sizes without a hook of their own, such as a float3's: as many words as it is aligned for.
static void on_range(emulator::Operation operation, char* low, unsigned long bytes, const void* pc) {
    unsigned long odd = reinterpret_cast<uintptr_t>(low) | bytes;
    unsigned unit = odd % 4 == 0 ? 4 : odd % 2 == 0 ? 2 : 1;
    emulator::Meter* meter = emulator::my_worker().launch->meter.get();
    if (meter) {
        meter->settle();
        meter->is_range = true;  // none of it is in memory before the end
    }
    for (unsigned long i = 0; i < bytes; i += unit) emulator::on_access(operation, low + i, unit, pc);
    if (meter) meter->is_range = false;
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
// Blocks run on one OS thread in traced launches, and in order; the fence is for the hazards, and one
// for a block alone puts nothing in order that they tell apart.
EMULATOR_API void __tsan_atomic_thread_fence(int order) {
    emulator::Worker& worker = emulator::my_worker();
    if (worker.launch->meter) worker.launch->meter->hazards.fence(worker.running->index, order != __ATOMIC_SEQ_CST);
}
EMULATOR_API void __tsan_vptr_update(void* a, void*) { emulator::on_access(STORE, a, sizeof(void*), PC); }
EMULATOR_API void __tsan_vptr_read(void* a) { emulator::on_access(LOAD, a, sizeof(void*), PC); }
EMULATOR_API void __tsan_init() {}
EMULATOR_API void __tsan_func_entry(void*) {}
EMULATOR_API void __tsan_func_exit() {}
