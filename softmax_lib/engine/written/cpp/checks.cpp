// What compilers call before a kernel does what C++ leaves open, or what a GPU does otherwise: the other half of -fsanitize
// in flags.py. No libubsan is linked, these are ours. The names and structs are UndefinedBehaviorSanitizer's.
#include <cmath>

#include "conversions.h"
#include "worker.h"

namespace emulator {

struct CheckedPlace {
    const char* file;   // the reader's are relative
    uint32_t line, column;
};
struct CheckedType {
    uint16_t kind, info;   // a whole number: whether it has a sign, and above that the logarithm of its bits
    int bits() const { return 1 << (info >> 1); }
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
    worker.launch->meter->hazards.note(engine::HazardKind::overflow, worker.launch->place_of(pc), worker.running->index,
                                       static_cast<uint64_t>(result));
}

static int64_t as_int(void* value) { return static_cast<int32_t>(reinterpret_cast<uintptr_t>(value)); }

// ---- floats that become whole numbers (casts.py)

// What an unsigned number becomes: of 32 bits, the lowest of which are a shorter one's, or of 64. g++ makes the latter of
// what is left above 2^63, and turns the highest bit over.
template <class Bits, class Float> static Cast cast_of(Float x, int to_bits, const CheckedPlace& where) {
    bool is_upper = to_bits == 64 && x >= Float(0x1p63);
    uint64_t made = to_bits == 64 ? saturate<uint64_t>(std::trunc(x)) : saturate<uint32_t>(std::trunc(x));
    uint64_t bits = bits_as<Bits>(is_upper ? x - Float(0x1p63) : x);
    return {bits, made ^ uint64_t(is_upper) << 63, true, sizeof x == 8, to_bits >= 32, where.line, where.column};
}

template <class Float> static uint64_t signed_cast(Float x, bool is_wide) {
    return is_wide ? (uint64_t)saturate<int64_t>(std::trunc(x)) : (uint32_t)saturate<int32_t>(std::trunc(x));
}

static Casts& my_casts() {
    Worker& worker = my_worker();
    Casts& casts = worker.casts;
    if (casts.thread != worker.running || casts.block != worker.block->number) casts = {worker.running, worker.block->number, {}, {}, 0};
    return casts;
}

// What an instruction at a line and column makes of a float's bits: as was told, or else a signed number where it has
// `made` what it makes of none.
extern "C" __attribute__((visibility("hidden"), used)) uint64_t emulator_settled_cast(uint64_t bits, uint64_t made,
                                                                                     unsigned what, const void* pc) {
    unsigned kind = what & 3, line = what >> 14, column = what >> 2 & 0xfff;
    bool is_wide = kind & 1, is_double = kind & 2;
    Casts& casts = my_casts();
    for (unsigned i = 0; i < std::size(casts.told); i++) {
        Cast& told = casts.told[(casts.count + i) % std::size(casts.told)];
        if (!told.is(bits, kind)) continue;
        casts.last = told;
        told = {};
        return casts.last.made;
    }
    // what is told of an expression is told before any of it is made
    if (casts.last.is(bits, kind) && casts.last.line == line && column <= casts.last.column) {
        Entered worker(pc);
        worker->abandon(describe_call(*worker, "one number becomes a signed and an unsigned one, out of range; give each a line of its own", pc));
    }
    if (made != (is_wide ? uint64_t(1) << 63 : 0x80000000)) return made;
    return is_double ? signed_cast(bits_as<double>(bits), is_wide) : signed_cast(bits_as<float>((uint32_t)bits), is_wide);
}

#if defined(__x86_64__) && !defined(__APPLE__)
// On the stack are what it was called with, what the instruction has made, flags, and the float's bits. Only what was
// made changes.
asm(R"(
    .globl emulator_settle_cast
    .type emulator_settle_cast, @function
emulator_settle_cast:
    pushq %rbp; movq %rsp, %rbp
    pushq %rax; pushq %rcx; pushq %rdx; pushq %rsi; pushq %rdi; pushq %r8; pushq %r9; pushq %r10; pushq %r11
    subq $512, %rsp; andq $-16, %rsp; fxsave64 (%rsp)
    movq 40(%rbp), %rdi; movq 24(%rbp), %rsi; movq 16(%rbp), %rdx; movq 8(%rbp), %rcx
    call emulator_settled_cast
    movq %rax, 24(%rbp)
    fxrstor64 (%rsp); leaq -72(%rbp), %rsp
    popq %r11; popq %r10; popq %r9; popq %r8; popq %rdi; popq %rsi; popq %rdx; popq %rcx; popq %rax
    popq %rbp; ret
    .size emulator_settle_cast, . - emulator_settle_cast
)");
#endif

}  // namespace emulator

constexpr uint8_t REFERENCE = 2, MEMBER_CALL = 4;

// A misaligned access, where no hook sees it; or one past the end of a thread's own array. Those of other memory have their
// places, which the hooks know.
EMULATOR_API void __ubsan_handle_type_mismatch_v1(const emulator::CheckedAccess* access, void* pointer) {
    emulator::Worker& worker = emulator::my_worker();
    uintptr_t address = reinterpret_cast<uintptr_t>(pointer), alignment = uintptr_t(1) << access->log_alignment;
    constexpr emulator::Access KINDS[] = {emulator::Access::load, emulator::Access::store};
    emulator::Access what = access->kind < 2 ? KINDS[access->kind] : emulator::Access::unknown;
    if (access->kind == REFERENCE || access->kind == MEMBER_CALL) return;  // an access, if there is one, comes later
    if (address % alignment) emulator::leave_misaligned(worker, what, address, static_cast<int>(alignment), CALLER);
    if (worker.stacks.contains(address)) emulator::leave_local(worker, what, CALLER);
}
// Only arrays in structs come here: assembly.py takes the line from the others.
EMULATOR_API void __ubsan_handle_out_of_bounds(const emulator::CheckedPlace* place, void*) {
    if (place->line) emulator::leave_local(emulator::my_worker(), emulator::Access::unknown, CALLER);
}

#define EMULATOR_OVERFLOW(name, operation)                                                               \
    EMULATOR_API void __ubsan_handle_##name##_overflow(const emulator::CheckedOperation* done, void* a, void* b) { \
        emulator::note_overflow(*done, emulator::as_int(a) operation emulator::as_int(b), CALLER);   \
    }
EMULATOR_OVERFLOW(add, +) EMULATOR_OVERFLOW(sub, -) EMULATOR_OVERFLOW(mul, *)
EMULATOR_API void __ubsan_handle_negate_overflow(const emulator::CheckedOperation* done, void* a) {
    emulator::note_overflow(*done, -emulator::as_int(a), CALLER);
}
EMULATOR_API void __ubsan_handle_divrem_overflow(const emulator::CheckedOperation*, void*, void*) {}

// The next instruction that makes a whole number of these bits makes what a GPU does. Signed ones need nobody to tell.
EMULATOR_API void __ubsan_handle_float_cast_overflow(const emulator::CheckedPlace* where, uint64_t bits) {
    // Without a place the types stand first, of which the first byte is no letter.
    auto types = reinterpret_cast<const emulator::CheckedType* const*>(where);
    types += types[0]->kind > 1 ? sizeof(emulator::CheckedPlace) / sizeof *types : 0;
    if (types[1]->info & 1) return;
    emulator::Casts& casts = emulator::my_casts();
    casts.last = {};
    int to_bits = types[1]->bits();
    casts.told[casts.count++ % std::size(casts.told)] = types[0]->info == 64
        ? emulator::cast_of<uint64_t>(emulator::bits_as<double>(bits), to_bits, *where)
        : emulator::cast_of<uint32_t>(emulator::bits_as<float>((uint32_t)bits), to_bits, *where);
}

// One that shifts.py has left alone.
EMULATOR_API void __ubsan_handle_shift_out_of_bounds(const emulator::CheckedOperation* done, uint64_t, uint64_t amount) {
    Entered worker(CALLER);
    std::string what = "a shift of " + std::to_string(done->type->bits()) + " bits by " + std::to_string((int32_t)amount);
    what += ", which the emulator cannot do as a GPU does where it stands; put it in brackets, on a line of its own";
    worker->abandon(emulator::describe_call(*worker, what.c_str(), CALLER));
}
