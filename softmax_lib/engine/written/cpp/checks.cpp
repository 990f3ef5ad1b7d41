// What -fsanitize=alignment, object-size, bounds and signed-integer-overflow call before what C++ leaves undefined:
// no libubsan is linked, these are ours. The names and structs are UndefinedBehaviorSanitizer's.
#include "worker.h"

namespace emulator {

struct CheckedPlace {
    const char* file;   // the reader's are relative
    uint32_t line, column;
};
struct CheckedType {
    uint16_t kind, info;   // kind 0, an integer: twice the logarithm of its bits, and whether it has a sign
};
struct CheckedAccess {
    CheckedPlace place;
    const CheckedType* type;
    uint8_t log_alignment, kind;   // 0: a load; 1: a store; more: what is no access yet
};
struct CheckedOperation {
    CheckedPlace place;
    const CheckedType* type;
};

[[noreturn]] static void leave_local(Worker& worker, Access access, const void* pc) {
    worker.enter_runtime(pc);
    Fault fault = describe_call(worker, "", pc);
    fault.kind = FaultKind::address;
    fault.access = access;
    fault.is_local = true;
    worker.abandon(fault);
}

[[noreturn]] static void leave_misaligned(Worker& worker, Access access, uintptr_t address, int size, const void* pc) {
    worker.enter_runtime(pc);
    Fault fault = describe_access(worker, access, size, address, pc);
    fault.is_misaligned = true;
    worker.abandon(fault);
}

// Of an int: wider ones are hashes and random numbers, which are to wrap.
static void note_overflow(const CheckedOperation& done, int64_t result, const void* pc) {
    Worker& worker = my_worker();
    constexpr uint16_t SIGNED_32 = 5 << 1 | 1;
    if (!worker.launch->meter || done.type->info != SIGNED_32 || done.place.file[0] == '/') return;
    Entered inside(pc);
    Meter& meter = *worker.launch->meter;
    meter.hazards.overflow(meter.place_of(worker.launch->library.site_of(pc)), worker.running->index, result);
}

static int64_t as_int(void* value) { return static_cast<int32_t>(reinterpret_cast<uintptr_t>(value)); }

}  // namespace emulator

constexpr uint8_t REFERENCE = 2, MEMBER_CALL = 4;
#define CALLED_FROM __builtin_return_address(0)

// A misaligned access, where no hook sees it; or one past the end of a thread's own array. Those of other memory have their
// places, which the hooks know.
EMULATOR_API void __ubsan_handle_type_mismatch_v1(const emulator::CheckedAccess* access, void* pointer) {
    emulator::Worker& worker = emulator::my_worker();
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer), alignment = uintptr_t(1) << access->log_alignment;
    constexpr emulator::Access KINDS[] = {emulator::Access::load, emulator::Access::store};
    emulator::Access what = access->kind < 2 ? KINDS[access->kind] : emulator::Access::unknown;
    if (access->kind == REFERENCE || access->kind == MEMBER_CALL) return;  // an access, if there is one, comes later
    if (address % alignment) emulator::leave_misaligned(worker, what, address, static_cast<int>(alignment), CALLED_FROM);
    if (worker.stacks.contains(address)) emulator::leave_local(worker, what, CALLED_FROM);
}
// Only arrays in structs come here: assembly.py takes the line from the others.
EMULATOR_API void __ubsan_handle_out_of_bounds(const emulator::CheckedPlace* place, void*) {
    if (place->line) emulator::leave_local(emulator::my_worker(), emulator::Access::unknown, CALLED_FROM);
}

#define EMULATOR_OVERFLOW(name, operation)                                                               \
    EMULATOR_API void __ubsan_handle_##name##_overflow(const emulator::CheckedOperation* done, void* a, void* b) { \
        emulator::note_overflow(*done, emulator::as_int(a) operation emulator::as_int(b), CALLED_FROM);   \
    }
EMULATOR_OVERFLOW(add, +) EMULATOR_OVERFLOW(sub, -) EMULATOR_OVERFLOW(mul, *)
EMULATOR_API void __ubsan_handle_negate_overflow(const emulator::CheckedOperation* done, void* a) {
    emulator::note_overflow(*done, -emulator::as_int(a), CALLED_FROM);
}
EMULATOR_API void __ubsan_handle_divrem_overflow(const emulator::CheckedOperation*, void*, void*) {}
