// exp, log, tanh and what follows from them for vectors of doubles: within 4 units in the last place, with IEEE's answers for
// infinities, NaN, zeros of both signs and denormal numbers. The series are Taylor's, cut off where doubles end.
#pragma once

#include <cstdint>
#include <limits>

#include "math.h"

namespace gluonnx {

typedef std::int64_t RegL __attribute__((vector_size(LANES * 4)));

GX_INLINE RegD splat_reg(double s) { return s - RegD{}; }
GX_INLINE RegL bits(RegD v) { return reinterpret_cast<RegL>(v); }
GX_INLINE RegD unbits(RegL v) { return reinterpret_cast<RegD>(v); }
GX_INLINE RegD abs(RegD x) { return unbits(bits(x) & 0x7fffffffffffffff); }
GX_INLINE RegD with_sign(RegD x, RegD s) { return unbits(bits(x) | (bits(s) & std::numeric_limits<std::int64_t>::min())); }
// a NaN in v stays NaN
GX_INLINE RegD at_least(RegD v, double low) { return low > v ? splat_reg(low) : v; }
GX_INLINE RegD at_most(RegD v, double high) { return high < v ? splat_reg(high) : v; }

GX_INLINE RegD sqrt(RegD x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_pd(0xff, x);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(x);
#elif defined(__SSE2__)
  return _mm_sqrt_pd(x);
#else
  for (int i = 0; i < LANES / 2; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

// x = n log(2) + r, n in `whole` and as an integer
GX_INLINE RegD exp_reduced(RegD x, RegD* whole, RegL* integer) {
  const double magic = 6755399441055744.;  // 1.5 * 2**52: what is added to it keeps no fraction
  RegD shifted = x * 1.4426950408889634 + magic;
  *integer = bits(shifted) - bits(splat_reg(magic));
  *whole = shifted - magic;
  return (x - *whole * 0.693147180369123816) - *whole * 1.90821492927058770e-10;  // the first part has 32 bits
}
// (exp(r) - 1 - r) / r**2 for |r| up to log(2) / 2
GX_INLINE RegD exp_tail(RegD r) {
  RegD q = splat_reg(1. / 87178291200.);
  q = q * r + 1. / 6227020800.;
  q = q * r + 1. / 479001600.;
  q = q * r + 1. / 39916800.;
  q = q * r + 1. / 3628800.;
  q = q * r + 1. / 362880.;
  q = q * r + 1. / 40320.;
  q = q * r + 1. / 5040.;
  q = q * r + 1. / 720.;
  q = q * r + 1. / 120.;
  q = q * r + 1. / 24.;
  q = q * r + 1. / 6.;
  return q * r + 0.5;
}
GX_INLINE RegD power_of_two(RegL n) { return unbits((n + 1023) << 52); }

GX_INLINE RegD exp(RegD x) {
  RegD n;
  RegL integer;
  RegD r = exp_reduced(at_most(at_least(x, -746.), 710.), &n, &integer);  // where it is 0 or infinite already
  RegD p = (exp_tail(r) * r + 1.) * r + 1.;
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_pd(0xff, p, n);
#else
  RegL half = integer >> 1;
  return p * power_of_two(half) * power_of_two(integer - half);
#endif
}

// exp(x) - 1, accurate near 0
GX_INLINE RegD expm1(RegD x) {
  RegD n;
  RegL integer;
  RegD r = exp_reduced(at_most(at_least(x, -50.), 710.), &n, &integer);
  RegD p = r * r * exp_tail(r) + r, half = power_of_two(integer - 1);  // because 2**1024 is no number
  RegD y = (p * half + (half - 0.5)) * 2.;
  return x == 0. ? x : y;
}

GX_INLINE RegD sigmoid(RegD x) { return 1. / (1. + exp(-x)); }

GX_INLINE RegD tanh(RegD x) {
  RegD e = expm1(abs(x) * -2.);
  return with_sign(abs(e) / (2. + e), x);
}

GX_INLINE RegD log(RegD x) {
  const std::int64_t root_half = 0x3fe6a09e667f3bcd;
  RegL small = x < 2.2250738585072014e-308;  // denormal
  RegL i = bits(small ? x * 18014398509481984. : x) - root_half;
  RegD n = __builtin_convertvector(i >> 52, RegD) - (small ? splat_reg(54.) : RegD{});
  RegD f = unbits((i & 0xfffffffffffff) + root_half) - 1.;
  RegD s = f / (2. + f), z = s * s;  // log(1 + f) = 2 artanh(s) = f - s (f - the rest of the series)
  RegD q = splat_reg(2. / 25);
  q = q * z + 2. / 23;
  q = q * z + 2. / 21;
  q = q * z + 2. / 19;
  q = q * z + 2. / 17;
  q = q * z + 2. / 15;
  q = q * z + 2. / 13;
  q = q * z + 2. / 11;
  q = q * z + 2. / 9;
  q = q * z + 2. / 7;
  q = q * z + 2. / 5;
  q = q * z + 2. / 3;
  RegD half = 0.5 * f * f;
  RegD y = n * 0.693147180369123816 - ((half - (s * (half + q * z) + n * 1.90821492927058770e-10)) - f);
  y = x == __builtin_inf() ? x : y;
  y = x == 0. ? splat_reg(-__builtin_inf()) : y;
  return x >= 0. ? y : splat_reg(__builtin_nan(""));
}

// log(1 + x), accurate near 0
GX_INLINE RegD log1p(RegD x) {
  RegD u = 1. + x;
  RegD y = log(u) + (x - (u - 1.)) / u;
  y = ((u == 0.) | (u == __builtin_inf())) ? log(u) : y;
  return x == 0. ? x : y;
}

// log(1 + exp(x)) without overflow
GX_INLINE RegD softplus(RegD x) { return log1p(exp(-abs(x))) + at_least(x, 0.); }

// -- functions of floats, which are exact to half a unit of these where they are computed as doubles --------------------------

namespace floats {

// f on each half of a register of floats, as doubles
template <class F>
GX_INLINE Reg by_doubles(Reg x, F f) {
  constexpr auto FEW = std::make_index_sequence<LANES / 2>{};
  RegD low = f(__builtin_convertvector(half_of<0>(x, FEW), RegD)), high = f(__builtin_convertvector(half_of<1>(x, FEW), RegD));
  return joined(__builtin_convertvector(low, HalfReg), __builtin_convertvector(high, HalfReg), std::make_index_sequence<LANES>{});
}
template <class F>
GX_INLINE Reg by_doubles(Reg x, Reg y, F f) {
  constexpr auto FEW = std::make_index_sequence<LANES / 2>{};
  RegD low = f(__builtin_convertvector(half_of<0>(x, FEW), RegD), __builtin_convertvector(half_of<0>(y, FEW), RegD));
  RegD high = f(__builtin_convertvector(half_of<1>(x, FEW), RegD), __builtin_convertvector(half_of<1>(y, FEW), RegD));
  return joined(__builtin_convertvector(low, HalfReg), __builtin_convertvector(high, HalfReg), std::make_index_sequence<LANES>{});
}

constexpr double HALF_PI = 1.57079632679489662;

// the angle of a slope of 0 and more, to 11 digits
GX_INLINE RegD angle(RegD t) {
  RegL steep = t > 2.41421356237309505, middle = t > 0.414213562373095049;  // tan(3 pi / 8), tan(pi / 8)
  RegD z = steep ? -1. / t : middle ? (t - 1.) / (t + 1.) : t, s = z * z;
  RegD q = splat_reg(1. / 25);
  q = q * -s + 1. / 23;
  q = q * -s + 1. / 21;
  q = q * -s + 1. / 19;
  q = q * -s + 1. / 17;
  q = q * -s + 1. / 15;
  q = q * -s + 1. / 13;
  q = q * -s + 1. / 11;
  q = q * -s + 1. / 9;
  q = q * -s + 1. / 7;
  q = q * -s + 1. / 5;
  q = q * -s + 1. / 3;
  q = q * -s + 1.;
  return q * z + (steep ? splat_reg(HALF_PI) : middle ? splat_reg(HALF_PI / 2) : RegD{});
}
GX_INLINE RegD arctan(RegD x) { return with_sign(angle(abs(x)), x); }
GX_INLINE RegD arctan2(RegD y, RegD x) {
  RegD up = abs(y), along = abs(x), t = up / along;
  t = ((up == 0.) & (along == 0.)) ? RegD{} : t;
  t = ((up == __builtin_inf()) & (along == __builtin_inf())) ? splat_reg(1.) : t;
  RegD a = angle(t);
  return with_sign(bits(x) < 0 ? 2 * HALF_PI - a : a, y);
}
GX_INLINE RegD arcsin(RegD x) { return with_sign(2. * angle(abs(x) / (1. + sqrt(1. - x * x))), x); }
GX_INLINE RegD arccos(RegD x) { return 2. * angle(sqrt((1. - x) / (1. + x))); }
GX_INLINE RegD sinh(RegD x) {
  RegD e = expm1(at_most(abs(x), 700.));
  return with_sign(0.5 * (e + e / (e + 1.)), x);
}
GX_INLINE RegD cosh(RegD x) {
  RegD e = exp(at_most(abs(x), 700.));
  return 0.5 * (e + 1. / e);
}
GX_INLINE RegD arcsinh(RegD x) {
  RegD t = abs(x), s = t * t;
  return with_sign(t == __builtin_inf() ? t : log1p(t + s / (1. + sqrt(s + 1.))), x);
}
GX_INLINE RegD arccosh(RegD x) { return log(x + sqrt(x - 1.) * sqrt(x + 1.)); }
GX_INLINE RegD arctanh(RegD x) {
  RegD t = abs(x);
  return with_sign(0.5 * log1p(2. * t / (1. - t)), x);
}
GX_INLINE RegD log10(RegD x) { return log(x) * 0.434294481903251828; }
GX_INLINE RegD hypot(RegD x, RegD y) {
  RegD size = sqrt(x * x + y * y);
  return ((abs(x) == __builtin_inf()) | (abs(y) == __builtin_inf())) ? splat_reg(__builtin_inf()) : size;
}
// for numbers below FAR
GX_INLINE RegD tan(RegD x) {
  const double magic = 6755399441055744.;
  RegD shifted = x * 0.636619772367581343 + magic, n = shifted - magic;
  RegD r = (x - n * 1.57079632673412561) - n * 6.07710050650619225e-11, z = r * r;
  RegD s = splat_reg(1. / 6227020800.);
  s = s * z - 1. / 39916800.;
  s = s * z + 1. / 362880.;
  s = s * z - 1. / 5040.;
  s = s * z + 1. / 120.;
  s = s * z - 1. / 6.;
  s = s * z * r + r;
  RegD c = splat_reg(-1. / 87178291200.);
  c = c * z + 1. / 479001600.;
  c = c * z - 1. / 3628800.;
  c = c * z + 1. / 40320.;
  c = c * z - 1. / 720.;
  c = c * z + 1. / 24.;
  c = c * z - 0.5;
  c = c * z + 1.;
  RegL odd = (bits(shifted) & 1) != 0;
  RegD y = (odd ? -c : s) / (odd ? s : c);
  return x == 0. ? x : y;
}
// rests of quotients below NEAR, exactly: the quotient's product with the divisor has few bits enough
constexpr float NEAR = 268435456.f;
GX_INLINE RegD rest(RegD a, RegD b) {
  RegD size = abs(a), by = abs(b);
  RegD q = __builtin_convertvector(__builtin_convertvector(size / by, RegL), RegD);
  RegD r = size - q * by;
  r = r < 0. ? r + by : r;
  r = r >= by ? r - by : r;
  return with_sign(r, a);
}

}  // namespace floats

}  // namespace gluonnx
