"""Arithmetic of floats of any width, exact and then rounded, in plain integers: slow, and never wrong."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

MODES = ("rn", "rz", "ru", "rd")


@dataclass(frozen=True)
class Format:
    """Numbers of `precision` bits, and multiples of 2 to the `least_exponent`, below 2 to the `end`."""

    precision: int
    least_exponent: int
    end: int

    @property
    def largest(self) -> Fraction:
        return Fraction(2) ** self.end - Fraction(2) ** (self.end - self.precision)

    def round(self, exact: Fraction, mode: str, negative_zero: bool = False) -> float:
        """The float, as a Python float, that `exact` rounds to; of a zero, `negative_zero` tells the sign."""
        if exact == 0:
            return -0.0 if negative_zero else 0.0
        size, is_negative = abs(exact), exact < 0
        unit = Fraction(2) ** max(exponent(size) - self.precision + 1, self.least_exponent)
        whole, rest = divmod(size / unit, 1)
        away = {"ru": not is_negative, "rd": is_negative, "rz": False}.get(mode)
        if mode == "rn":
            away = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
        rounded = (whole + (1 if away and rest else 0)) * unit
        if rounded > self.largest:
            rounded = math.inf if away or mode == "rn" else self.largest
        return math.copysign(float(rounded), -1 if is_negative else 1)


FORMATS = {
    "half": Format(11, -24, 16),
    "bfloat16": Format(8, -133, 128),
    "float": Format(24, -149, 128),
    "double": Format(53, -1074, 1024),
}


def exponent(x: Fraction) -> int:
    """The e of 2^e <= x < 2^(e+1)."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def root(x: Fraction) -> Fraction:
    """The square root of `x`, or where it is none a number that rounds to the same in every format."""
    scale = 1 << 1300
    square = x.numerator * scale * scale // x.denominator
    whole = math.isqrt(square)
    is_exact = Fraction(whole, scale) ** 2 == x
    return Fraction(2 * whole + (0 if is_exact else 1), 2 * scale)


ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "sqrt": lambda x: root(x) if isinstance(x, Fraction) else np.sqrt(x),
    "fma": lambda a, b, c: a * b + c,
}


def calculate(kind: str, name: str, mode: str, *values: float) -> float:
    """What an operation of `ARITHMETIC` makes of floats. Of infinities, and divided by zero, it is the same in any mode."""
    if all(map(math.isfinite, values)) and not (name in ("div", "rcp") and values[-1] == 0):
        exact = ARITHMETIC[name](*map(Fraction, values))
        return FORMATS[kind].round(exact, mode, _is_minus_zero(name, mode, *values))
    with np.errstate(all="ignore"):
        return float(ARITHMETIC[name](*map(np.float64, values)))


def _is_minus_zero(name: str, mode: str, a: float, b: float = 0.0, c: float = 0.0) -> bool:
    """The sign of a result that is zero: of products and quotients the factors', of sums the mode's."""
    of_a, of_b, of_c = (math.copysign(1, x) < 0 for x in (a, b, c))
    if name == "sqrt":
        return of_a
    if name in ("mul", "div", "rcp"):
        return of_a != of_b
    first, second = (of_a != of_b, of_c) if name == "fma" else (of_a, of_b != (name == "sub"))
    return first if first == second and (name != "fma" or c == 0 == a * b) else mode == "rd"


INTEGRAL = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}


def to_integer(x: float, mode: str, limits: np.iinfo) -> int:
    """Rounded to a whole number, and to the nearest end when out of range."""
    whole = x if math.isinf(x) else INTEGRAL[mode](x)
    return int(max(limits.min, min(limits.max, whole)))
