// What compilers tell of a kernel before it does what C++ leaves open: the other half of -fsanitize in flags.py.
#include <cmath>

#include "conversions.h"
#include "worker.h"

namespace emulator {

// As compilers lay them out.
struct SourceLocation { const char* file; uint32_t line, column; };
struct TypeDescriptor {
    uint16_t kind, info;  // a whole number: whether it has a sign, and above that the logarithm of its bits
    char name[1];
    int bits() const { return 1 << (info >> 1); }
};
struct CastData { SourceLocation where; const TypeDescriptor *from, *to; };
struct ShiftData { SourceLocation where; const TypeDescriptor *value, *amount; };

// What an unsigned number becomes: of 32 bits, the lowest of which are a shorter one's, or of 64. g++ makes the latter of
// what is left above 2^63, and turns the highest bit over.
template <class Bits, class Float> static Cast cast_of(Float x, int to_bits, const SourceLocation& where) {
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

// The next instruction that makes a whole number of these bits makes what a GPU does. Signed ones need nobody to tell.
EMULATOR_API void __ubsan_handle_float_cast_overflow(const emulator::CastData* data, uint64_t bits) {
    // Without a place the types stand first, of which the first byte is no letter.
    auto types = reinterpret_cast<const emulator::TypeDescriptor* const*>(data);
    types += types[0]->kind > 1 ? sizeof(emulator::SourceLocation) / sizeof *types : 0;
    if (types[1]->info & 1) return;
    emulator::Casts& casts = emulator::my_casts();
    casts.last = {};
    int to_bits = types[1]->bits();
    casts.told[casts.count++ % std::size(casts.told)] = types[0]->info == 64
        ? emulator::cast_of<uint64_t>(emulator::bits_as<double>(bits), to_bits, data->where)
        : emulator::cast_of<uint32_t>(emulator::bits_as<float>((uint32_t)bits), to_bits, data->where);
}

// One that shifts.py has left alone.
EMULATOR_API void __ubsan_handle_shift_out_of_bounds(const emulator::ShiftData* data, uint64_t, uint64_t amount) {
    Entered worker(CALLER);
    std::string what = "a shift of " + std::to_string(data->value->bits()) + " bits by " + std::to_string((int32_t)amount);
    what += ", which the emulator cannot do as a GPU does where it stands; put it in brackets, on a line of its own";
    worker->abandon(emulator::describe_call(*worker, what.c_str(), CALLER));
}
