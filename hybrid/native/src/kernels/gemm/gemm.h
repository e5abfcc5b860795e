// Products of float32 matrices: C (M x N) = op(A) (M x K) times op(B) (K x N), and what is done to each sum before it is
// stored.
//
// B is cut into panels of WIDTH columns, packed so that a panel is one stream; A into strips of a few rows, packed so that a
// strip is one too. A tile of C, strip by panel, stays in registers while it goes along K. K is cut into slices, so that
// a panel's slice stays in the first cache while all strips go by. See multiply for who packs when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "../../base/floats.h"
#include "../../base/kernel.h"
#include "../../base/vec.h"
#include "reduced.h"

namespace gluonnx::gemm {

// What becomes of a sum before it is stored: alpha * sum, (+ C when it accumulates,) + bias, + beta * residual, slope, limits.
struct Epilogue {
  const float* bias = nullptr;      // N values
  const float* residual = nullptr;  // M x N; may not share memory with C
  Index residual_ld = 0;
  float alpha = 1, beta = 1;
  bool accumulate = false;
  bool sloped = false;
  float slope = 0;  // factor of negative values
  bool low = false, high = false;
  float least = 0, most = 0;

  bool plain() const { return !bias && !residual && alpha == 1 && !accumulate && !sloped && !low && !high; }
  // Nothing but sums with C or bias.
  bool adds() const { return !residual && alpha == 1 && !sloped && !low && !high; }
};

struct Sizes {
  Index m, n, k;
  double flops() const { return 2.0 * m * n * k; }
};

struct Product {
  Sizes sizes;
  Operand a, b;
  const float* packed = nullptr;  // b as pack_b made it; then b itself is not looked at
  const Reduced* reduced = nullptr;  // or in fewer bits
  float* c = nullptr;
  Index ldc = 0;
  Epilogue epilogue;
  // Packed B was read a moment ago, and comes from a cache. A row reads it as fast as it comes then, and what asks for lines ahead
  // gets in the way of the machine's own prefetching (Zen 4: a tenth to a fifth of the time); from memory it is a quarter faster.
  bool again = false;
};

// Of K, at most. A panel's floats are a small part of a large second cache; where that is small, they stay in the first.
constexpr Index SLICE = LANES == 16 ? 1024 : 256;

// How pack_b packs, in words: what was packed otherwise does not do.
std::string panels();
// Floats that pack_b wants for b (k x n), and the packing, in parallel when there is a pool.
Index packed_size(Index n, Index k);
void pack_b(const Operand& b, Index n, Index k, float* to, Pool* pool);

// f(begin, length) for each slice of k, for those who pack B themselves: slice after slice, in each panel after panel, in each
// k rows of WIDTH columns (16 * blocks_for, in the last panel).
void each_slice(Index k, const std::function<void(Index, Index)>& f);

// Bytes of scratch for multiply, on so many threads. packed: B is, in floats or for few rows in fewer bits.
std::size_t scratch_bytes(const Sizes& sizes, bool packed, int threads);
void multiply(const Product& product, const Run& run);

// A packed for multiply_packed: m * k floats. A single row that lies in one piece is packed as it is.
void pack_a(const Operand& a, Index m, Index k, float* to);
// Columns [begin, end) of a product on the caller's thread, where both operands are packed; begin and end are multiples of
// WIDTH, or n. What is stored goes to c as if it began with column `begin`; a bias and a residual begin with the first.
void multiply_packed(const Product& product, const float* packed_a, Index begin, Index end);

// As multiply, without handing work over, in scratch_bytes(sizes, packed, 1) bytes of scratch: for many products at a time.
void multiply_alone(const Product& product, std::byte* scratch);

#if defined(__AVX512F__)
constexpr int BLOCKS = 2;
#else
constexpr int BLOCKS = 1;
#endif
constexpr Index WIDTH = 16 * BLOCKS;  // columns of a panel; the last panel may have fewer blocks
// Blocks of a panel of which so many columns exist.
constexpr int blocks_for(Index columns) { return static_cast<int>((columns + 15) / 16); }

using gluonnx::Floats;

}  // namespace gluonnx::gemm
