// exp, log, pow, sin, tanh, erf and what follows from them for vectors of floats: within 4 units in the last place over all of
// float32, with IEEE's answers for infinities, NaN, zeros of both signs and denormal numbers. Coefficients are minimax fits.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <utility>

#include "vec.h"

namespace gluonnx {

typedef std::int32_t RegI __attribute__((vector_size(LANES * 4)));

GX_INLINE Reg splat_reg(float s) { return Reg{} + s; }
GX_INLINE RegI bits(Reg v) { return reinterpret_cast<RegI>(v); }
GX_INLINE Reg unbits(RegI v) { return reinterpret_cast<Reg>(v); }

GX_INLINE Reg abs(Reg x) { return unbits(bits(x) & 0x7fffffff); }
// x with the sign of s; x is not negative
GX_INLINE Reg with_sign(Reg x, Reg s) { return unbits(bits(x) | (bits(s) & static_cast<std::int32_t>(0x80000000))); }
// a NaN in v stays NaN, as the machine's instructions have it when v comes second
GX_INLINE Reg at_least(Reg v, Reg low) {
#if defined(__AVX512F__)
  return _mm512_maskz_max_ps(0xffff, low, v);
#elif defined(__AVX__)
  return _mm256_max_ps(low, v);
#elif defined(__SSE2__)
  return _mm_max_ps(low, v);
#else
  return low > v ? low : v;
#endif
}
GX_INLINE Reg at_most(Reg v, Reg high) {
#if defined(__AVX512F__)
  return _mm512_maskz_min_ps(0xffff, high, v);
#elif defined(__AVX__)
  return _mm256_min_ps(high, v);
#elif defined(__SSE2__)
  return _mm_min_ps(high, v);
#else
  return high < v ? high : v;
#endif
}

GX_INLINE Reg sqrt(Reg x) {
#if defined(__AVX512F__)
  return _mm512_maskz_sqrt_ps(0xffff, x);
#elif defined(__AVX__)
  return _mm256_sqrt_ps(x);
#elif defined(__SSE2__)
  return _mm_sqrt_ps(x);
#else
  for (int i = 0; i < LANES; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
#endif
}

// x to the nearest integer, for |x| below 2**22, and in `exponent` 2 to that power as bits of a float, less those of 1
GX_INLINE Reg nearest(Reg x, RegI* integer) {
  const float magic = 12582912.f;  // 1.5 * 2**23: what is added to it keeps no fraction
  Reg shifted = x + magic;
  *integer = bits(shifted) - bits(splat_reg(magic));
  return shifted - magic;
}

// p * 2**n, n from -280 to 254, without overflow or double rounding on the way
GX_INLINE Reg scale(Reg p, Reg n, RegI integer) {
#if defined(__AVX512F__)
  return _mm512_maskz_scalef_ps(0xffff, p, n);
#else
  RegI half = integer >> 1;
  Reg first = unbits((half + 127) << 23), second = unbits((integer - half + 127) << 23);
  return p * first * second;
#endif
}

// Both forms of exp begin with x = n log(2) + r. n log(2) is exact with the first part, which has 9 bits.
GX_INLINE Reg exp_reduced(Reg x, Reg* n, RegI* integer) {
  *n = nearest(x * 1.44269504f, integer);
  Reg r = x - *n * 0.693359375f;
  return r - *n * -2.12194440e-4f;
}
// (exp(r) - 1 - r) / r**2 for |r| up to log(2) / 2
GX_INLINE Reg exp_tail(Reg r) {
  Reg q = splat_reg(0.00138825073f);
  q = q * r + 0.00836658012f;
  q = q * r + 0.0416672006f;
  q = q * r + 0.166665435f;
  return q * r + 0.49999997f;
}

// exp for numbers up to 88
GX_INLINE Reg exp_low(Reg x) {
  Reg n;
  RegI integer;
  Reg r = exp_reduced(at_least(x, splat_reg(-104.f)), &n, &integer);  // where it is 0 already
  return scale((exp_tail(r) * r + 1.f) * r + 1.f, n, integer);
}
GX_INLINE Reg exp(Reg x) { return exp_low(at_most(x, splat_reg(89.f))); }  // where it is inf already

// exp(x) - 1, accurate near 0
GX_INLINE Reg expm1(Reg x) {
  Reg n;
  RegI integer;
  Reg r = exp_reduced(at_most(at_least(x, splat_reg(-20.f)), splat_reg(89.f)), &n, &integer);
  Reg p = r * r * exp_tail(r) + r;
  // half of 2**n, because 2**128 is no number
  Reg half = unbits((integer + 126) << 23);
  Reg y = (p * half + (half - 0.5f)) * 2.f;
  return x == 0.f ? x : y;
}

// 0 below -88.8, where exp(-x) is infinite, as NumPy's formula gives
GX_INLINE Reg sigmoid(Reg x) { return 1.f / (1.f + exp(-x)); }

GX_INLINE Reg tanh(Reg x) {
  Reg n;
  RegI integer;
  Reg r = exp_reduced(at_least(abs(x) * -2.f, splat_reg(-20.f)), &n, &integer);
  Reg p = r * r * exp_tail(r) + r, power = unbits((integer + 127) << 23);
  Reg e = p * power + (power - 1.f);  // exp(-2 |x|) - 1
  return with_sign(abs(e) / (2.f + e), x);
}

// (log(1 + f) - f + f**2 / 2) / f**3 for 1 + f from sqrt(1/2) to sqrt(2)
GX_INLINE Reg log_tail(Reg f) {
  Reg q = splat_reg(0.0674660131f);
  q = q * f - 0.116756409f;
  q = q * f + 0.118881747f;
  q = q * f - 0.124055915f;
  q = q * f + 0.142195508f;
  q = q * f - 0.166679963f;
  q = q * f + 0.200021192f;
  q = q * f - 0.250000089f;
  return q * f + 0.333333135f;
}

// x = (1 + f) * 2**n with 1 + f from sqrt(1/2) to sqrt(2), for positive numbers
GX_INLINE Reg log_reduced(Reg x, Reg* n) {
  const std::int32_t root_half = 0x3f3504f3;
  RegI small = x < 1.17549435e-38f;  // denormal
  RegI i = bits(small ? x * 8388608.f : x) - root_half;
  *n = __builtin_convertvector(i >> 23, Reg) - (small ? splat_reg(23.f) : splat_reg(0.f));
  return unbits((i & 0x007fffff) + root_half) - 1.f;
}
// y, the logarithm of x, where x is a positive number, and what it should be elsewhere
GX_INLINE Reg log_beyond(Reg x, Reg y) {
  y = x == __builtin_inff() ? x : y;
  y = x == 0.f ? splat_reg(-__builtin_inff()) : y;
  return x >= 0.f ? y : splat_reg(__builtin_nanf(""));
}

GX_INLINE Reg log(Reg x) {
  Reg n, f = log_reduced(x, &n), square = f * f;
  Reg low = square * f * log_tail(f) + n * -2.12194440e-4f - square * 0.5f;
  return log_beyond(x, low + f + n * 0.693359375f);
}

GX_INLINE Reg log2(Reg x) {
  Reg n, f = log_reduced(x, &n), square = f * f;
  Reg low = square * f * log_tail(f) - square * 0.5f;
  return log_beyond(x, low * 1.44269504f + f * 1.44269504f + n);
}

// The cube root. A third of the number's bits are nearly those of its root, and Halley's steps cube the error, which is 0.04 then;
// in double precision, so that one rounding is left.
GX_INLINE Reg cbrt(Reg x) {
  typedef double Doubles __attribute__((vector_size(LANES * 8)));
  Reg size = abs(x);
  RegI small = size < 1.17549435e-38f;  // denormal
  Reg scaled = small ? size * 16777216.f : size;
  Doubles number = __builtin_convertvector(scaled, Doubles);
  Doubles root = __builtin_convertvector(unbits(bits(scaled) / 3 + 0x2a5119f2), Doubles);
  for (int step = 0; step < 2; ++step) {
    Doubles cube = root * root * root;
    root = root * (cube + 2 * number) / (2 * cube + number);
  }
  Reg y = __builtin_convertvector(root, Reg);
  y = with_sign(small ? y * 0.00390625f : y, x);
  return ((size > 0.f) & (size < __builtin_inff())) ? y : x;
}

// log(1 + x), accurate near 0
GX_INLINE Reg log1p(Reg x) {
  Reg u = 1.f + x;
  Reg lost = x - (u - 1.f);
  Reg y = log(u) + lost / u;
  y = ((u == 0.f) | (u == __builtin_inff())) ? log(u) : y;
  return x == 0.f ? x : y;
}

// log(1 + exp(x)) without overflow
GX_INLINE Reg softplus(Reg x) { return log1p(exp_low(-abs(x))) + at_least(x, splat_reg(0.f)); }

// erfc(t) exp(t**2) for t of 0 and more
GX_INLINE Reg erfcx(Reg t) {
  Reg u = 1.f / (1.f + 0.35f * t);
  Reg w = splat_reg(0.0390823111f);
  w = w * u - 0.1627336f;
  w = w * u + 0.190689906f;
  w = w * u - 0.0404376835f;
  w = w * u + 0.0980106518f;
  w = w * u + 0.139895245f;
  w = w * u + 0.153408855f;
  w = w * u + 0.187402144f;
  w = w * u + 0.197201863f;
  w = w * u + 0.197480321f;
  return w * u;
}

GX_INLINE Reg erf(Reg x) {
  Reg t = abs(x), s = x * x;
  Reg p = splat_reg(-9.22406798e-06f);  // erf(x) / x - 1, whose errors are an eighth of what they would be of erf(x) / x
  p = p * s + 0.000111129782f;
  p = p * s - 0.000846338866f;
  p = p * s + 0.00521964906f;
  p = p * s - 0.0268649589f;
  p = p * s + 0.112837747f;
  p = p * s - 0.376126379f;
  p = p * s + 0.128379166f;
  Reg far = with_sign(1.f - exp_low(-s) * erfcx(t), x);
  return t > 1.05f ? far : p * x + x;  // NaN goes the second way
}

// x times the normal distribution function; below 0 without the cancellation that 1 + erf has. The far tail, where values are
// below 1e-8, is good to 64 units in the last place.
GX_INLINE Reg gelu(Reg x) {
  Reg beyond = 0.5f * exp_low(x * x * -0.5f) * erfcx(abs(x) * 0.707106781f);  // the probability of more than |x|
  return x * (x < 0.f ? beyond : 1.f - beyond);
}

// -- pow: in double precision, since an error of the logarithm grows with the exponent, and 3**3 should be 27 -----------------

typedef double RegD __attribute__((vector_size(LANES * 4)));
typedef float HalfReg __attribute__((vector_size(LANES * 2)));

template <int HALF, std::size_t... I>
GX_INLINE HalfReg half_of(Reg v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I + HALF * LANES / 2)...);
}
template <std::size_t... I>
GX_INLINE Reg joined(HalfReg a, HalfReg b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, I...);
}

// ((1 + f) 2**n)**y as a number from sqrt(1/2) to sqrt(2) times 2 to a whole power, which is limited to where it is 0 or
// infinite
GX_INLINE HalfReg power_parts(HalfReg f_, HalfReg n_, HalfReg y_, HalfReg* whole) {
  RegD f = __builtin_convertvector(f_, RegD), n = __builtin_convertvector(n_, RegD), y = __builtin_convertvector(y_, RegD);
  RegD s = f / (2. + f), z = s * s;  // log(1 + f) = 2 artanh(s)
  RegD p = z * (1. / 13) + 1. / 11;
  p = p * z + 1. / 9;
  p = p * z + 1. / 7;
  p = p * z + 1. / 5;
  p = p * z + 1. / 3;
  p = p * z + 1.;
  RegD t = y * (s * p * 2.8853900817779268 + n);
  t = t < -160. ? RegD{} - 160. : t;
  t = t > 160. ? RegD{} + 160. : t;
  const double magic = 6755399441055744.;  // 1.5 * 2**52
  RegD rounded = (t + magic) - magic;
  *whole = __builtin_convertvector(rounded, HalfReg);
  RegD r = (t - rounded) * 0.69314718055994531;
  RegD e = r * (1. / 40320) + 1. / 5040;
  e = e * r + 1. / 720;
  e = e * r + 1. / 120;
  e = e * r + 1. / 24;
  e = e * r + 1. / 6;
  e = e * r + 0.5;
  e = e * r + 1.;
  e = e * r + 1.;
  return __builtin_convertvector(e, HalfReg);
}

GX_INLINE Reg pow(Reg x, Reg y) {
  constexpr auto ALL = std::make_index_sequence<LANES>{};
  constexpr auto FEW = std::make_index_sequence<LANES / 2>{};
  const Reg size = abs(x), one = splat_reg(1.f), infinite = splat_reg(__builtin_inff());
  Reg n, f = log_reduced(size, &n);
  n = size == 0.f ? -infinite : size == infinite ? infinite : size != size ? size : n;
  HalfReg whole0, whole1;
  HalfReg low = power_parts(half_of<0>(f, FEW), half_of<0>(n, FEW), half_of<0>(y, FEW), &whole0);
  HalfReg high = power_parts(half_of<1>(f, FEW), half_of<1>(n, FEW), half_of<1>(y, FEW), &whole1);
  Reg whole = joined(whole0, whole1, ALL);
  Reg result = scale(joined(low, high, ALL), whole, __builtin_convertvector(whole, RegI));
  result = ((size == 1.f) & (y == y)) ? one : result;
  RegI truncated = __builtin_convertvector(y, RegI);
  RegI large = abs(y) >= 16777216.f;  // whole numbers, and even; NaN is none
  RegI integer = large | (__builtin_convertvector(truncated, Reg) == y);
  RegI odd = ~large & integer & ((truncated & 1) != 0);
  RegI negative = bits(x) < 0;
  result = negative & odd ? -result : result;
  result = (x < 0.f) & (size != infinite) & ~integer ? splat_reg(__builtin_nanf("")) : result;
  return ((y == 0.f) | (x == 1.f)) ? one : result;
}

// -- sin and cos: for numbers below FAR, which the quarters of a turn can be taken from exactly
// --------------------------------

constexpr float FAR = 8192.f;

GX_INLINE Reg turned(Reg x, int quarters) {
  RegI quarter;
  Reg n = nearest(x * 0.636619772f, &quarter);
  Reg r = x - n * 1.5703125f;
  r = r - n * 0.000483751297f;
  r = r - n * 7.54953362e-08f;
  r = r - n * 2.56334407e-12f;
  Reg z = r * r;
  Reg s = splat_reg(2.71736667e-06f);
  s = s * z - 0.000198392328f;
  s = s * z + 0.00833332911f;
  s = s * z - 0.166666672f;
  s = s * z * r + r;
  Reg c = splat_reg(2.44312032e-05f);
  c = c * z - 0.0013887306f;
  c = c * z + 0.0416666456f;
  c = c * z * z - 0.5f * z + 1.f;
  quarter += quarters;
  Reg y = (quarter & 1) != 0 ? c : s;
  return unbits(bits(y) ^ (quarter << 30 & static_cast<std::int32_t>(0x80000000)));
}
GX_INLINE Reg sin(Reg x) { return x == 0.f ? x : turned(x, 0); }
GX_INLINE Reg cos(Reg x) { return turned(x, 1); }

// The same on a block of sixteen.
template <class F>
GX_INLINE Block each(Block b, F f) {
#pragma GCC unroll 4
  GX_EACH b.r[i] = f(b.r[i]);
  return b;
}

}  // namespace gluonnx
