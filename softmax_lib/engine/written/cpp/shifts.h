// Shifts as a GPU does them: of as many bits as there are or more, nothing is left but the sign.
//
// shifts.py writes `a << b` as `a << emulator_left << b`, and `a <<= b` as `a <<= emulator_left <<= b`.
#pragma once
#include <cstdint>
#include <type_traits>

namespace emulator {

template <class T>
constexpr bool is_whole =
    std::is_integral_v<T> || (std::is_enum_v<T> && std::is_convertible_v<T, long long>);
template <class T, bool wanted> using if_whole = std::enable_if_t<is_whole<std::decay_t<T>> == wanted, int>;

// The whole amount counts, in 32 bits as the hardware has it.
template <class T, class U> EMULATOR_INLINE constexpr auto shift_left(T a, U amount) {
    uint32_t n = (uint32_t)amount;
    return (decltype(+a))(n < 8 * sizeof(+a) ? (std::make_unsigned_t<decltype(+a)>)a << n : 0);
}
template <class T, class U> EMULATOR_INLINE constexpr auto shift_right(T a, U amount) {
    uint32_t n = (uint32_t)amount, most = 8 * sizeof(+a) - 1;
    return (decltype(+a))(n <= most ? +a >> n : +a < 0 ? -1 : 0);
}

}  // namespace emulator

// Values with a shift's first half behind them: whole numbers, and others, whose own operators go on as they would.
#define EMULATOR_SHIFT(Word, word, sign)                                                                         \
    namespace emulator {                                                                                         \
    struct Word {};                                                                                              \
    template <class T> struct Word##Whole { T value; };                                                          \
    template <class T> struct Word##Other { T&& value; };                                                        \
    template <class T> struct Word##By { T amount; };                                                            \
    template <class T, if_whole<T, true> = 0>                                                                    \
    EMULATOR_INLINE constexpr Word##Whole<T> operator sign(T a, Word) { return {a}; }                            \
    template <class T, if_whole<T, false> = 0>                                                                   \
    EMULATOR_INLINE constexpr Word##Other<T> operator sign(T&& a, Word) { return {static_cast<T&&>(a)}; }        \
    template <class T, class U, if_whole<U, true> = 0>                                                           \
    EMULATOR_INLINE constexpr auto operator sign(Word##Whole<T> a, U n) { return shift_##word(a.value, n); }     \
    template <class T, class U, if_whole<U, false> = 0>                                                          \
    EMULATOR_INLINE constexpr decltype(auto) operator sign(Word##Whole<T> a, U&& n) { return a.value sign n; }   \
    template <class T, class U>                                                                                  \
    EMULATOR_INLINE constexpr decltype(auto) operator sign(Word##Other<T> a, U&& n) {                            \
        return static_cast<T&&>(a.value) sign static_cast<U&&>(n);                                               \
    }                                                                                                            \
    template <class U> EMULATOR_INLINE constexpr Word##By<U> operator sign##=(Word, U n) { return {n}; }         \
    template <class T, class U> EMULATOR_INLINE constexpr decltype(auto) operator sign##=(T& a, Word##By<U> n) { \
        if constexpr (is_whole<std::remove_cv_t<T>> && is_whole<U>) {                                            \
            return a = (std::remove_cv_t<T>)shift_##word(a, n.amount), (a);                                      \
        } else {                                                                                                 \
            return a sign##= n.amount;                                                                           \
        }                                                                                                        \
    }                                                                                                            \
    }                                                                                                            \
    static constexpr emulator::Word emulator_##word;
EMULATOR_SHIFT(Left, left, <<)
EMULATOR_SHIFT(Right, right, >>)
