// Functions of float_math.h: in long double, which is wider than double wherever kernels are traced,
// so that what is returned is nearly always the double next to the exact value.
#include <cmath>
#include <initializer_list>

#include "kernel_interface.h"
#include "special_functions.h"

namespace {

typedef long double Wide;
constexpr Wide PI = 3.14159265358979323846264338327950288L;
constexpr Wide SQRT_PI = 1.77245385090551602729816748334114518L;
constexpr Wide SQRT_HALF = 0.70710678118654752440084436210484904L;
constexpr Wide INFINITE = __builtin_inf();
constexpr Wide NO_NUMBER = __builtin_nan("");

// ---- error functions

// exp(x^2) erfc(x).
Wide scaled_erfc(double x) {
    if (x < -30) return INFINITE;
    if (x < 12) {
        double square = x * x, rest = std::fma(x, x, -square);  // exact, as the sum of two
        return std::exp(Wide(square)) * std::erfc(Wide(x)) * (1 + Wide(rest));
    }
    // 1 - 1/(2x^2) + 1 3/(2x^2)^2 - ...: with x from 12 on the terms fall until far below an ulp
    Wide sum = 1, term = 1, step = -0.5L / x / x;
    for (int odd = 1; std::fabs(term) > 1e-22L; odd += 2) sum += term *= odd * step;
    return sum / x / SQRT_PI;
}

// A start within some percent for inverse_erf where erf(y)^2 is 1 - rest: Winitzki's formula.
Wide near_inverse_erf(Wide rest) {
    constexpr Wide a = 0.147L;
    Wide logarithm = std::log(rest), middle = 2 / (PI * a) + logarithm / 2;
    return std::sqrt(std::sqrt(middle * middle - logarithm / a) - middle);
}

// y with erf(y) = x, for |x| up to a half: Newton's steps.
Wide small_inverse_erf(Wide x) {
    Wide y = std::copysign(near_inverse_erf(1 - x * x), x);
    if (std::fabs(x) < 1e-4L) y = SQRT_PI / 2 * x;
    for (int i = 0; i < 4; i++) y -= (std::erf(y) - x) * (SQRT_PI / 2) * std::exp(y * y);
    return y;
}

// y with erfc(y) = z, for z up to 1.
Wide small_inverse_erfc(Wide z) {
    if (z > 0.5L) return small_inverse_erf(1 - z);
    if (z == 0) return INFINITE;
    Wide y = near_inverse_erf(z * (2 - z));
    // the logarithm of erfc is nearly straight, so that no step overshoots
    for (int i = 0; i < 5; i++) y += std::log(std::erfc(y) / z) * (SQRT_PI / 2) * scaled_erfc(double(y));
    return y;
}

Wide inverse_erfc(Wide z) {
    if (!(z >= 0 && z <= 2)) return NO_NUMBER;
    return z <= 1 ? small_inverse_erfc(z) : -small_inverse_erfc(2 - z);
}

// ---- sine and cosine of multiples of pi

// sin(pi x) for shift 0, cos(pi x) for 1.
Wide sine_of_half_turns(double x, int shift) {
    double rest = std::remainder(x, 2.0);      // exact
    double quarter = std::nearbyint(2 * rest);  // -2 to 2
    Wide angle = PI * (rest - quarter / 2);
    int quadrant = (int(quarter) + shift) & 3;
    Wide size = quadrant & 1 ? std::cos(angle) : std::sin(angle);
    return quadrant & 2 ? -size : size;
}

// ---- Bessel functions

// A zero below 8, in two parts, and the slope there.
struct Zero {
    double place;
    Wide rest, slope;
};
constexpr Zero J0[] = {{2.404825557695773, -1.176691651530894122087e-16L, -0.5191474972894667881402026L},
                       {5.520078110286311, 8.088597146146722309154e-17L, 0.3402648065583681485649119L}};
constexpr Zero J1[] = {{3.8317059702075125, -1.526918409008806746755e-16L, -0.4027593957025529720960022L},
                       {7.015586669815619, -9.414165653410389098243e-17L, 0.3001157525261325632066200L}};
constexpr Zero Y0[] = {{0.8935769662791675, 2.659623153972038464392e-17L, 0.8794208024971947710548339L},
                       {3.957678419314858, -1.076434069756270578231e-16L, -0.4025426717750242357219615L},
                       {7.086051060301773, -8.835285723085408112001e-17L, 0.3000976149104751862252866L}};
constexpr Zero Y1[] = {{2.197141326031017, -4.825983587645496576192e-17L, 0.5207864124022675111071507L},
                       {5.429681040794135, 4.162514026670376973882e-16L, -0.3403180455234405582259362L}};

// Near a zero the power series around it: any other way would lose all digits there. Its terms follow
// from Bessel's equation, multiplied out for x = zero + h.
Wide around(const Zero& zero, int order, double x) {
    Wide z = zero.place + zero.rest, h = Wide(x) - zero.place - zero.rest;
    Wide earlier = 0, before = 0, now = 0, next = zero.slope, sum = 0, power = 1;
    for (int k = 0; k < 30; k++) {  // now and next are the factors of h^k and h^(k+1)
        Wide after = next * (k + 1) * (2 * k + 1) * z + now * (k * k + z * z - order * order) +
                     before * 2 * z + earlier;
        after /= -z * z * (k + 2) * (k + 1);
        power *= h;
        sum += next * power;
        earlier = before, before = now, now = next, next = after;
    }
    return sum;
}

template <int count>
double bessel(Wide (*function)(Wide), const Zero (&zeros)[count], int order, double x) {
    for (const Zero& zero : zeros) {
        if (std::fabs(x - zero.place) < 0.15) return double(around(zero, order, x));
    }
    return double(function(x));
}

// I of an order, 0 or 1: the power series, or for large x the asymptotic one.
double modified_bessel(int order, double x) {
    Wide size = std::fabs(Wide(x)), sum = 1, term = 1;
    if (size < 40) {
        Wide quarter = size * size / 4;
        for (int k = 1; term > sum * 1e-22L; k++) sum += term *= quarter / k / (k + order);
        if (order == 1) sum *= size / 2;
    } else {
        for (int k = 1; std::fabs(term) > 1e-22L; k++) {
            sum += term *= -(4 * order * order - Wide(2 * k - 1) * (2 * k - 1)) / (8 * k * size);
        }
        Wide half = std::exp(size / 2);  // in halves, as the exponential alone may be too large
        sum *= std::isinf(half) ? INFINITE : half / std::sqrt(2 * PI * size) * half;
    }
    return double(order == 1 ? std::copysign(sum, Wide(x)) : sum);
}

Wide length(double a, double b, double c, double d) {
    if (std::isinf(a) || std::isinf(b) || std::isinf(c) || std::isinf(d)) return INFINITE;
    double largest = std::fmax(std::fmax(std::fabs(a), std::fabs(b)), std::fmax(std::fabs(c), std::fabs(d)));
    int exponent = 0;
    std::frexp(largest, &exponent);
    Wide sum = 0;
    for (double x : {a, b, c, d}) sum += std::scalbn(Wide(x), -exponent) * std::scalbn(Wide(x), -exponent);
    return std::scalbn(std::sqrt(sum), exponent);
}

}  // namespace

#define DEFINE_OF_DOUBLE(name) \
    double emulator_##name(double x) { return double(std::name(Wide(x))); }
EMULATOR_OF_DOUBLE(DEFINE_OF_DOUBLE)
double emulator_rcbrt(double x) { return double(1 / std::cbrt(Wide(x))); }
double emulator_exp10(double x) { return double(std::pow(Wide(10), Wide(x))); }
double emulator_sinpi(double x) {
    Wide sine = sine_of_half_turns(x, 0);
    return sine == 0 ? std::copysign(0.0, x) : double(sine);
}
double emulator_cospi(double x) { return double(sine_of_half_turns(x, 1) + 0); }  // no -0
double emulator_erfcx(double x) { return double(scaled_erfc(x)); }
double emulator_erfinv(double x) {
    return double(std::fabs(x) <= 0.5 ? small_inverse_erf(x) : inverse_erfc(1 - Wide(x)));
}
double emulator_erfcinv(double x) { return double(inverse_erfc(x)); }
double emulator_normcdf(double x) { return double(std::erfc(-SQRT_HALF * x) / 2); }
double emulator_normcdfinv(double x) { return double(0 - inverse_erfc(2 * Wide(x)) / SQRT_HALF); }
double emulator_norm(double a, double b, double c, double d) { return double(length(a, b, c, d)); }
double emulator_rnorm(double a, double b, double c, double d) { return double(1 / length(a, b, c, d)); }
double emulator_cyl_bessel_i0(double x) { return modified_bessel(0, x); }
double emulator_cyl_bessel_i1(double x) { return modified_bessel(1, x); }
double emulator_j0(double x) { return bessel(::j0l, J0, 0, std::fabs(x)); }
double emulator_j1(double x) { return std::copysign(1.0, x) * bessel(::j1l, J1, 1, std::fabs(x)); }
double emulator_y0(double x) { return bessel(::y0l, Y0, 0, x); }
double emulator_y1(double x) { return bessel(::y1l, Y1, 1, x); }
double emulator_jn(int n, double x) { return double(::jnl(n, x)); }
double emulator_yn(int n, double x) { return double(::ynl(n, x)); }
float emulator_erfcf(float x) { return float(std::erfc(double(x))); }
float emulator_tgammaf(float x) { return float(emulator_tgamma(x)); }
float emulator_lgammaf(float x) { return float(emulator_lgamma(x)); }

#define DEFINE_TO(T, name, Float, whole) \
    T emulator_##name(Float x) { return emulator::saturate<T>(std::whole(double(x))); }
EMULATOR_TO_INTEGER_TYPES(DEFINE_TO)
