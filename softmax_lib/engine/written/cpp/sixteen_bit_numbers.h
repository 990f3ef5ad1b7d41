// The types of cuda_fp16.h and cuda_bf16.h, each of which includes this file once, and their functions. It
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

// ---- 4. arithmetic, rounded once: in double, products are exact

namespace emulator {

EMULATOR_INLINE double wide(NUMBER_ a) { return to_float<FORMAT_>(RAW_(a).x); }
EMULATOR_INLINE NUMBER_ NAME_(narrow_to_, )(double x) { return NAME_(to_, )(x); }
// In float, a sum has more than twice as many places as here, or is exact.
EMULATOR_INLINE NUMBER_ sum(NUMBER_ a, NUMBER_ b) {
    return NAME_(to_, )(to_float<FORMAT_>(RAW_(a).x) + to_float<FORMAT_>(RAW_(b).x));
}
EMULATOR_INLINE NUMBER_ with_sign(NUMBER_ a, unsigned kept, unsigned turned) {
    unsigned bits = RAW_(a).x;
    return RAW_{(unsigned short)((bits & 0x7fff) > FORMAT_::infinity ? FORMAT_::nan : (bits & kept) ^ turned)};
}
EMULATOR_INLINE NUMBER_ at_least_zero(NUMBER_ a) { return wide(a) <= 0 ? NUMBER_(RAW_{0}) : a; }
EMULATOR_INLINE NUMBER_ from_0_to_1(NUMBER_ a) {
    return wide(a) > 0 ? NUMBER_(wide(a) < 1 ? RAW_(a) : NAME_(to_, )(1.0f)) : NUMBER_(RAW_{0});
}

}  // namespace emulator

#define FUNCTION1_(name, value)                                                          \
    EMULATOR_INLINE NUMBER_ name(NUMBER_ a) {                                            \
        [[maybe_unused]] double x = emulator::wide(a);                                   \
        return value;                                                                    \
    }
#define FUNCTION2_(name, value)                                                          \
    EMULATOR_INLINE NUMBER_ name(NUMBER_ a, NUMBER_ b) {                                 \
        [[maybe_unused]] double x = emulator::wide(a), y = emulator::wide(b);            \
        return value;                                                                    \
    }
#define FUNCTION3_(name, value) \
    EMULATOR_INLINE NUMBER_ name(NUMBER_ a, NUMBER_ b, NUMBER_ c) { return value; }
// The same of pairs, each of whose numbers goes its own way.
#define EACH1_(name, of_one) \
    EMULATOR_INLINE PAIR_ name(PAIR_ a) { return PAIR_(of_one(a.x), of_one(a.y)); }
#define EACH2_(name, of_one) \
    EMULATOR_INLINE PAIR_ name(PAIR_ a, PAIR_ b) { return PAIR_(of_one(a.x, b.x), of_one(a.y, b.y)); }
#define EACH3_(name, of_one)                                                             \
    EMULATOR_INLINE PAIR_ name(PAIR_ a, PAIR_ b, PAIR_ c) {                              \
        return PAIR_(of_one(a.x, b.x, c.x), of_one(a.y, b.y, c.y));                      \
    }
#define ROUNDED_(value) emulator::NAME_(narrow_to_, )(value)

FUNCTION1_(__hneg, emulator::with_sign(a, 0xffff, 0x8000))
FUNCTION1_(__habs, emulator::with_sign(a, 0x7fff, 0))
FUNCTION2_(__hadd, emulator::sum(a, b))
FUNCTION2_(__hsub, emulator::sum(a, __hneg(b)))
FUNCTION2_(__hmul, ROUNDED_(x * y))
FUNCTION2_(__hdiv, ROUNDED_(x / y))
FUNCTION3_(__hfma, ROUNDED_(emulator::add_to_odd(emulator::wide(a) * emulator::wide(b), emulator::wide(c))))
FUNCTION3_(__hfma_relu, emulator::at_least_zero(__hfma(a, b, c)))
FUNCTION3_(__hfma_sat, emulator::from_0_to_1(__hfma(a, b, c)))
FUNCTION2_(__hmax, ROUNDED_(emulator::larger(x, y)))
FUNCTION2_(__hmin, ROUNDED_(emulator::smaller(x, y)))
FUNCTION2_(__hmax_nan, ROUNDED_(x != x ? x : y != y ? y : emulator::larger(x, y)))
FUNCTION2_(__hmin_nan, ROUNDED_(x != x ? x : y != y ? y : emulator::smaller(x, y)))
// _rn: not to be fused with what follows, as nothing is here.
#define ARITHMETIC_(name)                                                                \
    FUNCTION2_(name##_rn, name(a, b)) FUNCTION2_(name##_sat, emulator::from_0_to_1(name(a, b))) \
    EACH2_(name##2, name) EACH2_(name##2_rn, name) EACH2_(name##2_sat, name##_sat)
ARITHMETIC_(__hadd) ARITHMETIC_(__hsub) ARITHMETIC_(__hmul)
EACH1_(__hneg2, __hneg) EACH1_(__habs2, __habs) EACH2_(__h2div, __hdiv)
EACH3_(__hfma2, __hfma) EACH3_(__hfma2_relu, __hfma_relu) EACH3_(__hfma2_sat, __hfma_sat)
EACH2_(__hmax2, __hmax) EACH2_(__hmin2, __hmin) EACH2_(__hmax2_nan, __hmax_nan) EACH2_(__hmin2_nan, __hmin_nan)

// a b + c of complex numbers.
EMULATOR_INLINE PAIR_ __hcmadd(PAIR_ a, PAIR_ b, PAIR_ c) {
    return PAIR_(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// ---- 5. comparisons; those with u are true where one is no number

#define COMPARE_AS_(name, condition)                                                     \
    EMULATOR_INLINE bool __h##name(NUMBER_ a, NUMBER_ b) {                               \
        double x = emulator::wide(a), y = emulator::wide(b);                             \
        return condition;                                                                \
    }                                                                                    \
    EMULATOR_INLINE bool __hb##name##2(PAIR_ a, PAIR_ b) {                               \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                               \
    }                                                                                    \
    EMULATOR_INLINE unsigned __h##name##2_mask(PAIR_ a, PAIR_ b) {                       \
        return (__h##name(a.x, b.x) ? 0xffff : 0) | (__h##name(a.y, b.y) ? 0xffff0000 : 0); \
    }                                                                                    \
    EMULATOR_INLINE PAIR_ __h##name##2(PAIR_ a, PAIR_ b) {                               \
        return PAIR_NAME_(__floats2, _rn)(__h##name(a.x, b.x), __h##name(a.y, b.y));     \
    }
#define COMPARE_(name, condition) \
    COMPARE_AS_(name, condition) COMPARE_AS_(name##u, x != x || y != y || (condition))
COMPARE_(eq, x == y) COMPARE_(ne, x < y || x > y)
COMPARE_(gt, x > y) COMPARE_(ge, x >= y) COMPARE_(lt, x < y) COMPARE_(le, x <= y)

EMULATOR_INLINE bool __hisnan(NUMBER_ a) { return (RAW_(a).x & 0x7fff) > FORMAT_::infinity; }
EMULATOR_INLINE int __hisinf(NUMBER_ a) {
    return (RAW_(a).x & 0x7fff) != FORMAT_::infinity ? 0 : RAW_(a).x >> 15 ? -1 : 1;
}
EMULATOR_INLINE PAIR_ __hisnan2(PAIR_ a) { return PAIR_NAME_(__floats2, _rn)(__hisnan(a.x), __hisnan(a.y)); }

// ---- 6. mathematics

#define MATHEMATICS_(name, value) FUNCTION1_(h##name, ROUNDED_(value)) EACH1_(h2##name, h##name)
MATHEMATICS_(sqrt, __builtin_sqrt(x)) MATHEMATICS_(rsqrt, 1 / __builtin_sqrt(x)) MATHEMATICS_(rcp, 1 / x)
MATHEMATICS_(exp, exp(x)) MATHEMATICS_(exp2, exp2(x)) MATHEMATICS_(exp10, exp10(x))
MATHEMATICS_(log, log(x)) MATHEMATICS_(log2, log2(x)) MATHEMATICS_(log10, log10(x))
MATHEMATICS_(sin, sin(x)) MATHEMATICS_(cos, cos(x))
MATHEMATICS_(tanh, tanh(x)) MATHEMATICS_(tanh_approx, tanh(x))
MATHEMATICS_(ceil, __builtin_ceil(x)) MATHEMATICS_(floor, __builtin_floor(x))
MATHEMATICS_(rint, __builtin_nearbyint(x)) MATHEMATICS_(trunc, __builtin_trunc(x))

// ---- 7. operators

#define CALCULATE_(T, one, add, sub, mul, div, negate)                                   \
    EMULATOR_INLINE T operator+(const T& a, const T& b) { return add(a, b); }            \
    EMULATOR_INLINE T operator-(const T& a, const T& b) { return sub(a, b); }            \
    EMULATOR_INLINE T operator*(const T& a, const T& b) { return mul(a, b); }            \
    EMULATOR_INLINE T operator/(const T& a, const T& b) { return div(a, b); }            \
    EMULATOR_INLINE T& operator+=(T& a, const T& b) { return a = add(a, b); }            \
    EMULATOR_INLINE T& operator-=(T& a, const T& b) { return a = sub(a, b); }            \
    EMULATOR_INLINE T& operator*=(T& a, const T& b) { return a = mul(a, b); }            \
    EMULATOR_INLINE T& operator/=(T& a, const T& b) { return a = div(a, b); }            \
    EMULATOR_INLINE T& operator++(T& a) { return a = add(a, one); }                      \
    EMULATOR_INLINE T& operator--(T& a) { return a = sub(a, one); }                      \
    EMULATOR_INLINE T operator++(T& a, int) { T before = a; ++a; return before; }        \
    EMULATOR_INLINE T operator--(T& a, int) { T before = a; --a; return before; }        \
    EMULATOR_INLINE T operator+(const T& a) { return a; }                                \
    EMULATOR_INLINE T operator-(const T& a) { return negate(a); }
#define RELATE_(T, eq, neu, gt, lt, ge, le)                                              \
    EMULATOR_INLINE bool operator==(const T& a, const T& b) { return eq(a, b); }         \
    EMULATOR_INLINE bool operator!=(const T& a, const T& b) { return neu(a, b); }        \
    EMULATOR_INLINE bool operator>(const T& a, const T& b) { return gt(a, b); }          \
    EMULATOR_INLINE bool operator<(const T& a, const T& b) { return lt(a, b); }          \
    EMULATOR_INLINE bool operator>=(const T& a, const T& b) { return ge(a, b); }         \
    EMULATOR_INLINE bool operator<=(const T& a, const T& b) { return le(a, b); }
#if OPERATORS_OF_NUMBERS_
CALCULATE_(NUMBER_, NAME_(__float2, )(1.0f), __hadd, __hsub, __hmul, __hdiv, __hneg)
RELATE_(NUMBER_, __heq, __hneu, __hgt, __hlt, __hge, __hle)
#endif
#if OPERATORS_OF_PAIRS_
CALCULATE_(PAIR_, PAIR_NAME_(__float2, _rn)(1.0f), __hadd2, __hsub2, __hmul2, __h2div, __hneg2)
RELATE_(PAIR_, __hbeq2, __hbneu2, __hbgt2, __hblt2, __hbge2, __hble2)
#endif

#undef FUNCTION1_
#undef FUNCTION2_
#undef FUNCTION3_
#undef EACH1_
#undef EACH2_
#undef EACH3_
#undef ROUNDED_
#undef ARITHMETIC_
#undef COMPARE_AS_
#undef COMPARE_
#undef MATHEMATICS_
#undef CALCULATE_
#undef RELATE_
#undef NUMBER_
#undef OTHER_
#undef PAIR_
#undef RAW_
#undef RAW_PAIR_
#undef FORMAT_
#undef WORD_
#undef TWICE_
#undef CONVERSIONS_
#undef OPERATORS_OF_NUMBERS_
#undef OPERATORS_OF_PAIRS_
