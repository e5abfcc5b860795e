// exp, log, tanh and what follows from them for vectors of doubles: within 4 units in the last place, with IEEE's answers for
// infinities, NaN, zeros of both signs and denormal numbers. The series are Taylor's, cut off where doubles end.
#pragma once

#include <cstdint>

#include "math.h"

namespace gluonnx {

typedef std::int64_t RegL __attribute__((vector_size(LANES * 4)));

GX_INLINE RegD splat_reg(double s) { return s - RegD{}; }
GX_INLINE RegL bits(RegD v) { return reinterpret_cast<RegL>(v); }
GX_INLINE RegD unbits(RegL v) { return reinterpret_cast<RegD>(v); }
GX_INLINE RegD abs(RegD x) { return unbits(bits(x) & 0x7fffffffffffffff); }
GX_INLINE RegD with_sign(RegD x, RegD s) { return unbits(bits(x) | (bits(s) & (RegL{} + std::int64_t{1} << 63))); }
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
  y = (u == 0.) | (u == __builtin_inf()) ? log(u) : y;
  return x == 0. ? x : y;
}

// log(1 + exp(x)) without overflow
GX_INLINE RegD softplus(RegD x) { return log1p(exp(-abs(x))) + at_least(x, 0.); }

}  // namespace gluonnx
