// What kernels call: who a thread is, barriers, warp calls, atomics, printing.

#include "trace.h"
#include "worker.h"

using emulator::Entered;
using emulator::Launch;
using emulator::my_worker;
using emulator::Operation;
using emulator::Place;
using emulator::Worker;

#define CALLER __builtin_return_address(0)

// ---- who am I

unsigned emulator_thread_index(int axis) { return my_worker().running->axes[axis]; }

unsigned emulator_block_index(int axis) { return my_worker().block->axes[axis]; }

unsigned emulator_block_size(int axis) { return my_worker().shape.axes[axis]; }

unsigned emulator_grid_size(int axis) { return my_worker().launch->request.grid[axis]; }

unsigned emulator_cluster_size(int axis) { return my_worker().launch->request.cluster[axis]; }

bool emulator_is_cooperative() { return my_worker().launch->request.cooperative; }

uint64_t emulator_clock() {
    Worker& worker = my_worker();
    worker.note_change();  // who waits for a time to come does not wait in vain
    return worker.clock += 16;
}

// ---- barriers, shuffles and votes

int emulator_barrier(Operation operation, int predicate, Place place) noexcept {
    Entered worker(CALLER);
    if (worker->launch->request.traced) emulator::trace_call(*worker, operation, nullptr, CALLER);
    return worker->barrier(operation, predicate, place);
}

void emulator_count_barrier() noexcept {
    Launch& launch = *my_worker().launch;
    if (!launch.meter) return;
    launch.meter->call(launch.place_of(CALLER), Operation::barrier, 0);
}

uint64_t emulator_warp_call(const emulator::WarpCall& call, Place place) noexcept {
    Entered worker(CALLER);
    if (worker->launch->request.traced) emulator::trace_call(*worker, call.operation, &call, CALLER);
    return worker->warp_call(call, place);
}

uint64_t emulator_arrive(Operation operation, Place place, bool is_apart) noexcept {
    Entered worker(CALLER);
    if (worker->launch->request.traced) emulator::trace_call(*worker, operation, nullptr, CALLER);
    return worker->arrive(operation, place, is_apart);
}

void emulator_wait(Operation operation, uint64_t arrival, Place place) noexcept {
    Entered worker(CALLER);
    worker->wait(operation, arrival, place);
    if (worker->launch->meter) worker->launch->meter->hazards.hear_apart();
}

void emulator_poll(Place place) noexcept {
    Entered worker(CALLER);
    worker->poll(place, nullptr);
    worker->expect_look();
}

void emulator_step(unsigned number) noexcept { my_worker().running->step = number; }

// ---- order that an x-ray is told of

// Of `word`, where it is in the shared memory of one of the blocks that take turns; of none, where it is null.
static void tell_of(Worker& worker, const void* word, void (engine::Hazards::*tell)(int, uint64_t, size_t)) {
    if (!worker.launch->meter) return;
    uintptr_t offset = engine::Hazards::NO_WORD;
    const emulator::Block* owner = word ? worker.shared_owner(reinterpret_cast<uintptr_t>(word), offset) : worker.block;
    if (!owner) return;
    size_t slot = static_cast<size_t>(owner - worker.blocks.data());
    (worker.launch->meter->hazards.*tell)(worker.running->index, offset, slot);
}

// This, and that warps meet, is a step forward too, which whoever polls may have waited for.
void emulator_hand_over(const void* word) noexcept {
    my_worker().note_change();
    tell_of(my_worker(), word, &engine::Hazards::hand_over);
}

void emulator_arrive_at(const void* word) noexcept {
    my_worker().note_change();
    tell_of(my_worker(), word, &engine::Hazards::arrive);
}

#define TELL(name) \
    void emulator_##name(const void* word) noexcept { tell_of(my_worker(), word, &engine::Hazards::name); }
TELL(take_over) TELL(end_phase) TELL(begin_copies) TELL(end_copies) TELL(commit_copies) TELL(bind_copies)

void emulator_await_copies(size_t but_last, bool only_reads) noexcept {
    Worker& worker = my_worker();
    if (worker.launch->meter) worker.launch->meter->hazards.await_copies(worker.running->index, but_last, only_reads);
}

void emulator_meet_warps(unsigned warps) noexcept {
    Worker& worker = my_worker();
    worker.note_change();
    if (worker.launch->meter) worker.launch->meter->hazards.meet_warps(warps);
}

// ---- shared memory of a cluster

void* emulator_map_shared(const void* pointer, unsigned rank) { return my_worker().map_shared(pointer, rank); }

unsigned emulator_shared_rank(const void* pointer) {
    const Worker& worker = my_worker();
    uintptr_t offset;
    const emulator::Block* owner = worker.shared_owner(reinterpret_cast<uintptr_t>(pointer), offset);
    return (owner ? owner : worker.block)->rank;
}

bool emulator_is_shared(const void* pointer) {
    uintptr_t offset;
    return my_worker().shared_owner(reinterpret_cast<uintptr_t>(pointer), offset) != nullptr;
}

// ---- atomics

// f(T{}) with the type of a word of so many bytes.
template <class F>
static auto of_size(int size, F f) {
    switch (size) {
        case 1: return f(uint8_t{});
        case 2: return f(uint16_t{});
        case 4: return f(uint32_t{});
        default: return f(uint64_t{});
    }
}

static uint64_t load_atomically(const void* address, int size) {
    return of_size(size, [&](auto zero) -> uint64_t {
        return __atomic_load_n(static_cast<const decltype(zero)*>(address), __ATOMIC_RELAXED);
    });
}

static bool exchange_if(void* address, int size, uint64_t expected, uint64_t desired) {
    return of_size(size, [&](auto before) {
        using T = decltype(before);
        before = static_cast<T>(expected);
        return __atomic_compare_exchange_n(static_cast<T*>(address), &before, static_cast<T>(desired), false,
                                           __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    });
}

// Times that a thread finds the same by atomics before others get their turn.
constexpr int PATIENCE = 16;

uint64_t emulator_atomic_load(const void* address, int size) {
    Worker& worker = my_worker();
    if (worker.launch->request.traced) emulator::trace_before_atomic(worker, address, size, CALLER);
    return load_atomically(address, size);
}

uint64_t emulator_atomic_read(const void* address, int size) {
    Worker& worker = my_worker();
    Entered(CALLER)->look_again(address, PATIENCE, CALLER);  // others may write it meanwhile
    if (worker.launch->request.traced) emulator::trace_read(worker, address, size, CALLER);
    return load_atomically(address, size);
}

// An atomic has found `before` and left `after`.
static void note_atomic(Worker& worker, const void* address, uint64_t before, uint64_t after, const void* pc) {
    if (before != after) return worker.note_change();
    Entered(pc)->look_again(address, PATIENCE, pc);
}

bool emulator_atomic_exchange_if(void* address, int size, uint64_t expected, uint64_t desired) {
    Worker& worker = my_worker();
    bool done = exchange_if(address, size, expected, desired);
    if (!done) return false;
    if (worker.launch->request.traced) {
        emulator::trace_after_atomic(worker, false, address, size, expected, desired, CALLER);
    }
    note_atomic(worker, address, expected, desired, CALLER);
    return true;
}

uint64_t emulator_atomic_exchange(void* address, int size, uint64_t desired) {
    Worker& worker = my_worker();
    bool is_traced = worker.launch->request.traced;
    if (is_traced) emulator::trace_before_atomic(worker, address, size, CALLER);
    uint64_t before = load_atomically(address, size);
    while (!exchange_if(address, size, before, desired)) before = load_atomically(address, size);
    if (is_traced) emulator::trace_after_atomic(worker, true, address, size, before, desired, CALLER);
    note_atomic(worker, address, before, desired, CALLER);
    return before;
}

void emulator_narrow_atomic() noexcept { my_worker().next_access.is_of_block = true; }
void emulator_compare() noexcept { my_worker().next_access.is_compare = true; }
void emulator_store_atomically() noexcept { my_worker().next_access.is_strong = true; }

// ---- the device's heap

void* emulator_malloc(size_t bytes) {
    Entered worker(CALLER);
    void* block = emulator::heap().take(bytes);
    if (block && worker->launch->meter) worker->launch->meter->hazards.take_heap(reinterpret_cast<uint64_t>(block), bytes);
    return block;
}

void emulator_free(void* block) {
    Entered worker(CALLER);
    if (block && !emulator::heap().give_back(block)) {
        worker->abandon(emulator::describe_call(*worker, "free() of what malloc() has not given, or has had back", CALLER));
    }
    if (worker->launch->meter) worker->launch->meter->hazards.give_back_heap(reinterpret_cast<uint64_t>(block));
}

// ---- stopping

void emulator_fail(const char* what, Place place) {
    Entered worker(CALLER);
    worker->abandon(emulator::describe_failure(*worker, what, place));
}
