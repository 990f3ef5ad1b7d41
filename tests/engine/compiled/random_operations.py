"""What random kernels calculate: kinds of values, and tables of operations whose results are exact.

An operation is C++ with operands in braces: {i} stands for any int, {u} for any unsigned, and so on by
the letters of `KINDS`; {p} is a condition, {k} a whole number from 1 to 40, and {u1} twice is the same
variable twice. Products of floats are calls of __fmul_rn and its like, which no compiler fuses with a
sum, and ldexpf, which multiplies, hands on its bits; no bits of a NaN are seen, as they differ between
processors; no signed sum runs over.
"""

import re
from dataclasses import dataclass

WHOLE = ("0", "1", "2", "7", "31", "255", "32768", "65535", "65536", "1000003", "2147483647")


@dataclass(frozen=True)
class Kind:
    """One type of variable: its C++ name, how many a kernel has, literals, and values from the input.

    In `inputs` {w} is a word of the input, and {at} an index in it, which is in bounds for words.
    """

    name: str
    count: int
    literals: tuple[str, ...]
    inputs: tuple[str, ...]


FLOATS = ("0.0", "-0.0", "1.0", "0.5", "1.5", "-2.75", "3.0", "16777216.0", "0.1", "1e-30", "-7e9")
SIXTEEN = ("0.0f", "-0.0f", "1.0f", "0.5f", "-2.75f", "3.0f", "0.1f", "1000.0f")
KINDS = {
    "i": Kind("int", 3, (*WHOLE, "-1", "-2", "-128", "-32768", "(-2147483647 - 1)"), (
        "(int){w}", "(int)({w} & 255u) - 128",
        *(f"reinterpret_cast<const {kind}*>(x)[{{at}}]" for kind in ("int", "short", "signed char")),
    )),
    "u": Kind("unsigned", 3, (*(f"{word}u" for word in WHOLE), "0xffffffffu", "0x80000000u", "0xf0f0a5a5u"), (
        "{w}", "{w} >> 20",
        *(f"reinterpret_cast<const unsigned {kind}*>(x)[{{at}}]" for kind in ("short", "char")),
    )),
    "l": Kind("long long", 2, (*(f"{word}ll" for word in WHOLE), "-1ll", "-5000000000ll", "0x7fffffffffffffffll"), (
        "reinterpret_cast<const long long*>(x)[({at}) / 2u]", "(long long)(int){w}",
    )),
    "q": Kind("unsigned long long", 2, (*(f"{word}ull" for word in WHOLE), "0xffffffffffffffffull", "0x8000000000000001ull"), (
        "reinterpret_cast<const unsigned long long*>(x)[({at}) / 2u]", "(unsigned long long){w} << 7",
    )),
    "f": Kind("float", 3, (*(f"{number}f" for number in FLOATS), "1e-40f", "3e38f"), (
        "__int2float_rn((int){w} >> 16)", "__fdiv_rn((float)(short){w}, (float)({w} >> 20 | 1u))",
        "__uint_as_float(({w} & 0x807fffffu) | 0x3f000000u)", "__uint_as_float({w} & 0x807fffffu)", "__uint_as_float({w} & 0xbfffffffu)",
    )),
    "d": Kind("double", 2, (*FLOATS, "1e-310", "1e300", "4503599627370497.0"), (
        "__ddiv_rn((double)(int){w}, (double)({w} >> 16 | 1u))",
        "__hiloint2double((int)(({w} & 0x800fffffu) | 0x3fe00000u), (int){w})",
        "__hiloint2double((int)({w} & 0x800fffffu), (int){w})", "(double)(int){w}",
    )),
    "h": Kind("__half", 2, tuple(f"__float2half_rn({number})" for number in SIXTEEN), (
        "__ushort_as_half((unsigned short){w})", "__int2half_rn((int)({w} & 255u) - 99)", "reinterpret_cast<const __half*>(x)[{at}]",
    )),
    "b": Kind("__nv_bfloat16", 2, tuple(f"__float2bfloat16_rn({number})" for number in SIXTEEN), (
        "__ushort_as_bfloat16((unsigned short){w})", "__float2bfloat16_rn((float)((int)({w} & 255u) - 99))",
    )),
    "g": Kind("__half2", 2, ("__float2half2_rn(0.75f)", "__floats2half2_rn(-3.0f, 0.1f)"), (
        "__floats2half2_rn((float)({w} & 511u), (float)(short){w})",
        "__halves2half2(__ushort_as_half((unsigned short){w}), __int2half_rn((int)({w} >> 25)))",
    )),
}  # fmt: skip

HELPERS = """\
static __device__ unsigned bits(unsigned a) { return a; }
static __device__ unsigned bits(int a) { return (unsigned)a; }
static __device__ unsigned bits(unsigned long long a) { return (unsigned)a ^ (unsigned)(a >> 32) * 3u; }
static __device__ unsigned bits(long long a) { return bits((unsigned long long)a); }
static __device__ unsigned bits(float a) { return a != a ? 0x7fc00000u : __float_as_uint(a); }
static __device__ unsigned long long wide(double a) {
    return a != a ? 0x7ff8000000000000ull : (unsigned long long)__double_as_longlong(a);
}
static __device__ unsigned bits(double a) { return bits(wide(a)); }
static __device__ int divisor(int a) { return a == 0 || a == -1 ? 7 : a; }
static __device__ unsigned divisor(unsigned a) { return a == 0 ? 7u : a; }
static __device__ long long divisor(long long a) { return a == 0 || a == -1 ? 7 : a; }
static __device__ unsigned long long divisor(unsigned long long a) { return a == 0 ? 7 : a; }
static __device__ float number(float a) { return a != a ? 1.0f : a; }
static __device__ double number(double a) { return a != a ? 1.0 : a; }
"""
HALF_HELPERS = """\
static __device__ unsigned bits(__half a) { return __hisnan(a) ? 0x7fffu : __half_as_ushort(a); }
static __device__ unsigned bits(__half2 a) {
    return bits(__low2half(a)) | bits(__high2half(a)) << 16;
}
"""
BFLOAT_HELPERS = """\
static __device__ unsigned bits(__nv_bfloat16 a) { return __hisnan(a) ? 0x7fffu : __bfloat16_as_ushort(a); }
"""

MODES = ("rn", "rz", "ru", "rd")
RELATIONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
WORDS = {"i": "int", "u": "uint", "l": "ll", "q": "ull"}
"""How the names of conversions call the kinds."""


@dataclass(frozen=True)
class Operation:
    """One formula of a group: what kind of value it makes, and of which."""

    group: str
    name: str
    result: str
    formula: str

    @property
    def letters(self) -> frozenset[str]:
        """The kinds that it takes and makes."""
        return frozenset({self.result, *re.findall(r"\{(\w)\d?\}", self.formula)}) & set(KINDS)


def relations(letters: str) -> list[tuple[str, str, str]]:
    return [
        (f"{name}_{letter}", "p", f"{{{letter}}} {sign} {{{letter}}}")
        for letter in letters
        for name, sign in RELATIONS.items()
    ]


def selections(letters: str) -> list[tuple[str, str, str]]:
    return [(f"select_{x}", x, f"{{p}} ? {{{x}}} : {{{x}}}") for x in letters]


def calls(result: str, taken: str, names: str) -> list[tuple[str, str, str]]:
    arguments = ", ".join(f"{{{letter}}}" for letter in taken)
    return [(f"{name}_{taken}", result, f"{name}({arguments})") for name in names.split()]


def in_each_mode(result: str, taken: str, names: str) -> list[tuple[str, str, str]]:
    modes = " ".join(f"{name}_{mode}" for name in names.split() for mode in MODES)
    return [(call.rpartition("_")[0], *rest) for call, *rest in calls(result, taken, modes)]


TABLES = {
    "int32": [
        ("add", "i", "(int)((unsigned){i} + (unsigned){i})"),
        ("sub", "i", "(int)((unsigned){i} - (unsigned){i})"),
        ("mul", "i", "(int)((unsigned){i} * (unsigned){i})"),
        ("mad", "i", "(int)((unsigned){i} * (unsigned){i} + (unsigned){i})"),
        ("neg", "i", "(int)(0u - (unsigned){i})"), ("times", "i", "(int)((unsigned){i} * {k}u)"),
        ("sra", "i", "{i} >> ({u} & 31u)"), ("sra_by", "i", "{i} >> ({k} & 31)"), ("abs", "i", "abs({i} | 1)"),
        ("and", "i", "{i} & {i}"), ("of", "i", "(int){u}"), ("truth", "i", "(int)({p})"),
        ("short", "i", "(int)(short){i}"), ("char", "i", "(int)(signed char){i}"),
        ("short_mul", "i", "(short){i} * (short){i}"),
        ("char_mad", "i", "(signed char){i} * (signed char){i} + (short){i}"),
        ("field", "i", "(int)({u} << ({u} & 15u)) >> 17"),
        *calls("i", "ii", "min max __mulhi __mul24 __hadd __rhadd"), *relations("i"), *selections("i"),
        ("div", "i", "{i} / divisor({i})"), ("rem", "i", "{i} % divisor({i})"), ("div_by", "i", "{i} / {k}"),
        ("rem_by", "i", "{i} % {k}"),
    ],
    "uint32": [
        ("add", "u", "{u} + {u}"), ("sub", "u", "{u} - {u}"), ("mul", "u", "{u} * {u}"),
        ("mad", "u", "{u} * {u} + {u}"), ("sum3", "u", "{u} + {u} + {u}"), ("scaled", "u", "{u} * 8u + {u}"),
        ("shl", "u", "{u} << ({u} & 31u)"), ("shr", "u", "{u} >> ({u} & 31u)"),
        ("shl_by", "u", "{u} << ({k} & 31)"), ("shr_by", "u", "{u} >> ({k} & 31)"),
        ("of", "u", "(unsigned){i}"), ("times", "u", "{u} * {k}u"), ("div", "u", "{u} / divisor({u})"),
        ("rem", "u", "{u} % divisor({u})"), ("div_by", "u", "{u} / {k}u"), ("rem_by", "u", "{u} % {k}u"),
        *calls("u", "uu", "min max umin umax __umulhi __umul24 __uhadd __urhadd"), *relations("u"),
        *selections("u"), ("ushort", "u", "(unsigned)(unsigned short)({u} + {u})"),
        ("uchar", "u", "(unsigned)(unsigned char)({u} * {u})"), ("abs_diff", "u", "__usad({u}, {u}, {u})"),
        ("abs_diff_int", "u", "__sad({i}, {i}, {u})"),
    ],
    "bits": [
        ("and", "u", "{u} & {u}"), ("or", "u", "{u} | {u}"), ("xor", "u", "{u} ^ {u}"), ("not", "u", "~{u}"),
        ("and_not", "u", "{u} & ~{u}"), ("choose", "u", "({u1} & {u}) | (~{u1} & {u})"),
        ("majority", "u", "({u1} & {u2}) | ({u1} & {u3}) | ({u2} & {u3})"), ("xor3", "u", "{u} ^ {u} ^ ~{u}"),
        ("popc", "i", "__popc({u})"), ("clz", "i", "__clz({i})"), ("ffs", "i", "__ffs({i})"),
        ("brev", "u", "__brev({u})"), ("byte_perm", "u", "__byte_perm({u}, {u}, {u} & 0x7777u)"),
        ("byte_perm_by", "u", "__byte_perm({u}, {u}, 0x3715u)"),
        *calls("u", "uuu", "__funnelshift_l __funnelshift_r __funnelshift_lc __funnelshift_rc"),
        ("rotate", "u", "({u1} << ({u2} & 31u)) | ({u1} >> ((32u - {u2}) & 31u))"),
        ("rotate_by", "u", "({u1} << 11) | ({u1} >> 21)"),
        ("extract", "u", "({u} >> ({u} & 31u)) & ((1u << ({u} & 15u)) - 1u)"),
        ("extract_by", "u", "{u} >> 9 & 0x7fu"), ("insert", "u", "({u} & ~(255u << 8)) | ({u} & 255u) << 8"),
        ("bit", "p", "({u} >> ({u} & 31u) & 1u) != 0"),
    ],
    "packed": [
        *calls("u", "uu", "__vadd2 __vadd4 __vsub2 __vsub4 __vabsdiffu4 __vmaxs2 __vmaxu4 __vminu2 __vcmpgtu4 __vavgu4 __vaddss2 __vsetles2"),
        *calls("u", "uuu", "__dp4a __dp2a_lo __dp2a_hi"), *calls("i", "iii", "__dp4a __dp2a_lo"),
    ],
    "int64": [
        ("add", "l", "(long long)((unsigned long long){l} + (unsigned long long){l})"),
        ("sub", "l", "(long long)((unsigned long long){l} - (unsigned long long){l})"),
        ("mul", "l", "(long long)((unsigned long long){l} * (unsigned long long){l})"),
        ("neg", "l", "(long long)(0ull - (unsigned long long){l})"), ("sra", "l", "{l} >> ({u} & 63u)"),
        ("div", "l", "{l} / divisor({l})"), ("rem", "l", "{l} % divisor({l})"), ("div_by", "l", "{l} / {k}"),
        ("of_int", "l", "(long long){i}"), ("wide", "l", "(long long){i} * {i}"),
        ("wide_mad", "q", "(unsigned long long){u} * {u} + {q}"), ("to_int", "i", "(int){l}"),
        ("to_uint", "u", "(unsigned){q}"), ("high", "u", "(unsigned)({q} >> 32)"), ("uadd", "q", "{q} + {q}"),
        ("usub", "q", "{q} - {q}"), ("umul", "q", "{q} * {q}"), ("udiv", "q", "{q} / divisor({q})"),
        ("urem", "q", "{q} % divisor({q})"), ("urem_by", "q", "{q} % {k}ull"),
        ("shl", "q", "{q} << ({u} & 63u)"), ("shr", "q", "{q} >> ({u} & 63u)"), ("shl_by", "q", "{q} << {k}"),
        ("logic", "q", "({q} & {q}) ^ ~{q}"), ("join", "q", "(unsigned long long){u} << 32 | {u}"),
        ("of", "q", "(unsigned long long){l}"), ("back", "l", "(long long){q}"), ("brev", "q", "__brevll({q})"),
        ("popc", "i", "__popcll({q})"), ("clz", "i", "__clzll({l})"), ("ffs", "i", "__ffsll({l})"),
        *calls("l", "ll", "min max llmin llmax __mul64hi"),
        *calls("q", "qq", "min max ullmin ullmax __umul64hi"), *relations("lq"), *selections("lq"),
    ],
    "float": [
        ("add", "f", "{f} + {f}"), ("sub", "f", "{f} - {f}"), ("neg", "f", "-{f}"),
        ("fma", "f", "fmaf({f}, {f}, {f})"), ("fms", "f", "fmaf({f}, -{f}, -{f})"),
        ("copysign", "f", "copysignf({f}, number({f}))"), ("saturate", "f", "__saturatef({f}) + 0.0f"),
        ("by_zero", "f", "__fdiv_rn({f}, 0.0f)"),
        ("tame", "f", "__uint_as_float((bits({f}) & 0x807fffffu) | 0x3f800000u)"),
        ("subnormal", "f", "__uint_as_float(bits({f}) & 0x807fffffu)"),
        ("exponent", "i", "(int)(bits({f}) >> 23 & 255u) - 127"), ("bits", "u", "bits({f})"),
        ("ldexp", "f", "__uint_as_float(bits(ldexpf({f}, {i} % 160)))"),
        ("scalbn", "f", "__uint_as_float(bits(scalbnf({f}, {i} % 40)))"),
        *calls("f", "f", "fabsf floorf ceilf truncf rintf roundf sqrtf"),
        *calls("f", "ff", "fminf fmaxf min max fmodf remainderf __fmul_rn __fdiv_rn fdimf"),
        *calls("p", "f", "isnan isinf isfinite"), *relations("f"), ("not_less", "p", "!({f} < {f})"),
        *selections("f"), ("clamped", "i", "(int)fminf(fmaxf({f}, -100000.0f), 100000.0f)"),
        ("of_int", "f", "(float){i}"), ("of_uint", "f", "(float){u}"),
    ],
    "rounded": [
        *in_each_mode("f", "ff", "__fadd __fsub __fmul"), *in_each_mode("f", "fff", "__fmaf"),
        *in_each_mode("f", "ff", "__fdiv"), *in_each_mode("f", "f", "__frcp __fsqrt"),
        ("tame", "f", "__uint_as_float((bits({f}) & 0x807fffffu) | 0x3f800000u)"),
    ],
    "float_to_integer": [
        one for x, word in WORDS.items() for one in in_each_mode(x, "f", f"__float2{word}")
    ],
    "integer_to_float": [
        one for x, word in WORDS.items() for one in in_each_mode("f", x, f"__{word}2float")
    ],
    "double": [
        ("add", "d", "{d} + {d}"), ("sub", "d", "{d} - {d}"), ("neg", "d", "-{d}"),
        ("fma", "d", "fma({d}, {d}, {d})"), ("copysign", "d", "copysign({d}, number({d}))"),
        ("of_float", "d", "(double){f}"), ("of_int", "d", "(double){i}"), ("of_uint", "d", "(double){u}"),
        ("tame", "d", "__hiloint2double((int)((bits({d}) & 0x800fffffu) | 0x3ff00000u), {i})"),
        ("high", "i", "(int)(wide({d}) >> 32)"), ("bits", "q", "wide({d})"),
        *calls("d", "d", "fabs floor ceil trunc rint sqrt __drcp_rn"),
        *calls("d", "dd", "fmin fmax fmod __dmul_rn __ddiv_rn"), *calls("p", "d", "isnan isinf"),
        *relations("d"), *selections("d"),
    ],
    "double_rounded": [
        *in_each_mode("d", "dd", "__dadd __dmul"), *in_each_mode("d", "ddd", "__fma"),
        *in_each_mode("d", "dd", "__ddiv"), *in_each_mode("d", "d", "__dsqrt"),
        *in_each_mode("f", "d", "__double2float"),
        *(one for x, word in WORDS.items() for one in in_each_mode(x, "d", f"__double2{word}")),
        *(one for x in "lq" for one in in_each_mode("d", x, f"__{WORDS[x]}2double")),
    ],
    "half": [
        *calls("h", "hh", "__hadd_rn __hsub_rn __hmul_rn __hmin __hmax __hmul_sat"),
        *calls("h", "hhh", "__hfma __hfma_sat"), *calls("h", "h", "__hneg __habs hfloor hceil hrint htrunc"),
        *calls("p", "hh", "__heq __hne __hlt __hle __hgt __hge __hequ __hneu __hltu __hgeu"),
        *calls("p", "h", "__hisnan"), *selections("h"), *in_each_mode("h", "f", "__float2half"),
        *in_each_mode("h", "i", "__int2half"), *in_each_mode("i", "h", "__half2int"),
        ("to_uint", "u", "__half2uint_rz({h})"), ("to_float", "f", "__half2float({h})"),
        ("of_double", "h", "__double2half({d})"), ("to_ll", "l", "__half2ll_rn({h})"),
        ("of_bits", "h", "__ushort_as_half((unsigned short){u})"), ("bits", "u", "bits({h})"),
    ],
    "half2": [
        *calls("g", "gg", "__hadd2_rn __hsub2_rn __hmul2_rn __hmin2 __hmax2 __heq2 __hlt2 __hgeu2"),
        *calls("g", "ggg", "__hfma2"), *calls("g", "g", "__hneg2 __habs2 __lowhigh2highlow __low2half2"),
        *calls("g", "gg", "__lows2half2 __highs2half2"), *calls("h", "g", "__low2half __high2half"),
        *calls("p", "gg", "__hbeq2 __hblt2"), ("join", "g", "__halves2half2({h}, {h})"),
        ("of_floats", "g", "__floats2half2_rn({f}, {f})"), ("bits", "u", "bits({g})"), *selections("g"),
    ],
    "bfloat16": [
        *calls("b", "bb", "__hadd_rn __hsub_rn __hmul_rn __hmin __hmax"), *calls("b", "bbb", "__hfma"),
        *calls("b", "b", "__hneg __habs"), *calls("p", "bb", "__heq __hlt __hge __hneu"),
        *in_each_mode("b", "f", "__float2bfloat16"), *in_each_mode("i", "b", "__bfloat162int"),
        ("to_float", "f", "__bfloat162float({b})"), ("of_int", "b", "__int2bfloat16_rn({i})"),
        ("of_bits", "b", "__ushort_as_bfloat16((unsigned short){u})"), ("bits", "u", "bits({b})"),
        *selections("b"),
    ],
    "places": [
        ("lane", "p", "lane < {k}u"), ("odd", "p", "((lane ^ {u}) & 1u) != 0"),
        ("uniform", "p", "n > {k} * 16"), ("block", "p", "blockIdx.x == 0"), ("thread", "u", "thread"),
        ("sizes", "i", "(int)(blockDim.x * 100u + gridDim.x)"),
    ],
    "loads": [
        ("word", "u", "x[{u} % (unsigned)n]"),
        ("int", "i", "reinterpret_cast<const int*>(x)[{u} % (unsigned)n]"),
        ("byte", "u", "0u + reinterpret_cast<const unsigned char*>(x)[{u} % (4u * n)]"),
        ("signed_byte", "i", "0 + reinterpret_cast<const signed char*>(x)[{u} % (4u * n)]"),
        ("ushort", "u", "0u + reinterpret_cast<const unsigned short*>(x)[{u} % (2u * n)]"),
        ("short", "i", "0 + reinterpret_cast<const short*>(x)[{u} % (2u * n)]"),
        ("pair", "u", "sum(reinterpret_cast<const uint2*>(x)[{u} % (n / 2u)])"),
        ("quad", "u", "sum(reinterpret_cast<const uint4*>(x)[{u} % (n / 4u)])"),
        ("wide", "q", "reinterpret_cast<const unsigned long long*>(x)[{u} % (n / 2u)]"),
        ("table", "u", "table[{u} & 15u]"), ("float_table", "f", "floats[{u} & 7u]"),
        ("byte_table", "u", "0u + bytes[{u} % 11u]"), ("double_table", "d", "doubles[{u} & 3u]"),
    ],
}  # fmt: skip
"""By group: the name of each operation, the kind that it makes, and its formula."""

OPERATIONS = tuple(Operation(group, *row) for group, rows in TABLES.items() for row in rows)
OF_A_KERNEL = {"places", "loads"}
"""Groups that name what only the kernel's own body has."""
