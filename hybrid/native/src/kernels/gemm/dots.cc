#include "dots.h"

#include "tile.h"

namespace gluonnx::gemm {
namespace {

typedef float Four __attribute__((vector_size(16)));

// A register as four partial sums.
GX_INLINE Four folded(Reg v) {
#if defined(__AVX512F__)
  typedef float Eight __attribute__((vector_size(32)));
  const Eight half =
      __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
#elif defined(__AVX__)
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
#else
  return v;
#endif
}

GX_INLINE float total(Four v) { return (v[0] + v[2]) + (v[1] + v[3]); }

GX_INLINE Reg load_register(const float* p) { return *reinterpret_cast<const RegU*>(p); }

// sums[r * down + c * across] = row r of a times row c of b, for R rows of a and C of b.
template <int R, int C>
void tile(const float* a, Index lda, const float* b, Index ldb, Index k, float* sums, Index down, Index across) {
  Reg sum[R][C];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int c = 0; c < C; ++c) sum[r][c] = Reg{};
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) sums[r * down + c * across] = 0;
  const Index whole = k / LANES, chain = chain_of(whole);
  Index i = 0;
  for (Index left = whole; left > 0;) {
    Index steps = std::min(left, chain);
    left -= steps;
    for (; steps > 0; --steps, i += LANES) {
      Reg row[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) row[r] = load_register(a + r * lda + i);
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        const Reg w = load_register(b + c * ldb + i);
        // few places at a time do not keep memory busy: the next columns are asked for
        if constexpr (R > 2) __builtin_prefetch(b + c * ldb + k + i);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) sum[r][c] += row[r] * w;
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
      for (int c = 0; c < C; ++c) {
        sums[r * down + c * across] += total(folded(sum[r][c]));
        sum[r][c] = Reg{};
      }
  }
  for (; i < k; ++i)
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) sums[r * down + c * across] += a[r * lda + i] * b[c * ldb + i];
}

// Columns of a result, RUN of them, of which a tile computes some at a time. Where there are many columns, a tile's are RUN apart:
// memory gives more when it is read in several places at once, each for a while (1.5 times as much as from neighbours, on Zen 3).
constexpr Index RUN = 16;

template <int R>
void store_run(const Product& p, Index at, Index count, const float* sums, Index row) {
  const Epilogue& f = p.epilogue;
  for (int r = 0; r < R; ++r)
    store_row(sums + r * row, count, f, p.c + r * p.ldc + at, f.bias ? f.bias + at : nullptr,
              f.residual ? f.residual + r * f.residual_ld + at : nullptr);
}

// Columns [begin, end) of R rows.
template <int R>
void columns(const Product& p, Index begin, Index end) {
  constexpr int C = R == 1 ? 8 : R == 2 ? 4 : 2;  // eight sums under way
  const Index lda = p.a.ld, ldb = p.b.ld, k = p.sizes.k;
  alignas(64) float sums[R * C * RUN];
  Index j = begin;
  for (; j + C * RUN <= end; j += C * RUN) {
    for (Index i = 0; i < RUN; ++i)
      tile<R, C>(p.a.data, lda, p.b.data + (j + i) * ldb, RUN * ldb, k, sums + i, C * RUN, RUN);
    for (int c = 0; c < C; ++c) store_run<R>(p, j + c * RUN, RUN, sums + c * RUN, C * RUN);
  }
  for (; j < end; j += RUN) {
    const Index count = std::min(RUN, end - j);
    Index i = 0;
    for (; i + C <= count; i += C) tile<R, C>(p.a.data, lda, p.b.data + (j + i) * ldb, ldb, k, sums + i, RUN, 1);
    for (; i < count; ++i) tile<R, 1>(p.a.data, lda, p.b.data + (j + i) * ldb, ldb, k, sums + i, RUN, 1);
    store_run<R>(p, j, count, sums, RUN);
  }
}

}  // namespace

bool dots_fit(const Product& p) { return p.sizes.m <= FEW_ROWS && p.b.transposed && !p.a.transposed && p.sizes.k > 0; }

void dots(const Product& p, Index begin, Index end) {
  using Columns = void (*)(const Product&, Index, Index);
  static constexpr Columns of[FEW_ROWS] = {columns<1>, columns<2>, columns<3>, columns<4>};
  of[p.sizes.m - 1](p, begin, end);
}

}  // namespace gluonnx::gemm
