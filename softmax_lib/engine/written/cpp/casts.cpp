// What compilers tell of a kernel before it does what C++ leaves open: the other half of -fsanitize in flags.py.
#include "worker.h"

namespace emulator {

// As compilers lay them out.
struct SourceLocation { const char* file; uint32_t line, column; };
struct TypeDescriptor {
    uint16_t kind, info;  // a whole number: whether it has a sign, and above that the logarithm of its bits
    char name[1];
    int bits() const { return 1 << (info >> 1); }
};
struct ShiftData { SourceLocation where; const TypeDescriptor *value, *amount; };

}  // namespace emulator

// One that shifts.py has left alone.
EMULATOR_API void __ubsan_handle_shift_out_of_bounds(const emulator::ShiftData* data, uint64_t, uint64_t amount) {
    Entered worker(CALLER);
    std::string what = "a shift of " + std::to_string(data->value->bits()) + " bits by " + std::to_string((int32_t)amount);
    what += ", which the emulator cannot do as a GPU does where it stands; put it in brackets, on a line of its own";
    worker->abandon(emulator::describe_call(*worker, what.c_str(), CALLER));
}

EMULATOR_API void __ubsan_handle_type_mismatch_v1(const void*, uintptr_t address) {
    Entered worker(CALLER);
    emulator::Fault fault = emulator::describe_access(*worker, emulator::Access::unknown, 0, address, CALLER);
    fault.is_misaligned = true;
    worker->abandon(fault);
}
