// Blocks of numbers of fewer bits as floats, in registers.
#pragma once

#include <cstring>

#include "../../base/math.h"
#include "../../base/vec.h"

namespace gluonnx::gemm {

// A bfloat16.
enum class Half : std::uint16_t {};

GX_INLINE Block load(const float* p) { return gluonnx::load(p); }

GX_INLINE Block load(const std::int8_t* p) {
  Block b;
#if defined(__AVX512F__)
  const auto whole = _mm512_maskz_cvtepi8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  b.r[0] = __builtin_convertvector(reinterpret_cast<RegI>(whole), Reg);
#elif defined(__AVX2__)
#pragma GCC unroll 2
  GX_EACH b.r[i] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8 * i))));
#else
  typedef std::int8_t Bytes __attribute__((vector_size(LANES)));
  Bytes bytes[REGISTERS];
  std::memcpy(bytes, p, 16);
#pragma GCC unroll 4
  GX_EACH b.r[i] = __builtin_convertvector(__builtin_convertvector(bytes[i], RegI), Reg);
#endif
  return b;
}

GX_INLINE Block load(const Half* p) {
  Block b;
#if defined(__AVX512F__)
  const auto low = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  b.r[0] = unbits(reinterpret_cast<RegI>(low) << 16);
#elif defined(__AVX2__)
#pragma GCC unroll 2
  GX_EACH b.r[i] = reinterpret_cast<Reg>(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8 * i))), 16));
#else
  typedef std::uint16_t Halves __attribute__((vector_size(LANES * 2)));
  Halves halves[REGISTERS];
  std::memcpy(halves, p, 32);
#pragma GCC unroll 4
  GX_EACH b.r[i] = unbits(__builtin_convertvector(halves[i], RegI) << 16);
#endif
  return b;
}

}  // namespace gluonnx::gemm
