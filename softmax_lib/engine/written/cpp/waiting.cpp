// What threads wait at: barriers of a block, a cluster or the grid, warp calls, words of memory.
#include <cstring>

#include "warp_calls.h"
#include "worker.h"

namespace emulator {

// ---- barriers

int Worker::barrier(Operation operation, int predicate, Place place) {
    Thread& thread = *running;
    block->arrive(thread, operation, predicate, place);
    bool complete = block->arrived == shape.threads && (block->same_barrier || is_one_barrier());
    if (complete) release_barrier();
    prefetch_stack(thread.index + 3);
    yield(thread, complete ? 0 : shape.warp_of(thread));  // released threads go on in their order
    return block->barrier_result;
}

// Whether all threads are at barriers of one kind, and those of each warp at the same: for a GPU that is one barrier,
// though CUDA asks for more, and an x-ray is told.
bool Worker::is_one_barrier() {
    const Thread *first = block->first_arrived, *other = nullptr;
    for (int i = 0; i < shape.threads; i++) {
        const Thread &thread = block->threads[i], &of_warp = block->threads[i & ~(shape.warp_size - 1)];
        if (thread.operation != first->operation || !same_place(thread, of_warp)) return false;
        if (!other && !same_place(thread, *first)) other = &thread;
    }
    if (launch->meter) {
        const std::vector<OpenRecords>& at = block->open_records;
        launch->meter->hazards.note(engine::HazardKind::two_barriers, at[first->index].place, first->index, 0, at[other->index].place,
                                    other->index);
    }
    return true;
}

void Worker::release_barrier() {
    block->complete_barrier();
    idle_polls_ = 0;
    if (launch->meter) launch->meter->meet_block();
    for (int warp = 0; warp < shape.warps(); warp++) block->ready.add(warp, shape.lanes_of(warp));
}

WideBarrier& Worker::wide_barrier(Operation operation) {
    return operation == Operation::grid_barrier ? grid_barrier_ : cluster_barriers_[block->cluster];
}

uint64_t Worker::arrive(Operation operation, Place place, bool is_apart) {
    if (operation == Operation::grid_barrier && !launch->request.cooperative) {
        abandon(describe_failure(*this, "a barrier of the whole grid needs a cooperative launch", place));
    }
    WideBarrier& barrier = wide_barrier(operation);
    uint64_t phase = barrier.phase;
    idle_polls_ = 0;
    barrier.apart += is_apart;
    if (launch->meter && is_apart) launch->meter->hazards.arrive_apart(running->index);
    if (++barrier.arrived == barrier.expected) release_wide_barrier(operation, barrier);
    return phase;
}

void Worker::release_wide_barrier(Operation operation, WideBarrier& barrier) {
    if (launch->meter) launch->meter->meet_blocks(operation, barrier.apart == barrier.expected);
    barrier.arrived = barrier.apart = 0;
    barrier.phase++;
    for (size_t i = 0; i < live_blocks; i++) {
        Block& other = blocks[i];
        if (operation == Operation::cluster_barrier && other.cluster != block->cluster) continue;
        for (int index = 0; index < shape.threads; index++) {
            Thread& thread = other.threads[index];
            if (thread.state != State::at_wide_barrier || thread.operation != operation) continue;
            thread.state = State::at_barrier;
            other.ready.add(shape.warp_of(thread), 1u << shape.lane_of(thread));
        }
    }
}

void Worker::wait(Operation operation, uint64_t arrival, Place place) {
    Thread& thread = *running;
    if (wide_barrier(operation).phase != arrival) return;
    thread.operation = operation;
    thread.place = place;
    thread.state = State::at_wide_barrier;
    if (launch->request.traced) trace_settle(*this, thread);
    yield(thread, shape.warp_of(thread));
}

// ---- waiting for what another thread writes

void Worker::poll(Place place, const void* address) {
    Thread& thread = *running;
    thread.operation = Operation::poll;
    thread.place = place;
    thread.received = reinterpret_cast<uintptr_t>(address);
    thread.state = State::polling;
    idle_polls_++;
    if (launch->request.traced) trace_settle(*this, thread);
    block->polling.add(shape.warp_of(thread), 1u << shape.lane_of(thread));
    yield(thread, shape.warp_of(thread));
}

const void* Worker::look_again(const void* address, int patience, const void* pc) {
    IdleLook& look = this->look();
    constexpr int most_parts = 4;
    if (look.address && look.address != address && ++look.others < most_parts) return nullptr;
    if (look.address != address) look = {address, 0, 0, pc};
    look.others = 0;
    if (++look.times < patience) return nullptr;
    const void* first = look.pc;
    look = {};
    poll({nullptr, static_cast<int>(launch->library.site_of(pc))}, address);
    return first;
}

void Worker::keep_step(const void* pc) {
    Thread& thread = *running;
    int warp = shape.warp_of(thread);
    thread.received = reinterpret_cast<uintptr_t>(pc);
    thread.state = State::in_step;
    block->stepping_lanes[warp] |= 1u << shape.lane_of(thread);
    block->stepping++;
    yield(thread, warp);
}

// ---- shuffles and votes

uint64_t Worker::warp_call(const WarpCall& call, Place place) {
    Thread& thread = *running;
    int warp = shape.warp_of(thread), lane = shape.lane_of(thread);
    if (!(call.mask >> lane & 1)) {
        abandon(describe_failure(*this, "a lane calls a warp function whose mask leaves it out", place));
    }
    if (is_shuffle(call.operation) && (call.width - 1 > 31 || call.width & (call.width - 1))) {
        abandon(describe_failure(*this, "a shuffle's width is a power of two up to 32, and this one is not", place));
    }
    thread.operation = call.operation;
    thread.call = &call;
    thread.place = place;
    thread.state = State::in_warp_call;
    block->waiting_lanes[warp] |= 1u << lane;
    unsigned lanes = block->complete_lanes(shape, warp, call.mask);
    if (lanes) complete_warp_call(warp, lanes);
    yield(thread, warp);
    return thread.received;
}

void Worker::complete_warp_call(int warp, unsigned lanes) {
    Thread* threads = &block->threads[warp << shape.lane_bits];
    Exchange made;
    exchange(made, threads, lanes, shape.warp_size);
    for (int lane : EachLane{lanes}) {
        Thread& thread = threads[lane];
        thread.received = made.received[lane];
        int source = made.source[lane];
        if (!(lanes >> source & 1)) {  // a lane that takes no part
            if (launch->request.filler >= 0) memset(&thread.received, launch->request.filler, sizeof thread.received);
            uint32_t place = block->open_records[thread.index].place;
            if (launch->meter) launch->meter->hazards.note(engine::HazardKind::absent_lane, place, thread.index, source);
            source = lane;
        }
        if (launch->request.traced) trace_received(*this, thread, source);
    }
    idle_polls_ = 0;
    if (launch->meter) {
        const Thread& first = threads[__builtin_ctz(lanes)];
        bool is_sync = first.operation == Operation::syncwarp;
        launch->meter->call(block->open_records[first.index].place, first.operation, lanes);
        launch->meter->meet_warp(warp, lanes, lanes == shape.lanes_of(warp), is_sync);
    }
    block->waiting_lanes[warp] &= ~lanes;
    block->ready.add(warp, lanes);
}

// Those of its warp that have waited for a thread that exits go on.
void Worker::complete_without(const Thread& thread) {
    int warp = shape.warp_of(thread);
    for (unsigned left = block->waiting_lanes[warp]; left;) {
        int lane = __builtin_ctz(left);
        unsigned lanes = block->complete_lanes(shape, warp, block->threads[(warp << shape.lane_bits) + lane].call->mask);
        if (lanes) complete_warp_call(warp, lanes);
        left &= ~(lanes | 1u << lane);
    }
}

}  // namespace emulator
