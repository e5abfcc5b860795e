// Sixteen floats: the channel block, whatever registers this level has for it (one of AVX-512, two of AVX, four of SSE or NEON).
#pragma once

#include <cstdint>

namespace gluonnx {

#if defined(__AVX512F__)
constexpr int REGISTERS = 1;  // per block
#elif defined(__AVX__)
constexpr int REGISTERS = 2;
#else
constexpr int REGISTERS = 4;
#endif
constexpr int LANES = 16 / REGISTERS;
constexpr int LANES64 = LANES / 2;  // doubles of a register

typedef float Reg __attribute__((vector_size(LANES * 4)));
typedef float RegU __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define GX_INLINE static inline __attribute__((always_inline))

struct Block {
  Reg r[REGISTERS];
};

// So many products are added up one after the other, about, before the registers are emptied into memory: errors grow with the
// length of such a chain, or with its root where signs are mixed. onnxruntime's chains have 128 to 256 (docs/accuracy.md).
constexpr std::int64_t CHAIN = 128;
// The length of equal chains that `steps` are cut into, of at most 1.5 times `chain`.
GX_INLINE std::int64_t chain_of(std::int64_t steps, std::int64_t chain = CHAIN) {
  const std::int64_t chains = (steps + chain / 2) / chain;
  return chains <= 1 ? steps : (steps + chains - 1) / chains;
}

#define GX_LAMBDA __attribute__((always_inline))
#define GX_EACH for (int i = 0; i < REGISTERS; ++i)

GX_INLINE Block load(const float* p) {
  Block b;
#pragma GCC unroll 4
  GX_EACH b.r[i] = *reinterpret_cast<const RegU*>(p + i * LANES);
  return b;
}
GX_INLINE void store(float* p, Block b) {
#pragma GCC unroll 4
  GX_EACH *reinterpret_cast<RegU*>(p + i * LANES) = b.r[i];
}
GX_INLINE Block splat(float s) {
  Block b;
#pragma GCC unroll 4
  GX_EACH b.r[i] = Reg{} + s;
  return b;
}
GX_INLINE Block zero() { return splat(0.f); }
GX_INLINE Block operator+(Block a, Block b) {
#pragma GCC unroll 4
  GX_EACH a.r[i] += b.r[i];
  return a;
}
GX_INLINE Block operator-(Block a, Block b) {
#pragma GCC unroll 4
  GX_EACH a.r[i] -= b.r[i];
  return a;
}
GX_INLINE Block operator*(Block a, Block b) {
#pragma GCC unroll 4
  GX_EACH a.r[i] *= b.r[i];
  return a;
}
GX_INLINE Block operator/(Block a, Block b) {
#pragma GCC unroll 4
  GX_EACH a.r[i] /= b.r[i];
  return a;
}
GX_INLINE Block operator*(Block a, float s) {
#pragma GCC unroll 4
  GX_EACH a.r[i] *= s;
  return a;
}
// a + w * s, one rounding where the machine has it
GX_INLINE Block fma(Block a, Block w, float s) {
#pragma GCC unroll 4
  GX_EACH a.r[i] += w.r[i] * s;
  return a;
}
GX_INLINE Block fma(Block a, Block w, Block x) {
#pragma GCC unroll 4
  GX_EACH a.r[i] += w.r[i] * x.r[i];
  return a;
}
// NumPy's: a NaN in v stays NaN (the comparison is false, and v is what is left)
GX_INLINE Block at_least(Block v, Block low) {
#pragma GCC unroll 4
  GX_EACH v.r[i] = low.r[i] > v.r[i] ? low.r[i] : v.r[i];
  return v;
}
GX_INLINE Block at_most(Block v, Block high) {
#pragma GCC unroll 4
  GX_EACH v.r[i] = high.r[i] < v.r[i] ? high.r[i] : v.r[i];
  return v;
}

}  // namespace gluonnx
