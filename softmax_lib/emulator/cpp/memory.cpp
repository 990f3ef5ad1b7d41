// Emulated device memory: pages between wide guard zones that fault when touched.
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_interface.h"

// Wide enough that any int offset from an array of floats that leaves it ends in a guard zone.
static constexpr uint64_t WIDE_GUARD = uint64_t(8) << 30;
static constexpr uint64_t NARROW_GUARD = 1 << 20;  // where address space is scarce

static uint64_t reserve(uint64_t bytes, uint64_t guard) {
    void* low = mmap(nullptr, bytes + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    return low == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(low);
}

EMULATOR_API uint64_t emulator_page_size() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

// Maps `bytes`, a multiple of the page size, of zeros; pages that are never touched take no memory.
// Returns the address, 0 when there is no room, and the width of the guard zones in *guard.
EMULATOR_API uint64_t emulator_map(uint64_t bytes, uint64_t* guard) {
    *guard = WIDE_GUARD;
    uint64_t low = reserve(bytes, *guard);
    if (!low) low = reserve(bytes, *guard = NARROW_GUARD);
    if (!low) return 0;
    void* usable = reinterpret_cast<void*>(low + *guard);
    if (mprotect(usable, bytes, PROT_READ | PROT_WRITE) == 0) return low + *guard;
    munmap(reinterpret_cast<void*>(low), bytes + 2 * *guard);
    return 0;
}

EMULATOR_API void emulator_unmap(uint64_t address, uint64_t bytes, uint64_t guard) {
    munmap(reinterpret_cast<void*>(address - guard), bytes + 2 * guard);
}
