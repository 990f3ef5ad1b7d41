// What kernels call beside barriers and shuffles: atomics, and printf.
#include <cstdarg>
#include <cstdio>

#include "trace.h"
#include "worker.h"

// ---- atomics

static uint64_t load_atomically(const void* address, int size) {
    if (size == 4) return __atomic_load_n(static_cast<const uint32_t*>(address), __ATOMIC_RELAXED);
    return __atomic_load_n(static_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

static bool exchange_if(void* address, int size, uint64_t expected, uint64_t desired) {
    if (size == 4) {
        uint32_t before = static_cast<uint32_t>(expected);
        return __atomic_compare_exchange_n(static_cast<uint32_t*>(address), &before,
                                           static_cast<uint32_t>(desired), false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    }
    return __atomic_compare_exchange_n(static_cast<uint64_t*>(address), &expected, desired, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

uint64_t emulator_atomic_load(const void* address, int size) {
    emulator::Worker& worker = emulator::my_worker();
    if (worker.launch->request.traced) {
        emulator::trace_before_atomic(worker, address, size, __builtin_return_address(0));
    }
    return load_atomically(address, size);
}

bool emulator_atomic_exchange_if(void* address, int size, uint64_t expected, uint64_t desired) {
    emulator::Worker& worker = emulator::my_worker();
    bool done = exchange_if(address, size, expected, desired);
    if (done && worker.launch->request.traced) {
        emulator::trace_after_atomic(worker, address, size, expected, desired, __builtin_return_address(0));
    }
    return done;
}

// ---- printf, whose locks a signal must not find taken

int emulator_print(const char* format, ...) {
    emulator::Worker& worker = emulator::my_worker();
    worker.enter_runtime(__builtin_return_address(0));
    va_list arguments;
    va_start(arguments, format);
    int printed = vprintf(format, arguments);
    va_end(arguments);
    worker.leave_runtime();
    return printed;
}
