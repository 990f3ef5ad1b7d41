// Blocks, barriers, shuffles and votes: who runs, who waits, who goes on.
#include <cstring>

#include "worker.h"

namespace emulator {

__thread Worker* current_worker = nullptr;

// ---- which threads can go on

void ReadySet::clear(int warps) {
    words_ = (warps + 63) / 64;
    memset(lanes_, 0, warps * sizeof *lanes_);
    memset(warps_, 0, words_ * sizeof *warps_);
}

void ReadySet::add(int warp, uint32_t lanes) {
    lanes_[warp] |= lanes;
    if (lanes_[warp]) warps_[warp / 64] |= uint64_t(1) << warp % 64;
}

int ReadySet::take(int warp, int lane_bits) {
    if (!lanes_[warp]) warp = next_warp(warp);
    if (warp < 0) return -1;
    int lane = __builtin_ctz(lanes_[warp]);
    lanes_[warp] &= lanes_[warp] - 1;
    if (!lanes_[warp]) warps_[warp / 64] &= ~(uint64_t(1) << warp % 64);
    return (warp << lane_bits) + lane;
}

int ReadySet::next_warp(int warp) const {
    uint64_t above = ~uint64_t(0) << warp % 64;
    for (int i = 0; i <= words_; i++) {  // the first word twice: it wraps around
        int word = (warp / 64 + i) % words_;
        uint64_t found = warps_[word] & (i == 0 ? above : ~uint64_t(0));
        if (found) return word * 64 + __builtin_ctzll(found);
    }
    return -1;
}

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

// ---- running blocks

Worker::Worker() : stacks(this, fiber_main), signal_stack(64 << 10), rescue_stack(256 << 10) {}

void Worker::run(Launch& given) {
    launch = &given;
    const Request& request = given.request;
    thread_count = request.block_size;
    warp_size = request.warp_size;
    lane_bits = __builtin_ctz(static_cast<unsigned>(warp_size));
    all_lanes_ = ~0u >> (32 - warp_size);
    if (threads.size() < static_cast<size_t>(thread_count)) threads.resize(thread_count);
    find_shared_memory();
    uint64_t end = request.first_block + request.blocks;
    while (!given.faulted && given.stop == StopReason::none) {
        uint64_t taken = given.next_block.fetch_add(1);
        if (taken >= end) break;
        run_block(taken);
    }
    if (given.meter && !given.meter->is_complete && !given.faulted) {
        Fault fault{};
        fault.kind = FaultKind::record_limit;
        given.report(fault);
    }
    if (request.traced) trace_relocate(*this);
}

void Worker::run_block(uint64_t number) {
    block = number;
    start_block();
    running = &threads[ready_.take(0, lane_bits)];
    running->stack = stacks.take();
    emulator_switch(&main_stack_pointer_, running->stack->parked);
    running = nullptr;
    if (launch->meter) launch->meter->end_block();
}

void Worker::start_block() {
    // What no thread of this block wrote reads as NaN, in every block alike.
    if (shared_low) memset(shared_low, 0xff, launch->library.shared_bytes);
    int warps = (thread_count + warp_size - 1) >> lane_bits;
    ready_.clear(warps);
    memset(waiting_lanes_, 0, warps * sizeof *waiting_lanes_);
    for (int i = 0; i < thread_count; i++) {
        Thread& thread = threads[i];
        thread.index = i;
        thread.state = State::not_started;
    }
    if (launch->meter) launch->meter->start_block(block);
    if (launch->request.traced) open_records.assign(thread_count, OpenRecords());
    for (int warp = 0; warp < warps; warp++) ready_.add(warp, existing_lanes(warp));
    exited_ = arrived_ = predicates_ = 0;
    first_arrived_ = nullptr;
    same_barrier_ = true;
}

// The bottom of every stack. A parked fiber may be resumed by another OS thread, in a later launch,
// so this and run_threads must not use thread-local variables.
void Worker::fiber_main() { my_worker().run_threads(); }

void Worker::run_threads() {
    for (;;) {
        Thread& thread = *running;
        thread.state = State::running;
        in_runtime = false;
        launch->request.entry(launch->arguments.data());
        enter_runtime(nullptr);
        thread_exited(thread);

        Stack* stack = thread.stack;
        int next = ready_.take(warp_of(thread), lane_bits);
        if (next >= 0 && threads[next].state == State::not_started) {
            // The next thread starts on this very stack: kernels without barriers never switch.
            running = &threads[next];
            running->stack = stack;
            continue;
        }
        if (next < 0 && exited_ < thread_count) stalled();
        stacks.give_back(stack);
        if (next < 0) {
            emulator_switch(&stack->parked, main_stack_pointer_);
        } else {
            running = &threads[next];
            emulator_switch(&stack->parked, running->stack_pointer);
        }
    }
}

void Worker::thread_exited(Thread& thread) {
    if (launch->request.traced) trace_settle_store(*this, thread);
    thread.state = State::exited;
    exited_++;
    finished.store(finished.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Worker::yield(Thread& thread, int next_warp) {
    int next = ready_.take(next_warp, lane_bits);
    if (next < 0) stalled();
    if (next == thread.index) return;
    resume(threads[next], &thread.stack_pointer);
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
    if (index >= thread_count) return;
    const char* top = static_cast<const char*>(threads[index].stack_pointer);
    for (int line = 0; line < 4; line++) __builtin_prefetch(top + line * 64, 1);
}

void Worker::stalled() { abandon(describe_stall(*this)); }

void Worker::abandon(const Fault& fault) {
    launch->report(fault);
    leave_block();
}

void Worker::leave_block() {
    in_runtime = true;
    stacks.reset();
    void* never_resumed;
    emulator_switch(&never_resumed, main_stack_pointer_);
    __builtin_unreachable();
}

void Worker::enter_runtime(const void* pc) {
    in_runtime = true;
    if (__builtin_expect(launch->stop.load(std::memory_order_relaxed) != StopReason::none, 0)) {
        stop_here(pc, false);
    }
}

void Worker::stop_here(const void* pc, bool pc_is_exact) {
    if (launch->stop == StopReason::hang) abandon(describe_hang(*this, pc, pc_is_exact));
    leave_block();
}

unsigned Worker::existing_lanes(int warp) const {
    int missing = ((warp + 1) << lane_bits) - thread_count;  // in the last warp
    return all_lanes_ >> (missing > 0 ? missing : 0);
}

// ---- barriers

static bool same_place(const Thread& a, const Thread& b) {
    return a.operation == b.operation && a.place.line == b.place.line &&
           (a.place.file == b.place.file || strcmp(a.place.file, b.place.file) == 0);
}

int Worker::barrier(Operation operation, int predicate, Place place) {
    Thread& thread = *running;
    thread.operation = operation;
    thread.place = place;
    thread.state = State::at_barrier;
    if (!first_arrived_) first_arrived_ = &thread;
    same_barrier_ = same_barrier_ && same_place(*first_arrived_, thread);
    predicates_ += predicate != 0;
    bool complete = ++arrived_ == thread_count && same_barrier_;
    if (complete) release_barrier();
    prefetch_stack(thread.index + 3);
    yield(thread, complete ? 0 : warp_of(thread));  // released threads go on in their order
    thread.state = State::running;
    return barrier_result_;
}

void Worker::release_barrier() {
    switch (first_arrived_->operation) {
        case Operation::barrier_and: barrier_result_ = predicates_ == thread_count; break;
        case Operation::barrier_or: barrier_result_ = predicates_ != 0; break;
        default: barrier_result_ = predicates_;
    }
    if (launch->meter) launch->meter->meet_block();
    arrived_ = predicates_ = 0;
    first_arrived_ = nullptr;
    for (int warp = 0; warp << lane_bits < thread_count; warp++) ready_.add(warp, existing_lanes(warp));
}

// ---- shuffles and votes

uint64_t Worker::warp_call(const WarpCall& call, Place place) {
    Thread& thread = *running;
    int warp = warp_of(thread), lane = lane_of(thread);
    if (!(call.mask >> lane & 1)) {
        abandon(describe_failure(*this, "a lane calls a warp function whose mask leaves it out", place));
    }
    thread.operation = call.operation;
    thread.call = &call;
    thread.place = place;
    thread.state = State::in_warp_call;
    waiting_lanes_[warp] |= 1u << lane;
    // Lanes that the block does not have are not waited for; lanes that have exited are, in vain.
    unsigned lanes = call.mask & existing_lanes(warp);
    if ((waiting_lanes_[warp] & lanes) == lanes) complete_warp_call(warp, lanes);
    yield(thread, warp);
    thread.state = State::running;
    return thread.received;
}

// All `lanes` are waiting: lets them go on if they wait at the same call.
void Worker::complete_warp_call(int warp, unsigned lanes) {
    const Thread* warp_threads = &threads[warp << lane_bits];
    const Thread& first = warp_threads[__builtin_ctz(lanes)];
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        const Thread& other = warp_threads[__builtin_ctz(rest)];
        if (other.call->mask != first.call->mask || other.operation != first.operation) return;
    }
    exchange(warp, lanes);
    if (launch->meter && lanes == existing_lanes(warp)) launch->meter->meet_warp(warp);
    waiting_lanes_[warp] &= ~lanes;
    ready_.add(warp, lanes);
}

// The lane that a shuffle reads. One outside of its segment is replaced by the caller's own.
static int source_lane(const WarpCall& call, int lane, int warp_size) {
    int width = static_cast<int>(call.width), argument = static_cast<int>(call.argument);
    int segment = lane & ~(width - 1);
    int source = lane;
    switch (call.operation) {
        case Operation::shuffle: return segment + (argument & (width - 1));
        case Operation::shuffle_up: source = lane - argument; return source < segment ? lane : source;
        case Operation::shuffle_down: source = lane + argument; break;
        case Operation::shuffle_xor: source = lane ^ argument; break;
        default: return lane;
    }
    return source >= segment + width || source >= warp_size || source < 0 ? lane : source;
}

static uint64_t vote(Operation operation, unsigned lanes, unsigned yes) {
    switch (operation) {
        case Operation::ballot: return yes;
        case Operation::any: return yes != 0;
        case Operation::all: return yes == lanes;
        default: return 0;
    }
}

void Worker::exchange(int warp, unsigned lanes) {
    Thread* warp_threads = &threads[warp << lane_bits];
    uint64_t given[32];
    unsigned yes = 0;
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        given[lane] = warp_threads[lane].call->value;
        if (given[lane]) yes |= 1u << lane;
    }
    for (unsigned rest = lanes; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        Thread& thread = warp_threads[lane];
        const WarpCall& call = *thread.call;
        int source = lane;
        if (call.operation >= Operation::ballot || call.operation == Operation::syncwarp) {
            thread.received = vote(call.operation, lanes, yes);
        } else {
            source = source_lane(call, lane, warp_size);
            if (!(lanes >> source & 1)) {  // a lane that takes no part: own value
                if (launch->meter) launch->meter->absent_lane(open_records[thread.index].place, thread.index, source);
                source = lane;
            }
            thread.received = given[source];
        }
        if (launch->request.traced) trace_received(*this, thread, source);
    }
}

bool Worker::speaks_for(const Thread& thread, const WarpCall* call) const {
    if (!call) return thread.index == 0;
    unsigned lanes = call->mask & existing_lanes(warp_of(thread));
    return lane_of(thread) == __builtin_ctz(lanes);
}

unsigned Worker::active_mask() const {
    int warp = warp_of(*running);
    unsigned lanes = existing_lanes(warp);
    for (int lane = 0; lane < warp_size; lane++) {
        if ((lanes >> lane & 1) && threads[(warp << lane_bits) + lane].state == State::exited) {
            lanes &= ~(1u << lane);
        }
    }
    return lanes;
}

}  // namespace emulator

// ---- what kernels call

using emulator::my_worker;

unsigned emulator_thread_index() { return static_cast<unsigned>(my_worker().running->index); }

unsigned emulator_block_index() { return static_cast<unsigned>(my_worker().block); }

unsigned emulator_block_size() { return static_cast<unsigned>(my_worker().thread_count); }

unsigned emulator_grid_size() { return static_cast<unsigned>(my_worker().launch->request.grid); }

int emulator_barrier(emulator::Operation operation, int predicate, emulator::Place place) noexcept {
    emulator::Worker& worker = my_worker();
    worker.enter_runtime(__builtin_return_address(0));
    if (worker.launch->request.traced) {
        emulator::trace_call(worker, operation, nullptr, __builtin_return_address(0));
    }
    int result = worker.barrier(operation, predicate, place);
    worker.leave_runtime();
    return result;
}

uint64_t emulator_warp_call(const emulator::WarpCall& call, emulator::Place place) noexcept {
    emulator::Worker& worker = my_worker();
    worker.enter_runtime(__builtin_return_address(0));
    if (worker.launch->request.traced) {
        emulator::trace_call(worker, call.operation, &call, __builtin_return_address(0));
    }
    uint64_t result = worker.warp_call(call, place);
    worker.leave_runtime();
    return result;
}

unsigned emulator_active_mask() { return my_worker().active_mask(); }

void emulator_fail(const char* what, emulator::Place place) {
    emulator::Worker& worker = my_worker();
    worker.enter_runtime(__builtin_return_address(0));
    worker.abandon(emulator::describe_failure(worker, what, place));
}
