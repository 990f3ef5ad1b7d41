#include "heap.h"

#include <cstdlib>

#include "kernel_interface.h"
#include "worker.h"

namespace emulator {

constexpr uint64_t MOST_TAKEN = 8 << 20;  // bytes, as many as a GPU has unless it is told otherwise

void* Heap::take(uint64_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > MOST_TAKEN - taken_) return nullptr;
    void* block = malloc(bytes ? bytes : 1);
    if (!block) return nullptr;
    blocks_[reinterpret_cast<uint64_t>(block)] = bytes;
    taken_ += bytes;
    return block;
}

bool Heap::give_back(void* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto at = blocks_.find(reinterpret_cast<uint64_t>(block));
    if (at == blocks_.end()) return false;
    taken_ -= at->second;
    blocks_.erase(at);
    free(block);
    return true;
}

bool Heap::contains(uint64_t address, uint64_t size) {
    auto [start, bytes] = block_of(address);
    return bytes && address - start + size <= bytes;
}

std::pair<uint64_t, uint64_t> Heap::block_of(uint64_t address) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return {0, 0};
    auto [start, bytes] = *--next;
    return address - start < bytes ? std::pair(start, bytes) : std::pair<uint64_t, uint64_t>(0, 0);
}

void Heap::clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [address, bytes] : blocks_) free(reinterpret_cast<void*>(address));
    blocks_.clear();
    taken_ = 0;
}

Heap& heap() {
    static Heap only;
    return only;
}

}  // namespace emulator

void* emulator_malloc(size_t bytes) {
    Worker& worker = my_worker();
    worker.enter_runtime(CALLER);
    void* block = emulator::heap().take(bytes);
    if (block && worker.launch->meter) worker.launch->meter->hazards.take_heap(reinterpret_cast<uint64_t>(block), bytes);
    worker.leave_runtime();
    return block;
}

void emulator_free(void* block) {
    Worker& worker = my_worker();
    worker.enter_runtime(CALLER);
    if (block && !emulator::heap().give_back(block)) {
        worker.abandon(emulator::describe_call(worker, "free() of what malloc() has not given, or has had back", CALLER));
    }
    if (worker.launch->meter) worker.launch->meter->hazards.give_back_heap(reinterpret_cast<uint64_t>(block));
    worker.leave_runtime();
}
