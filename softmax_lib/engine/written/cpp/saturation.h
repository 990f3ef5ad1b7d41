// What becomes of floats that no integer type holds.
#pragma once
#include <limits>

namespace emulator {

// What no number of type T is becomes, as cvt does it: zero, but 1 in the highest place where
// T has 64 bits or the float has.
template <class T, class Float>
constexpr T not_a_number = sizeof(T) == 8 || sizeof(Float) == 8 ? T(1) << (8 * sizeof(T) - 1) : T(0);

template <class T, class Float>
inline T saturate(Float integral) {
    constexpr T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    constexpr Float end = Float(highest / 2 + 1) * 2;  // one more than the highest
    if (integral != integral) return not_a_number<T, Float>;
    if (integral >= end) return highest;
    return integral < Float(lowest) ? lowest : T(integral);
}

}  // namespace emulator
