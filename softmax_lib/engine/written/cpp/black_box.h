// What is left of a process that has ended: a page that Python shares.
#pragma once
#include <cstdint>

namespace emulator {

struct BlackBox {
    uint64_t block, pc, address;  // as in Fault
    int32_t thread;
    int32_t signal;               // 0: nothing is known
    int32_t is_guard;             // `address` is below a stack
    int32_t pc_is_exact;
};

void open_black_box(int file);
BlackBox& black_box();

}  // namespace emulator
