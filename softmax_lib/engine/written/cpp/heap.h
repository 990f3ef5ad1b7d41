// malloc() and free() of kernels: a heap of the device, which lasts as long as its arrays do.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace emulator {

constexpr uint64_t MOST_TAKEN = 8 << 20;  // bytes, as many as a GPU has unless it is told otherwise

class Heap {
public:
    // null where there is no room
    void* take(uint64_t bytes) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (bytes > MOST_TAKEN - taken_) return nullptr;
        void* block = malloc(bytes ? bytes : 1);
        if (!block) return nullptr;
        memset(block, 0xff, bytes);  // what nobody has written is the same each time
        blocks_[reinterpret_cast<uint64_t>(block)] = bytes;
        taken_ += bytes;
        return block;
    }
    // false for what is no block, or no longer
    bool give_back(void* block) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto at = blocks_.find(reinterpret_cast<uint64_t>(block));
        if (at == blocks_.end()) return false;
        taken_ -= at->second;
        blocks_.erase(at);
        free(block);
        return true;
    }
    bool contains(uint64_t address, uint64_t size) {
        auto [start, bytes] = block_of(address);
        return bytes && address - start + size <= bytes;
    }
    // where it begins, and its bytes; zeros outside
    std::pair<uint64_t, uint64_t> block_of(uint64_t address) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto next = blocks_.upper_bound(address);
        if (next == blocks_.begin()) return {0, 0};
        auto [start, bytes] = *--next;
        return address - start < bytes ? std::pair(start, bytes) : std::pair<uint64_t, uint64_t>(0, 0);
    }
    void clear() {
        std::lock_guard<std::mutex> lock(mutex_);
        for (const auto& [address, bytes] : blocks_) free(reinterpret_cast<void*>(address));
        blocks_.clear();
        taken_ = 0;
    }

private:
    std::mutex mutex_;
    std::map<uint64_t, uint64_t> blocks_;   // bytes by address
    uint64_t taken_ = 0;
};

inline Heap& heap() {
    static Heap only;
    return only;
}

}  // namespace emulator
