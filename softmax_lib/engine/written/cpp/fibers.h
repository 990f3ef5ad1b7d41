// Fibers: stacks, and switching between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel_interface.h"

namespace emulator {

// Saves the caller's registers on its stack, that stack's pointer in *save, and goes on where
// `resume` was saved. A few instructions: a switch costs 3 to 10 ns where ucontext's costs 150.
extern "C" void emulator_switch(void** save, void* resume);

// A stack whose fiber has not started, or has come back to the bottom of its loop.
struct Stack {
    char* low;         // the guard page; locals grow down from `top` towards it
    char* top;
    void* parked;      // for emulator_switch
};

constexpr size_t STACKS_A_SLAB = 128;
constexpr size_t SLAB_BYTES = STACKS_A_SLAB * STACK_BYTES;  // a power of two, as is its alignment

// The owner of the pool that the stack in use belongs to: each slab starts with that pointer.
inline void* owner_of_my_stack() {
    uintptr_t stack_pointer;
#if defined(__x86_64__)
    asm("movq %%rsp, %0" : "=r"(stack_pointer));
#else
    asm("mov %0, sp" : "=r"(stack_pointer));
#endif
    return *reinterpret_cast<void**>(stack_pointer & ~(SLAB_BYTES - 1));
}

// The stacks of one worker. They stay mapped between blocks and launches: mapping a thousand
// stacks takes longer than most launches do.
class StackPool {
public:
    StackPool(void* owner, void (*fiber_main)()) : owner_(owner), fiber_main_(fiber_main) {}
    ~StackPool();
    StackPool(const StackPool&) = delete;
    StackPool& operator=(const StackPool&) = delete;

    Stack* take();
    void give_back(Stack* stack) { free_.push_back(stack); }
    // Forgets every fiber, wherever it is: after a block that was given up half way.
    void reset();
    // Whether `address` lies in one of the stacks, guard pages included.
    bool contains(uintptr_t address) const;
    bool is_guard(uintptr_t address) const;

private:
    void map_slab();
    void prime(Stack& stack) const;

    // The first stack's place holds the owner instead.
    struct Slab {
        char* low;
        std::vector<Stack> stacks;
    };

    void* owner_;
    void (*fiber_main_)();
    std::vector<Slab> slabs_;
    std::vector<Stack*> free_;
};

}  // namespace emulator
