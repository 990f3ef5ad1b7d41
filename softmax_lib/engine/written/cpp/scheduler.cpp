// Who runs and who goes on: threads of a block, and blocks that take turns.
#include <algorithm>
#include <cstring>

#include "worker.h"

namespace emulator {

__thread Worker* current_worker = nullptr;

// ---- a block's shared memory: the thread-local variables of the kernel's library

#if defined(__linux__)

// The system's own: where this OS thread has the thread-local variables of a library. It allocates
// them with the first use.
struct ThreadLocalIndex {
    unsigned long module, offset;
};
extern "C" void* __tls_get_addr(ThreadLocalIndex*);

#endif

void Worker::find_shared_memory() {
    shared_low = nullptr;
#if defined(__linux__)
    ThreadLocalIndex start{launch->library.thread_local_module, 0};
    if (start.module) shared_low = static_cast<char*>(__tls_get_addr(&start));
#endif
}

void* Worker::map_shared(const void* pointer, unsigned rank) {
    uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(shared_low);
    if (offset >= launch->library.shared_bytes) return nullptr;
    for (size_t i = 0; i < live_blocks; i++) {
        Block& other = blocks[i];
        if (other.cluster != block->cluster || other.rank != rank) continue;
        return (&other == block ? shared_low : other.shared.data()) + offset;
    }
    return nullptr;
}

const Block* Worker::shared_owner(uintptr_t address, uintptr_t& offset) const {
    offset = address - reinterpret_cast<uintptr_t>(shared_low);
    if (offset < launch->library.shared_bytes) return block;
    for (size_t i = 0; live_blocks > 1 && i < live_blocks; i++) {
        offset = address - reinterpret_cast<uintptr_t>(blocks[i].shared.data());
        if (offset < blocks[i].shared.size()) return &blocks[i];
    }
    return nullptr;
}

// ---- running blocks

Worker::Worker() : stacks(this, fiber_main), signal_stack(64 << 10), rescue_stack(256 << 10) {}

void Worker::run(Launch& given) {
    launch = &given;
    shape = given.shape;
    blocks.resize(std::max(blocks.size(), static_cast<size_t>(given.blocks_a_group)));
    find_shared_memory();
    const Request& request = given.request;
    uint64_t end = (request.first_block + request.blocks) / given.blocks_a_group;
    while (!given.faulted && !given.stopped) {
        uint64_t taken = given.next_group.fetch_add(1);
        if (taken >= end) break;
        run_group(taken);
    }
    if (given.meter && !given.meter->requests.is_complete && !given.faulted) {
        Fault fault{};
        fault.kind = FaultKind::record_limit;
        given.report(fault);
    }
    if (request.traced) trace_relocate(*this);
    live_blocks = 0;
}

void Worker::run_group(uint64_t group) {
    live_blocks = launch->blocks_a_group;
    place_blocks(group);
    first_block = blocks[0].number;
    looks_.clear();
    idle_polls_ = 0;
    block = &blocks[0];
    // What no thread of a block wrote reads as NaN, in every block alike.
    size_t bytes = launch->library.shared_bytes;
    if (shared_low) memset(shared_low, 0xff, bytes);
    for (size_t i = 0; i < live_blocks; i++) {
        if (live_blocks > 1) blocks[i].shared.assign(bytes, static_cast<char>(0xff));
        blocks[i].start(shape, launch->request.traced);
        if (launch->meter) launch->meter->start_block(i, blocks[i].number, blocks[i].cluster);
    }
    if (launch->meter) launch->meter->enter_block(0);
    running = next_thread(0);
    running->stack = stacks.take();
    emulator_switch(&main_stack_pointer_, running->stack->parked);
    running = nullptr;
    if (launch->meter) launch->meter->end_blocks();
}

// Which blocks of the grid take turns now, and the barriers they can meet at.
void Worker::place_blocks(uint64_t group) {
    const Request& request = launch->request;
    uint64_t a_cluster = launch->blocks_a_cluster;
    for (size_t i = 0; i < live_blocks; i++) {
        uint64_t at = group * live_blocks + i;
        Block& here = blocks[i];
        here.rank = static_cast<unsigned>(at % a_cluster);
        here.cluster = static_cast<unsigned>(i / a_cluster);
        uint64_t cluster = at / a_cluster, rank = here.rank;
        uint64_t below = 1;
        here.number = 0;
        for (int axis = 0; axis < 3; axis++) {
            uint64_t wide = request.cluster[axis], clusters = request.grid[axis] / wide;
            here.axes[axis] = static_cast<unsigned>(cluster % clusters * wide + rank % wide);
            here.number += here.axes[axis] * below;
            below *= request.grid[axis];
            cluster /= clusters;
            rank /= wide;
        }
    }
    uint64_t threads = static_cast<uint64_t>(shape.threads);
    grid_barrier_ = {live_blocks * threads, 0, 0, 0};
    cluster_barriers_.assign(live_blocks / a_cluster, {a_cluster * threads, 0, 0, 0});
}

// The bottom of every stack. A parked fiber may be resumed by another OS thread, in a later launch,
// so this and run_threads must not use thread-local variables.
void Worker::fiber_main() { my_worker().run_threads(); }

void Worker::run_threads() {
    for (;;) {
        Thread& thread = *running;
        thread.state = State::running;
        in_runtime = false;
        launch->request.entry(launch->request.arguments);
        enter_runtime(nullptr);
        thread_exited(thread);

        Stack* stack = thread.stack;
        Thread* next = next_thread(shape.warp_of(thread));
        if (next && next->state == State::not_started) {
            // The next thread starts on this very stack: kernels without barriers never switch.
            running = next;
            running->stack = stack;
            continue;
        }
        stacks.give_back(stack);
        if (!next) {
            emulator_switch(&stack->parked, main_stack_pointer_);
        } else {
            running = next;
            emulator_switch(&stack->parked, running->stack_pointer);
        }
    }
}

void Worker::thread_exited(Thread& thread) {
    if (launch->request.traced) trace_settle(*this, thread);
    thread.state = State::exited;
    block->exited++;
    idle_polls_ = 0;
    finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    complete_without(thread);
}

// The next of this block that can go on, else of another; null when all have exited.
Thread* Worker::next_thread(int warp) {
    if (__builtin_expect(block->stepping, 0)) end_step(warp);
    int next = block->ready.take(warp, shape.lane_bits);
    return next >= 0 ? &block->threads[next] : next_elsewhere();
}

// Where no other lane of the warp can go on, those do that wait at its first instruction: the others are behind it.
void Worker::end_step(int warp) {
    if (block->ready.has(warp)) return;
    for (int i = 0; i < shape.warps() && !block->stepping_lanes[warp] && block->ready.is_empty(); i++) warp = i;
    uint32_t first = 0;
    uint64_t lowest = ~uint64_t(0);
    for (int lane : EachLane{block->stepping_lanes[warp]}) {
        uint64_t pc = block->threads[(warp << shape.lane_bits) + lane].received;
        if (pc < lowest) first = 0, lowest = pc;
        if (pc == lowest) first |= 1u << lane;
    }
    block->stepping_lanes[warp] &= ~first;
    if (launch->meter) launch->meter->hazards.note_step();
    block->stepping -= __builtin_popcount(first);
    block->ready.add(warp, first);
}

Thread* Worker::next_elsewhere() {
    size_t here = static_cast<size_t>(block - blocks.data());
    int exited = 0;
    for (size_t i = 1; i <= live_blocks; i++) {
        Block& other = blocks[(here + i) % live_blocks];
        exited += other.exited == shape.threads;
        if (other.ready.is_empty()) continue;
        enter_block(other);
        return &other.threads[other.ready.take(0, shape.lane_bits)];
    }
    if (exited == static_cast<int>(live_blocks)) return nullptr;
    if (!wake_pollers()) stalled();
    return next_elsewhere();
}

// Nobody else can go on: those that poll look again.
bool Worker::wake_pollers() {
    constexpr uint64_t most_idle_polls = 1 << 19;
    bool is_any = false;
    for (size_t i = 0; i < live_blocks; i++) {
        Block& other = blocks[i];
        for (int index; (index = other.polling.take(0, shape.lane_bits)) >= 0; is_any = true) {
            other.ready.add(index >> shape.lane_bits, 1u << (index & (shape.warp_size - 1)));
        }
    }
    return is_any && (idle_polls_ < most_idle_polls || launch->may_be_helped(blocks[0].number));
}

void Worker::enter_block(Block& next) {
    if (&next == block) return;
    size_t bytes = launch->library.shared_bytes;
    if (shared_low) {
        memcpy(block->shared.data(), shared_low, bytes);
        memcpy(shared_low, next.shared.data(), bytes);
    }
    block = &next;
    if (launch->meter) launch->meter->enter_block(static_cast<size_t>(block - blocks.data()));
}

void Worker::yield(Thread& thread, int next_warp) {
    Thread* next = next_thread(next_warp);
    if (next != &thread) resume(*next, &thread.stack_pointer);
    thread.state = State::running;
}

void Worker::resume(Thread& next, void** save) {
    running = &next;
    if (next.state == State::not_started) {
        next.stack = stacks.take();
        next.stack_pointer = next.stack->parked;
    }
    emulator_switch(save, next.stack_pointer);
}

// What costs in a barrier is waiting for the lines at the top of the next stack. After a barrier
// threads mostly run in the order of their numbers; where they do not, nothing is lost.
void Worker::prefetch_stack(int index) const {
    if (index >= shape.threads) return;
    const char* top = static_cast<const char*>(block->threads[index].stack_pointer);
    for (int line = 0; line < 4; line++) __builtin_prefetch(top + line * 64, 1);
}

void Worker::stalled() { abandon(describe_stall(*this)); }

void Worker::abandon(const Fault& fault) {
    launch->report(fault);
    in_runtime = true;
    stacks.reset();
    void* never_resumed;
    emulator_switch(&never_resumed, main_stack_pointer_);
    __builtin_unreachable();
}

void Worker::enter_runtime(const void* pc) {
    in_runtime = true;
    if (__builtin_expect(launch->stopped.load(std::memory_order_relaxed), 0)) stop_here(pc, false);
}

void Worker::stop_here(const void* pc, bool pc_is_exact) {
    abandon(describe_hang(*this, pc, pc_is_exact));
}

}  // namespace emulator
