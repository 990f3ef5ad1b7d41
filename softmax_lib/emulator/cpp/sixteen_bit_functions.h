// The types and functions of cuda_fp16.h and cuda_bf16.h, each of which includes this file once. It
// is written in NUMBER (__half), PAIR (__half2), RAW and RAW_PAIR, FORMAT (how bits are read), and
// NAME, which puts the type's word into a name: NAME(__float2, _rn) is __float2half_rn, NAME2 the
// pair's: NAME2(__low2, ) is __low2half2. TWICE is __half2half2.

struct alignas(2) RAW { unsigned short x; };
struct alignas(4) RAW_PAIR { unsigned short x, y; };

// ---- 1. the number

namespace emulator {

EMULATOR_INLINE RAW NAME(rounded_to_, )(double x, Rounding rounding = Rounding::nearest) {
    return RAW{round_to<FORMAT>(x, rounding)};
}
EMULATOR_INLINE RAW NAME(float_to_, )(float x) { return RAW{round_float<FORMAT>(x)}; }

}  // namespace emulator

struct alignas(2) NUMBER {
  protected:
    unsigned short __x;

  public:
    NUMBER() = default;
    constexpr NUMBER(const RAW& raw) : __x(raw.x) {}
    NUMBER& operator=(const RAW& raw) { __x = raw.x; return *this; }
    volatile NUMBER& operator=(const RAW& raw) volatile { __x = raw.x; return *this; }
    volatile NUMBER& operator=(const volatile RAW& raw) volatile { __x = raw.x; return *this; }
    operator RAW() const { return RAW{__x}; }
    operator RAW() const volatile { return RAW{__x}; }
#if CONVERSIONS
    explicit NUMBER(OTHER_NUMBER x);
    NUMBER(float x) : NUMBER(emulator::NAME(float_to_, )(x)) {}
    NUMBER(double x) : NUMBER(emulator::NAME(rounded_to_, )(x)) {}
    operator float() const { return emulator::to_float<FORMAT>(__x); }
    constexpr operator bool() const { return (__x & 0x7fff) != 0; }
    NUMBER& operator=(float x) { return *this = NUMBER(x); }
    NUMBER& operator=(double x) { return *this = NUMBER(x); }
#define OF_INTEGER(T) \
    NUMBER(T x) : NUMBER(emulator::NAME(rounded_to_, )(emulator::for_rounding(x))) {} \
    operator T() const { return emulator::saturate<T>(__builtin_truncf(float(*this))); }
#define ASSIGN_INTEGER(T) NUMBER& operator=(T x) { return *this = NUMBER(x); }
    OF_INTEGER(short) OF_INTEGER(unsigned short) OF_INTEGER(int) OF_INTEGER(unsigned) OF_INTEGER(long)
    OF_INTEGER(unsigned long) OF_INTEGER(long long) OF_INTEGER(unsigned long long)
    ASSIGN_INTEGER(short) ASSIGN_INTEGER(unsigned short) ASSIGN_INTEGER(int) ASSIGN_INTEGER(unsigned)
    ASSIGN_INTEGER(long long) ASSIGN_INTEGER(unsigned long long)
    operator char() const { return emulator::saturate<char>(__builtin_truncf(float(*this))); }
    operator signed char() const { return emulator::saturate<signed char>(__builtin_truncf(float(*this))); }
    operator unsigned char() const { return emulator::saturate<unsigned char>(__builtin_truncf(float(*this))); }
#undef OF_INTEGER
#undef ASSIGN_INTEGER
#endif
};

struct alignas(4) PAIR {
    NUMBER x, y;
    PAIR() = default;
    constexpr PAIR(const NUMBER& x, const NUMBER& y) : x(x), y(y) {}
    PAIR(const RAW_PAIR& raw) : x(RAW{raw.x}), y(RAW{raw.y}) {}
    PAIR& operator=(const RAW_PAIR& raw) { return *this = PAIR(raw); }
    operator RAW_PAIR() const { return RAW_PAIR{RAW(x).x, RAW(y).x}; }
    EMULATOR_COPY_OPAQUELY(PAIR)
};

// ---- 2. conversions

EMULATOR_INLINE float NAME(__, 2float)(NUMBER a) { return emulator::to_float<FORMAT>(RAW(a).x); }
EMULATOR_INLINE NUMBER NAME(__float2, )(float x) { return emulator::NAME(float_to_, )(x); }
EMULATOR_INLINE NUMBER NAME(__float2, _rn)(float x) { return emulator::NAME(float_to_, )(x); }
EMULATOR_INLINE NUMBER NAME(__double2, )(double x) { return emulator::NAME(rounded_to_, )(x); }

#define IN_MODE(T, word, suffix, mode, value) \
    EMULATOR_INLINE NUMBER NAME(__##word##2, suffix)(T x) { \
        return emulator::NAME(rounded_to_, )(value, emulator::Rounding::mode); \
    }
#define IN_DIRECTED_MODES(T, word, value) \
    IN_MODE(T, word, _rz, zero, value) IN_MODE(T, word, _ru, up, value) IN_MODE(T, word, _rd, down, value)
#define TO_INTEGER(T, word, suffix, rounding) \
    EMULATOR_INLINE T NAME(__, 2##word##suffix)(NUMBER a) { \
        return emulator::saturate<T>(rounding(NAME(__, 2float)(a))); \
    }
#define INTEGER(T, word)                                                                            \
    IN_MODE(T, word, _rn, nearest, emulator::for_rounding(x))                                       \
    IN_DIRECTED_MODES(T, word, emulator::for_rounding(x))                                           \
    TO_INTEGER(T, word, _rn, __builtin_nearbyintf) TO_INTEGER(T, word, _rz, __builtin_truncf)       \
    TO_INTEGER(T, word, _ru, __builtin_ceilf) TO_INTEGER(T, word, _rd, __builtin_floorf)
IN_DIRECTED_MODES(float, float, x)
INTEGER(short, short) INTEGER(unsigned short, ushort) INTEGER(int, int) INTEGER(unsigned, uint)
INTEGER(long long, ll) INTEGER(unsigned long long, ull)
TO_INTEGER(signed char, char, _rz, __builtin_truncf) TO_INTEGER(unsigned char, uchar, _rz, __builtin_truncf)
#undef IN_MODE
#undef IN_DIRECTED_MODES
#undef TO_INTEGER
#undef INTEGER

EMULATOR_INLINE short NAME(__, _as_short)(NUMBER a) { return (short)RAW(a).x; }
EMULATOR_INLINE unsigned short NAME(__, _as_ushort)(NUMBER a) { return RAW(a).x; }
EMULATOR_INLINE NUMBER NAME(__short_as_, )(short bits) { return RAW{(unsigned short)bits}; }
EMULATOR_INLINE NUMBER NAME(__ushort_as_, )(unsigned short bits) { return RAW{bits}; }

// ---- 3. pairs

EMULATOR_INLINE PAIR NAME2(make_, )(NUMBER x, NUMBER y) { return PAIR(x, y); }
EMULATOR_INLINE PAIR NAME2(__halves2, )(NUMBER x, NUMBER y) { return PAIR(x, y); }
EMULATOR_INLINE PAIR TWICE(NUMBER a) { return PAIR(a, a); }
EMULATOR_INLINE PAIR NAME2(__floats2, _rn)(float x, float y) { return PAIR(NAME(__float2, )(x), NAME(__float2, )(y)); }
EMULATOR_INLINE PAIR NAME2(__float2, _rn)(float x) { return NAME2(__floats2, _rn)(x, x); }
EMULATOR_INLINE PAIR NAME2(__float22, _rn)(float2 x) { return NAME2(__floats2, _rn)(x.x, x.y); }
EMULATOR_INLINE float __low2float(PAIR a) { return NAME(__, 2float)(a.x); }
EMULATOR_INLINE float __high2float(PAIR a) { return NAME(__, 2float)(a.y); }
EMULATOR_INLINE float2 NAME2(__, 2float2)(PAIR a) { return float2{__low2float(a), __high2float(a)}; }
EMULATOR_INLINE NUMBER NAME(__low2, )(PAIR a) { return a.x; }
EMULATOR_INLINE NUMBER NAME(__high2, )(PAIR a) { return a.y; }
EMULATOR_INLINE PAIR NAME2(__low2, )(PAIR a) { return PAIR(a.x, a.x); }
EMULATOR_INLINE PAIR NAME2(__high2, )(PAIR a) { return PAIR(a.y, a.y); }
EMULATOR_INLINE PAIR NAME2(__lows2, )(PAIR a, PAIR b) { return PAIR(a.x, b.x); }
EMULATOR_INLINE PAIR NAME2(__highs2, )(PAIR a, PAIR b) { return PAIR(a.y, b.y); }
EMULATOR_INLINE PAIR __lowhigh2highlow(PAIR a) { return PAIR(a.y, a.x); }

// ---- 4. arithmetic, rounded once: in double the products are exact

namespace emulator {

EMULATOR_INLINE double wide(NUMBER a) { return to_float<FORMAT>(RAW(a).x); }
EMULATOR_INLINE NUMBER narrow(double x, NUMBER) { return NAME(rounded_to_, )(x); }
// A float's last places are enough for sums: they lie below half of the last place here, or are all.
EMULATOR_INLINE NUMBER sum(NUMBER a, NUMBER b) {
    return NAME(float_to_, )(to_float<FORMAT>(RAW(a).x) + to_float<FORMAT>(RAW(b).x));
}
EMULATOR_INLINE NUMBER with_sign(NUMBER a, unsigned kept, unsigned turned) {
    unsigned bits = RAW(a).x;
    return RAW{(unsigned short)((bits & 0x7fff) > FORMAT::infinity ? FORMAT::nan : (bits & kept) ^ turned)};
}
EMULATOR_INLINE NUMBER at_least_zero(NUMBER a) { return wide(a) <= 0 ? NUMBER(RAW{0}) : a; }
EMULATOR_INLINE NUMBER from_0_to_1(NUMBER a) {
    return wide(a) > 0 ? NUMBER(wide(a) < 1 ? RAW(a) : NAME(float_to_, )(1.0f)) : NUMBER(RAW{0});
}

}  // namespace emulator

EMULATOR_INLINE NUMBER __hneg(NUMBER a) { return emulator::with_sign(a, 0xffff, 0x8000); }
EMULATOR_INLINE NUMBER __habs(NUMBER a) { return emulator::with_sign(a, 0x7fff, 0); }
EMULATOR_INLINE NUMBER __hadd(NUMBER a, NUMBER b) { return emulator::sum(a, b); }
EMULATOR_INLINE NUMBER __hsub(NUMBER a, NUMBER b) { return emulator::sum(a, __hneg(b)); }
EMULATOR_INLINE NUMBER __hmul(NUMBER a, NUMBER b) { return emulator::narrow(emulator::wide(a) * emulator::wide(b), a); }
EMULATOR_INLINE NUMBER __hdiv(NUMBER a, NUMBER b) { return emulator::narrow(emulator::wide(a) / emulator::wide(b), a); }
EMULATOR_INLINE NUMBER __hfma(NUMBER a, NUMBER b, NUMBER c) {
    return emulator::narrow(emulator::fused(emulator::wide(a), emulator::wide(b), emulator::wide(c)), a);
}
EMULATOR_INLINE NUMBER __hfma_relu(NUMBER a, NUMBER b, NUMBER c) { return emulator::at_least_zero(__hfma(a, b, c)); }
EMULATOR_INLINE NUMBER __hfma_sat(NUMBER a, NUMBER b, NUMBER c) { return emulator::from_0_to_1(__hfma(a, b, c)); }
EMULATOR_INLINE NUMBER __hmax(NUMBER a, NUMBER b) { return emulator::narrow(emulator::larger(emulator::wide(a), emulator::wide(b)), a); }
EMULATOR_INLINE NUMBER __hmin(NUMBER a, NUMBER b) { return emulator::narrow(emulator::smaller(emulator::wide(a), emulator::wide(b)), a); }
EMULATOR_INLINE bool __hisnan(NUMBER a) { return emulator::wide(a) != emulator::wide(a); }
EMULATOR_INLINE int __hisinf(NUMBER a) {
    return RAW(__habs(a)).x != FORMAT::infinity ? 0 : RAW(a).x >> 15 ? -1 : 1;
}
EMULATOR_INLINE NUMBER __hmax_nan(NUMBER a, NUMBER b) {
    return __hisnan(a) || __hisnan(b) ? NUMBER(RAW{FORMAT::nan}) : __hmax(a, b);
}
EMULATOR_INLINE NUMBER __hmin_nan(NUMBER a, NUMBER b) {
    return __hisnan(a) || __hisnan(b) ? NUMBER(RAW{FORMAT::nan}) : __hmin(a, b);
}

#define EACH1(name, of_one) \
    EMULATOR_INLINE PAIR name(PAIR a) { return PAIR(of_one(a.x), of_one(a.y)); }
#define EACH2(name, of_one) \
    EMULATOR_INLINE PAIR name(PAIR a, PAIR b) { return PAIR(of_one(a.x, b.x), of_one(a.y, b.y)); }
#define EACH3(name, of_one) \
    EMULATOR_INLINE PAIR name(PAIR a, PAIR b, PAIR c) { \
        return PAIR(of_one(a.x, b.x, c.x), of_one(a.y, b.y, c.y)); \
    }
// _rn: never fused with what follows; nothing is, here.
#define ARITHMETIC(name) \
    EMULATOR_INLINE NUMBER name##_rn(NUMBER a, NUMBER b) { return name(a, b); } \
    EMULATOR_INLINE NUMBER name##_sat(NUMBER a, NUMBER b) { return emulator::from_0_to_1(name(a, b)); } \
    EACH2(name##2, name) EACH2(name##2_rn, name) EACH2(name##2_sat, name##_sat)
ARITHMETIC(__hadd) ARITHMETIC(__hsub) ARITHMETIC(__hmul)
EACH1(__hneg2, __hneg) EACH1(__habs2, __habs) EACH2(__h2div, __hdiv)
EACH3(__hfma2, __hfma) EACH3(__hfma2_relu, __hfma_relu) EACH3(__hfma2_sat, __hfma_sat)
EACH2(__hmax2, __hmax) EACH2(__hmin2, __hmin) EACH2(__hmax2_nan, __hmax_nan) EACH2(__hmin2_nan, __hmin_nan)

// Pairs as complex numbers.
EMULATOR_INLINE PAIR __hcmadd(PAIR a, PAIR b, PAIR c) {
    return PAIR(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

// ---- 5. comparisons; with u, those with no number are true

#define COMPARE_AS(name, condition)                                                              \
    EMULATOR_INLINE bool __h##name(NUMBER a, NUMBER b) {                                         \
        double x = emulator::wide(a), y = emulator::wide(b);                                     \
        return condition;                                                                        \
    }                                                                                            \
    EMULATOR_INLINE bool __hb##name##2(PAIR a, PAIR b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
    EMULATOR_INLINE unsigned __h##name##2_mask(PAIR a, PAIR b) {                                 \
        return (__h##name(a.x, b.x) ? 0xffff : 0) | (__h##name(a.y, b.y) ? 0xffff0000 : 0);      \
    }                                                                                            \
    EMULATOR_INLINE PAIR __h##name##2(PAIR a, PAIR b) {                                          \
        return NAME2(__floats2, _rn)(__h##name(a.x, b.x), __h##name(a.y, b.y));                  \
    }
#define COMPARE(name, condition) \
    COMPARE_AS(name, condition) COMPARE_AS(name##u, x != x || y != y || (condition))
COMPARE(eq, x == y) COMPARE(ne, x < y || x > y) COMPARE(gt, x > y) COMPARE(ge, x >= y) COMPARE(lt, x < y) COMPARE(le, x <= y)
EMULATOR_INLINE PAIR __hisnan2(PAIR a) { return NAME2(__floats2, _rn)(__hisnan(a.x), __hisnan(a.y)); }

// ---- 6. mathematics

#define OF_DOUBLE(name, function) \
    EMULATOR_INLINE NUMBER h##name(NUMBER a) { \
        double x = emulator::wide(a); \
        return emulator::narrow(function, a); \
    } \
    EACH1(h2##name, h##name)
OF_DOUBLE(sqrt, __builtin_sqrt(x)) OF_DOUBLE(rsqrt, 1 / __builtin_sqrt(x)) OF_DOUBLE(rcp, 1 / x)
OF_DOUBLE(exp, exp(x)) OF_DOUBLE(exp2, exp2(x)) OF_DOUBLE(exp10, exp10(x))
OF_DOUBLE(log, log(x)) OF_DOUBLE(log2, log2(x)) OF_DOUBLE(log10, log10(x))
OF_DOUBLE(sin, sin(x)) OF_DOUBLE(cos, cos(x)) OF_DOUBLE(tanh, tanh(x)) OF_DOUBLE(tanh_approx, tanh(x))
OF_DOUBLE(ceil, __builtin_ceil(x)) OF_DOUBLE(floor, __builtin_floor(x))
OF_DOUBLE(rint, __builtin_nearbyint(x)) OF_DOUBLE(trunc, __builtin_trunc(x))

// ---- 7. operators

#define OPERATORS(T, one, hadd, hsub, hmul, hdiv, hneg)                                                       \
    EMULATOR_INLINE T operator+(const T& a, const T& b) { return hadd(a, b); }                           \
    EMULATOR_INLINE T operator-(const T& a, const T& b) { return hsub(a, b); }                           \
    EMULATOR_INLINE T operator*(const T& a, const T& b) { return hmul(a, b); }                           \
    EMULATOR_INLINE T operator/(const T& a, const T& b) { return hdiv(a, b); }                           \
    EMULATOR_INLINE T& operator+=(T& a, const T& b) { return a = hadd(a, b); }                           \
    EMULATOR_INLINE T& operator-=(T& a, const T& b) { return a = hsub(a, b); }                           \
    EMULATOR_INLINE T& operator*=(T& a, const T& b) { return a = hmul(a, b); }                           \
    EMULATOR_INLINE T& operator/=(T& a, const T& b) { return a = hdiv(a, b); }                           \
    EMULATOR_INLINE T& operator++(T& a) { return a = hadd(a, one); }                                     \
    EMULATOR_INLINE T& operator--(T& a) { return a = hsub(a, one); }                                     \
    EMULATOR_INLINE T operator++(T& a, int) { T before = a; ++a; return before; }                        \
    EMULATOR_INLINE T operator--(T& a, int) { T before = a; --a; return before; }                        \
    EMULATOR_INLINE T operator+(const T& a) { return a; }                                                \
    EMULATOR_INLINE T operator-(const T& a) { return hneg(a); }
#define COMPARING(T, heq, hneu, hgt, hlt, hge, hle)                                                      \
    EMULATOR_INLINE bool operator==(const T& a, const T& b) { return heq(a, b); }                        \
    EMULATOR_INLINE bool operator!=(const T& a, const T& b) { return hneu(a, b); }                       \
    EMULATOR_INLINE bool operator>(const T& a, const T& b) { return hgt(a, b); }                         \
    EMULATOR_INLINE bool operator<(const T& a, const T& b) { return hlt(a, b); }                         \
    EMULATOR_INLINE bool operator>=(const T& a, const T& b) { return hge(a, b); }                        \
    EMULATOR_INLINE bool operator<=(const T& a, const T& b) { return hle(a, b); }
#if OPERATORS_OF_NUMBERS
OPERATORS(NUMBER, NAME(__float2, )(1.0f), __hadd, __hsub, __hmul, __hdiv, __hneg)
COMPARING(NUMBER, __heq, __hneu, __hgt, __hlt, __hge, __hle)
#endif
#if OPERATORS_OF_PAIRS
OPERATORS(PAIR, NAME2(__float2, _rn)(1.0f), __hadd2, __hsub2, __hmul2, __h2div, __hneg2)
COMPARING(PAIR, __hbeq2, __hbneu2, __hbgt2, __hblt2, __hbge2, __hble2)
#endif

#undef EACH1
#undef EACH2
#undef EACH3
#undef ARITHMETIC
#undef COMPARE_AS
#undef COMPARE
#undef OF_DOUBLE
#undef OPERATORS
#undef COMPARING
