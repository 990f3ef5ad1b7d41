// The types of cuda_fp16.h and cuda_bf16.h, each of which includes this file once, and conversions. It
// is written in NUMBER_ (__half), PAIR_ (__half2), RAW_ and RAW_PAIR_ (the same without conversions),
// FORMAT_ (how the bits are read), and names with the type's word in them: NAME_(__float2, _rn) is
// __float2half_rn, PAIR_NAME_(__low2, ) is __low2half2, and TWICE_ is __half2half2.

struct alignas(2) RAW_ { unsigned short x; };
struct alignas(4) RAW_PAIR_ { unsigned short x, y; };

// ---- 1. the number

namespace emulator {

EMULATOR_INLINE RAW_ NAME_(to_, )(double x, Rounding rounding = Rounding::nearest) {
    return RAW_{round_to<FORMAT_>(x, rounding)};
}
// A double that is no number keeps its sign.
EMULATOR_INLINE RAW_ NAME_(of_double_, )(double x) {
    constexpr unsigned quiet = FORMAT_::infinity | 1u << (FORMAT_::fraction - 1);
    if (x == x) return NAME_(to_, )(x);
    return RAW_{(unsigned short)(__double_as_longlong(x) < 0 ? 0x8000 | quiet : quiet)};
}
EMULATOR_INLINE RAW_ NAME_(to_, )(float x) { return RAW_{round_float<FORMAT_>(x)}; }

}  // namespace emulator

struct alignas(2) NUMBER_ {
  protected:
    unsigned short __x;

  public:
    NUMBER_() = default;
    constexpr NUMBER_(const RAW_& raw) : __x(raw.x) {}
    NUMBER_& operator=(const RAW_& raw) { __x = raw.x; return *this; }
    volatile NUMBER_& operator=(const RAW_& raw) volatile { __x = raw.x; return *this; }
    volatile NUMBER_& operator=(const volatile RAW_& raw) volatile { __x = raw.x; return *this; }
    operator RAW_() const { return RAW_{__x}; }
    operator RAW_() const volatile { return RAW_{__x}; }
#if CONVERSIONS_
    explicit NUMBER_(OTHER_ x);
    NUMBER_(float x) : NUMBER_(emulator::NAME_(to_, )(x)) {}
    NUMBER_(double x) : NUMBER_(emulator::NAME_(of_double_, )(x)) {}
    operator float() const { return emulator::to_float<FORMAT_>(__x); }
    constexpr operator bool() const { return (__x & 0x7fff) != 0; }
    NUMBER_& operator=(float x) { return *this = NUMBER_(x); }
    NUMBER_& operator=(double x) { return *this = NUMBER_(x); }
#define TO_INTEGER_(T) \
    operator T() const { return emulator::saturate<T>(__builtin_truncf(emulator::to_float<FORMAT_>(__x))); }
#define OF_INTEGER_(T) \
    NUMBER_(T x) : NUMBER_(emulator::NAME_(to_, )(emulator::for_rounding(x))) {} TO_INTEGER_(T)
#define ASSIGN_INTEGER_(T) NUMBER_& operator=(T x) { return *this = NUMBER_(x); }
    TO_INTEGER_(char) TO_INTEGER_(signed char) TO_INTEGER_(unsigned char)
    OF_INTEGER_(short) OF_INTEGER_(unsigned short) OF_INTEGER_(int) OF_INTEGER_(unsigned)
    OF_INTEGER_(long) OF_INTEGER_(unsigned long) OF_INTEGER_(long long) OF_INTEGER_(unsigned long long)
    ASSIGN_INTEGER_(short) ASSIGN_INTEGER_(unsigned short) ASSIGN_INTEGER_(int) ASSIGN_INTEGER_(unsigned)
    ASSIGN_INTEGER_(long long) ASSIGN_INTEGER_(unsigned long long)
#undef TO_INTEGER_
#undef OF_INTEGER_
#undef ASSIGN_INTEGER_
#endif
};

struct alignas(4) PAIR_ {
    NUMBER_ x, y;
    PAIR_() = default;
    constexpr PAIR_(const NUMBER_& x, const NUMBER_& y) : x(x), y(y) {}
    PAIR_(const RAW_PAIR_& raw) : x(RAW_{raw.x}), y(RAW_{raw.y}) {}
    PAIR_& operator=(const RAW_PAIR_& raw) { return *this = PAIR_(raw); }
    operator RAW_PAIR_() const { return RAW_PAIR_{RAW_(x).x, RAW_(y).x}; }
    EMULATOR_COPY_OPAQUELY(PAIR_)
};

// ---- 2. conversions

EMULATOR_INLINE float NAME_(__, 2float)(NUMBER_ a) { return emulator::to_float<FORMAT_>(RAW_(a).x); }
EMULATOR_INLINE NUMBER_ NAME_(__float2, )(float x) { return emulator::NAME_(to_, )(x); }
EMULATOR_INLINE NUMBER_ NAME_(__float2, _rn)(float x) { return emulator::NAME_(to_, )(x); }
EMULATOR_INLINE NUMBER_ NAME_(__double2, )(double x) { return emulator::NAME_(of_double_, )(x); }

#define IN_MODE_(T, word, suffix, mode, value)                                          \
    EMULATOR_INLINE NUMBER_ NAME_(__##word##2, suffix)(T x) {                           \
        return emulator::NAME_(to_, )((double)value, emulator::Rounding::mode);         \
    }
#define IN_DIRECTED_MODES_(T, word, value)                                              \
    IN_MODE_(T, word, _rz, zero, value) IN_MODE_(T, word, _ru, up, value)               \
    IN_MODE_(T, word, _rd, down, value)
#define TO_INTEGER_(T, word, suffix, rounding)                                          \
    EMULATOR_INLINE T NAME_(__, 2##word##suffix)(NUMBER_ a) {                           \
        return emulator::saturate<T>(rounding(NAME_(__, 2float)(a)));                   \
    }
#define INTEGER_(T, word)                                                               \
    IN_MODE_(T, word, _rn, nearest, emulator::for_rounding(x))                          \
    IN_DIRECTED_MODES_(T, word, emulator::for_rounding(x))                              \
    TO_INTEGER_(T, word, _rn, __builtin_nearbyintf) TO_INTEGER_(T, word, _rz, __builtin_truncf) \
    TO_INTEGER_(T, word, _ru, __builtin_ceilf) TO_INTEGER_(T, word, _rd, __builtin_floorf)
IN_DIRECTED_MODES_(float, float, x)
INTEGER_(short, short) INTEGER_(unsigned short, ushort) INTEGER_(int, int) INTEGER_(unsigned, uint)
INTEGER_(long long, ll) INTEGER_(unsigned long long, ull)
TO_INTEGER_(signed char, char, _rz, __builtin_truncf) TO_INTEGER_(unsigned char, uchar, _rz, __builtin_truncf)
#undef IN_MODE_
#undef IN_DIRECTED_MODES_
#undef TO_INTEGER_
#undef INTEGER_

EMULATOR_INLINE short NAME_(__, _as_short)(NUMBER_ a) { return (short)RAW_(a).x; }
EMULATOR_INLINE unsigned short NAME_(__, _as_ushort)(NUMBER_ a) { return RAW_(a).x; }
EMULATOR_INLINE NUMBER_ NAME_(__short_as_, )(short bits) { return RAW_{(unsigned short)bits}; }
EMULATOR_INLINE NUMBER_ NAME_(__ushort_as_, )(unsigned short bits) { return RAW_{bits}; }

// ---- 3. pairs

EMULATOR_INLINE PAIR_ PAIR_NAME_(make_, )(NUMBER_ x, NUMBER_ y) { return PAIR_(x, y); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__halves2, )(NUMBER_ x, NUMBER_ y) { return PAIR_(x, y); }
EMULATOR_INLINE PAIR_ TWICE_(NUMBER_ a) { return PAIR_(a, a); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__floats2, _rn)(float x, float y) {
    return PAIR_(NAME_(__float2, )(x), NAME_(__float2, )(y));
}
EMULATOR_INLINE PAIR_ PAIR_NAME_(__float2, _rn)(float x) { return TWICE_(NAME_(__float2, )(x)); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__float22, _rn)(float2 x) { return PAIR_NAME_(__floats2, _rn)(x.x, x.y); }
EMULATOR_INLINE float __low2float(PAIR_ a) { return NAME_(__, 2float)(a.x); }
EMULATOR_INLINE float __high2float(PAIR_ a) { return NAME_(__, 2float)(a.y); }
EMULATOR_INLINE float2 PAIR_NAME_(__, 2float2)(PAIR_ a) { return float2{__low2float(a), __high2float(a)}; }
EMULATOR_INLINE NUMBER_ NAME_(__low2, )(PAIR_ a) { return a.x; }
EMULATOR_INLINE NUMBER_ NAME_(__high2, )(PAIR_ a) { return a.y; }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__low2, )(PAIR_ a) { return PAIR_(a.x, a.x); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__high2, )(PAIR_ a) { return PAIR_(a.y, a.y); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__lows2, )(PAIR_ a, PAIR_ b) { return PAIR_(a.x, b.x); }
EMULATOR_INLINE PAIR_ PAIR_NAME_(__highs2, )(PAIR_ a, PAIR_ b) { return PAIR_(a.y, b.y); }
EMULATOR_INLINE PAIR_ __lowhigh2highlow(PAIR_ a) { return PAIR_(a.y, a.x); }
