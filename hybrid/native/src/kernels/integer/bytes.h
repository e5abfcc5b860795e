// As many bytes as there are lanes, to and from 32 bits each: what compilers make of vector conversions four times as wide goes
// one by one.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../base/lanes.h"

namespace gluonnx::integer {

constexpr std::int64_t GRAIN = 1 << 15;  // numbers that are worth handing over

GX_INLINE RegI widened(const std::uint8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<RegI>(_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<RegI>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
#elif defined(__SSE4_1__)
  std::int32_t four;
  std::memcpy(&four, p, 4);
  return reinterpret_cast<RegI>(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(four)));
#else
  typedef std::uint8_t Some __attribute__((vector_size(LANES), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const Some*>(p), RegI);
#endif
}
// signed bytes as others: ((x + 128) mod 256) - 128
GX_INLINE RegI widened(const std::int8_t* p) { return (widened(reinterpret_cast<const std::uint8_t*>(p)) ^ 128) - 128; }

// the first `count` of them, zeros follow
GX_INLINE RegI widened_some(const std::uint8_t* p, std::int64_t count) {
  std::uint8_t some[LANES] = {};
#if defined(__AVX512VL__) && defined(__AVX512BW__)
  const __m128i there = _mm_maskz_loadu_epi8((1u << count) - 1, p);
  std::memcpy(some, &there, LANES);
#else
  std::memcpy(some, p, count);
#endif
  return widened(some);
}

// The bytes from `at` on as floats: `count` of them or as many as there are lanes, whichever is less.
GX_INLINE Reg floats(const void* bytes, bool is_signed, std::int64_t at, std::int64_t count) {
  const auto* p = static_cast<const std::uint8_t*>(bytes) + at;
  const RegI v = count >= LANES ? widened(p) : widened_some(p, count);
  return __builtin_convertvector(is_signed ? (v ^ 128) - 128 : v, Reg);
}

// to the nearest integer, ties to even, of numbers that int32 has
GX_INLINE RegI rounded(Reg v) {
#if defined(__AVX512F__)
  return reinterpret_cast<RegI>(_mm512_maskz_cvtps_epi32(0xffff, v));
#elif defined(__AVX__)
  return reinterpret_cast<RegI>(_mm256_cvtps_epi32(v));
#elif defined(__SSE2__)
  return reinterpret_cast<RegI>(_mm_cvtps_epi32(v));
#else
  for (int i = 0; i < LANES; ++i) v[i] = __builtin_nearbyintf(v[i]);
  return __builtin_convertvector(v, RegI);
#endif
}

// the lowest byte of each of the first `count` lanes, or of all of them when that is less
GX_INLINE void put_bytes(void* to, RegI v, std::int64_t count) {
#if defined(__AVX512VL__) && defined(__AVX512BW__)
  const __m128i made = _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(v));
  if (count < LANES) return _mm_mask_storeu_epi8(to, (1u << count) - 1, made);
#elif defined(__AVX2__)
  const __m256i low = _mm256_set1_epi32(0x0c080400);
  const __m256i four = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(v), low);
  const __m128i made = _mm_unpacklo_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
#elif defined(__SSE4_1__)
  const __m128i made = _mm_shuffle_epi8(reinterpret_cast<__m128i>(v), _mm_set1_epi32(0x0c080400));
#else
  typedef std::int8_t Bytes __attribute__((vector_size(LANES)));
  const Bytes made = __builtin_convertvector(v, Bytes);
#endif
  if (count >= LANES) return static_cast<void>(std::memcpy(to, &made, LANES));
  const auto some = made;  // in memory, where `made` need not be
  std::memcpy(to, &some, count);
}

}  // namespace gluonnx::integer
