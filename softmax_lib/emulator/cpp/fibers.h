// Fibers: stacks, and switching between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

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

// The stacks of one worker. They stay mapped between blocks and launches: mapping a thousand
// stacks takes longer than most launches do.
class StackPool {
public:
    explicit StackPool(void (*fiber_main)()) : fiber_main_(fiber_main) {}
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

    static constexpr size_t bytes_a_stack = 64 << 10;

private:
    void map_more();
    void prime(Stack& stack);
    ptrdiff_t offset_in_slab(uintptr_t address) const;

    struct Slab {
        char* low;
        std::vector<Stack> stacks;
    };
    static constexpr int stacks_a_slab = 128;

    void (*fiber_main_)();
    std::vector<Slab> slabs_;
    std::vector<Stack*> free_;
};

}  // namespace emulator
