// malloc() and free() of kernels: a heap of the device, which lasts as long as its arrays do.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

namespace emulator {

class Heap {
public:
    void* take(uint64_t bytes);        // null where there is no room
    bool give_back(void* block);       // false for what is no block, or no longer
    bool contains(uint64_t address, uint64_t size);
    std::pair<uint64_t, uint64_t> block_of(uint64_t address);   // where it begins, and its bytes; zeros outside
    void clear();

private:
    std::mutex mutex_;
    std::map<uint64_t, uint64_t> blocks_;   // bytes by address
    uint64_t taken_ = 0;
};

Heap& heap();

}  // namespace emulator
