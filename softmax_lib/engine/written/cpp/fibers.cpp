#include "fibers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <new>

// ---- switching: save what the calling convention says a callee keeps, swap stack pointers

#if defined(__APPLE__)
#define SYMBOL(name) "_" name
#define HIDDEN(name) ".private_extern _" name "\n"
#else
#define SYMBOL(name) name
#define HIDDEN(name) ".hidden " name "\n.type " name ",%function\n"
#endif

#if defined(__x86_64__)

asm(".text\n.globl " SYMBOL("emulator_switch") "\n" HIDDEN("emulator_switch")
    SYMBOL("emulator_switch") R"(:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

// What the first switch to a stack pops: six registers, then the address that `ret` jumps to.
// A function expects its stack pointer 8 past a multiple of 16, as after a call.
static void* prepare(char* top, void (*start)()) {
    void** slot = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
    *--slot = nullptr;  // the return address of `start`, which never returns
    *--slot = reinterpret_cast<void*>(start);
    for (int i = 0; i < 6; i++) *--slot = nullptr;
    return slot;
}

#elif defined(__aarch64__)

asm(".text\n.globl " SYMBOL("emulator_switch") "\n" HIDDEN("emulator_switch")
    SYMBOL("emulator_switch") R"(:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");

// Twenty saved registers; x30, the twelfth, is where `ret` jumps to.
static void* prepare(char* top, void (*start)()) {
    uint64_t* saved = reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 20;
    memset(saved, 0, 20 * sizeof *saved);
    saved[11] = reinterpret_cast<uint64_t>(start);
    return saved;
}

#else
#error "the emulator switches fibers on x86-64 and on 64-bit ARM only"
#endif

// ---- stacks

namespace emulator {

static size_t page_size() {
    static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

StackPool::~StackPool() {
    for (Slab& slab : slabs_) munmap(slab.low, SLAB_BYTES);
}

Stack* StackPool::take() {
    if (free_.empty()) map_slab();
    Stack* stack = free_.back();
    free_.pop_back();
    return stack;
}

// SLAB_BYTES at a multiple of SLAB_BYTES: maps twice as much and gives the ends back.
static char* map_aligned() {
    void* mapped = mmap(nullptr, 2 * SLAB_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    uintptr_t low = reinterpret_cast<uintptr_t>(mapped);
    uintptr_t aligned = (low + SLAB_BYTES - 1) & ~(SLAB_BYTES - 1);
    if (aligned > low) munmap(mapped, aligned - low);
    munmap(reinterpret_cast<void*>(aligned + SLAB_BYTES), low + SLAB_BYTES - aligned);
    return reinterpret_cast<char*>(aligned);
}

void StackPool::map_slab() {
    slabs_.push_back({map_aligned(), std::vector<Stack>(STACKS_A_SLAB - 1)});
    Slab& slab = slabs_.back();
    *reinterpret_cast<void**>(slab.low) = owner_;
    for (size_t i = STACKS_A_SLAB - 1; i > 0; i--) {
        Stack& stack = slab.stacks[i - 1];
        stack.low = slab.low + i * STACK_BYTES;
        mprotect(stack.low, page_size(), PROT_NONE);
        // Staggered by some lines: stacks at equal offsets would fight for the same few cache sets.
        stack.top = stack.low + STACK_BYTES - i * 7 % 64 * 64;
        prime(stack);
        free_.push_back(&stack);
    }
}

void StackPool::prime(Stack& stack) const { stack.parked = prepare(stack.top, fiber_main_); }

void StackPool::reset() {
    free_.clear();
    for (Slab& slab : slabs_) {
        for (Stack& stack : slab.stacks) {
            prime(stack);
            free_.push_back(&stack);
        }
    }
}

bool StackPool::contains(uintptr_t address) const {
    for (const Slab& slab : slabs_) {
        if (address - reinterpret_cast<uintptr_t>(slab.low) < SLAB_BYTES) return true;
    }
    return false;
}

bool StackPool::is_guard(uintptr_t address) const {
    return contains(address) && address % STACK_BYTES < page_size();
}

}  // namespace emulator
