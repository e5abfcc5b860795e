// Floats of two bytes, float16 and bfloat16, as float32 and back: to the nearest, ties to even, as IEEE and NumPy round.
#pragma once

#include <cstdint>

#include "lanes.h"
#include "math.h"
#include "tensor.h"

namespace gluonnx {

// What std::bit_cast is in C++20: kernels are C++17 (CMakeLists.txt).
template <class To, class From>
constexpr To bit_cast(From x) {
  return __builtin_bit_cast(To, x);
}

constexpr bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

// -- one number ---------------------------------------------------------------------------------------------------------------

inline float bfloat16_value(std::uint16_t x) { return bit_cast<float>(static_cast<std::uint32_t>(x) << 16); }
inline std::uint16_t as_bfloat16(float x) {
  const auto bits = bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded);
}

inline float float16_value(std::uint16_t x) {
  const std::uint32_t sign = static_cast<std::uint32_t>(x & 0x8000) << 16, size = x & 0x7fffu;
  if (size >= 0x7c00) return bit_cast<float>(sign | 0x7f800000 | (size & 0x3ff) << 13);
  // the exponent's bias differs by 112; a product with a power of two makes numbers of denormal ones
  const float value = bit_cast<float>(size << 13) * 0x1p112f;
  return bit_cast<float>(sign | bit_cast<std::uint32_t>(value));
}
inline std::uint16_t as_float16(float x) {
  const auto bits = bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (size >> 13 & 0x3ff));
  if (size >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);
  if (size < 0x38800000) {  // denormal: what is added to it keeps as many bits as there are
    const float shifted = bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (bit_cast<std::uint32_t>(shifted) - bit_cast<std::uint32_t>(0.5f)));
  }
  return static_cast<std::uint16_t>(sign | (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}

// The float32 that rounds to a half as the double does: what is cut off of it stays visible in its last bit.
inline float odd_float(double x) {
  const auto near = static_cast<float>(x < 3e38 ? x > -3e38 ? x : -__builtin_inf() : x == x ? __builtin_inf() : x);
  auto bits = bit_cast<std::uint32_t>(near);
  const double back = near;
  if (back == x || near != near || (bits & 0x7fffffff) == 0x7f800000) return near;
  if ((back > 0 ? back > x : back < x)) --bits;  // towards zero
  return bit_cast<float>(bits | 1);
}

// -- many ---------------------------------------------------------------------------------------------------------------------
// What goes over an array is compiled once in a file, not for each of its calls.

// A register of floats with every number rounded to one of the narrow dtype.
GX_INLINE Reg rounded_to_float16(Reg v) {
#if defined(__AVX512F__)
  return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
  for (int i = 0; i < LANES; ++i) v[i] = float16_value(as_float16(v[i]));
  return v;
#endif
}
GX_INLINE Reg rounded_to_bfloat16(Reg v) {
  typedef std::uint32_t RegU32 __attribute__((vector_size(LANES * 4)));
  const RegU32 b = reinterpret_cast<RegU32>(v);
  const RegU32 near = (b + 0x7fff + ((b >> 16) & 1)) & 0xffff0000u;
  return v != v ? v : reinterpret_cast<Reg>(near);
}

__attribute__((noinline)) inline void widen_halves(DType type, float* __restrict to, const std::uint16_t* __restrict from, std::int64_t n) {
  std::int64_t i = 0;
  if (type == DType::bf16) {
    for (; i < n; ++i) to[i] = bfloat16_value(from[i]);
    return;
  }
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_ps(to + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i))));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < n; ++i) to[i] = float16_value(from[i]);
}
__attribute__((noinline)) inline void narrow_halves(DType type, std::uint16_t* __restrict to, const float* __restrict from, std::int64_t n) {
  std::int64_t i = 0;
  if (type == DType::bf16) {
    for (; i < n; ++i) to[i] = as_bfloat16(from[i]);
    return;
  }
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_cvtps_ph(_mm512_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) to[i] = as_float16(from[i]);
}

}  // namespace gluonnx
