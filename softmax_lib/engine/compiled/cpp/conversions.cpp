// From one kind of number to another. Variant: bits 0 and 1 rounding, 2 .FTZ; then what comes in, what goes out.
#include "typed.h"

namespace machine {

namespace {

constexpr uint32_t IN_SHIFT = 8, OUT_SHIFT = 12;

Kind in_of(const Instruction& i) { return static_cast<Kind>(i.variant >> IN_SHIFT & 15); }
Kind out_of(const Instruction& i) { return static_cast<Kind>(i.variant >> OUT_SHIFT & 15); }
bool is_long(Kind kind) { return kind == U64 || kind == S64 || kind == F64; }

// A float that comes in, with its sign as the instruction wants it.
double read_float(const Instruction& i, uint32_t a, uint32_t a2) {
    double x;
    switch (in_of(i)) {
        case F64: x = bits_as<double>(pair(a, a2)); break;
        case F16:
        case BF16: x = from_half(static_cast<uint16_t>(i.variant & 16 ? a >> 16 : a), in_of(i) == BF16); break;
        default: x = i.variant & FLUSHED ? flush(real(a)) : real(a);
    }
    if (i.keep[0] != ALL) x = std::fabs(x);
    return i.flip[0] ? -x : x;
}

uint64_t write_whole(Kind kind, double x, bool is_double) {
    uint64_t made = 0;
    of_whole(kind, [&](auto zero) {
        using T = decltype(zero);
        bool as_double = is_double && sizeof(T) > 2;  // what is no number comes out otherwise
        made = static_cast<uint64_t>(as_double ? emulator::saturate<T>(x) : emulator::saturate<T>(static_cast<float>(x)));
    });
    return made;
}

template <class F> INLINE void convert(Warp& w, const Instruction& i, uint32_t lanes, F f) {
    const uint32_t *a = w.row(i.a), *a2 = w.row(i.a + (is_long(in_of(i)) ? 1u : 0u));
    uint32_t *d = w.row(i.d), *d2 = is_long(out_of(i)) ? w.row(i.d + 1u) : nullptr;
    for (int k : EachLane{lanes}) {
        uint64_t made = f(a[k], a2[k]);
        d[k] = low_of(made);
        if (d2) d2[k] = high_of(made);
    }
}

void float_to_whole(Warp& w, const Instruction& i, uint32_t lanes) {
    convert(w, i, lanes, [&](uint32_t a, uint32_t a2) {
        return write_whole(out_of(i), to_whole(read_float(i, a, a2), i.variant & ROUNDING), in_of(i) == F64);
    });
}

// A whole number that comes in: its size and its sign; of small ones the byte or half that the variant names (bits 4 to 6).
struct Read {
    uint64_t size;
    bool is_negative;
};
Read read_whole(const Instruction& i, uint32_t a, uint32_t a2) {
    uint32_t part = i.variant >> 4 & 3;
    int64_t number = 0;
    of_whole(in_of(i), [&](auto zero) {
        using T = decltype(zero);
        number = static_cast<int64_t>(static_cast<T>(pair(a, a2) >> (sizeof(T) < 4 ? 8 * sizeof(T) * part : 0)));
    });
    if (in_of(i) == U64) return {static_cast<uint64_t>(number), false};
    if (i.flip[0]) number = -number;
    return {number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number), number < 0};
}

// Cut to `kept` bits, with the last one set where something was lost: the rounding to come knows.
uint64_t keep_bits(uint64_t size, int kept) {
    int spare = 64 - kept - (size ? __builtin_clzll(size) : 64);
    if (spare <= 0) return size;
    uint64_t lost = size & ((1ull << spare) - 1);
    return (size ^ lost) | (lost ? 1ull << spare : 0);
}

void whole_to_float(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t rounding = i.variant & ROUNDING;
    convert(w, i, lanes, [&](uint32_t a, uint32_t a2) -> uint64_t {
        Read read = read_whole(i, a, a2);
        volatile uint64_t size = read.size;
        switch (out_of(i)) {
            case F64: {
                Direction direction(read.is_negative ? mirrored(rounding) : rounding);
                volatile double near = static_cast<double>(size);
                return bits_as<uint64_t>(read.is_negative ? -near : near);
            }
            default: {
                double x = static_cast<double>(keep_bits(size, 50)) * (read.is_negative ? -1.0 : 1.0);
                return out_of(i) == F32 ? word(round_to_float(x, rounding)) : to_half(x, out_of(i) == BF16, rounding);
            }
        }
    });
}

void float_to_float(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t rounding = i.variant & ROUNDING;
    convert(w, i, lanes, [&](uint32_t a, uint32_t a2) -> uint64_t {
        double x = read_float(i, a, a2);
        switch (out_of(i)) {
            case F64: return x != x ? 0x7fffffffffffffffull : bits_as<uint64_t>(x);
            case F32: {
                float made = settled(round_to_float(x, rounding));
                return word(i.variant & FLUSHED ? flush(made) : made);
            }
            default: return to_half(x, out_of(i) == BF16, rounding);
        }
    });
}

// A float without what is behind its point.
void float_to_round(Warp& w, const Instruction& i, uint32_t lanes) {
    uint32_t rounding = i.variant & ROUNDING;
    convert(w, i, lanes, [&](uint32_t a, uint32_t a2) -> uint64_t {
        double x = to_whole(read_float(i, a, a2), rounding);
        if (out_of(i) == F64) return bits_as<uint64_t>(x);
        return out_of(i) == F16 ? to_half(x, false) : word(settled(static_cast<float>(x)));
    });
}

}  // namespace

const Operation CONVERSIONS[] = {
    {"float to whole", float_to_whole},
    {"whole to float", whole_to_float},
    {"float to float", float_to_float},
    {"float to round", float_to_round},
    {nullptr, nullptr},
};

}  // namespace machine
