"""Rounding exact numbers to floating point of any width, in plain integers: slow, and never wrong."""

import math
from dataclasses import dataclass
from fractions import Fraction

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
