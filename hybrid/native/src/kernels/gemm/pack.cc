#include "pack.h"

namespace gluonnx::gemm {
namespace {

typedef float Four __attribute__((vector_size(16)));
typedef float FourU __attribute__((vector_size(16), aligned(4), may_alias));

constexpr int QUARTERS = LANES / 4;  // of a register, four floats each

// Four floats from each of so many places, side by side.
GX_INLINE Reg gathered(const float* const* from, Index offset) {
  auto four = [&](int i) { return static_cast<Four>(*reinterpret_cast<const FourU*>(from[i] + offset)); };
#if defined(__AVX512F__)
  typedef float Eight __attribute__((vector_size(32)));
  const Eight low = __builtin_shufflevector(four(0), four(1), 0, 1, 2, 3, 4, 5, 6, 7);
  const Eight high = __builtin_shufflevector(four(2), four(3), 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif defined(__AVX__)
  return __builtin_shufflevector(four(0), four(1), 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return four(0);
#endif
}

// Transposes the four by four floats in the quarters of v.
GX_INLINE void transpose_quarters(Reg (&v)[4]) {
#if defined(__AVX512F__)
  auto low = [](Reg a, Reg b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
  };
  auto high = [](Reg a, Reg b) {
    return __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  };
  auto first = [](Reg a, Reg b) {
    return __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
  };
  auto last = [](Reg a, Reg b) {
    return __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  };
#elif defined(__AVX__)
  auto low = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); };
  auto high = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15); };
  auto first = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13); };
  auto last = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15); };
#else
  auto low = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); };
  auto high = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); };
  auto first = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 0, 1, 4, 5); };
  auto last = [](Reg a, Reg b) { return __builtin_shufflevector(a, b, 2, 3, 6, 7); };
#endif
  const Reg ab = low(v[0], v[1]), cd = low(v[2], v[3]), AB = high(v[0], v[1]), CD = high(v[2], v[3]);
  v[0] = first(ab, cd);
  v[1] = last(ab, cd);
  v[2] = first(AB, CD);
  v[3] = last(AB, CD);
}

// The quarters of v, the last one so that it ends with float `count` of `to`, the others side by side.
GX_INLINE void put(float* to, Reg v, Index count) {
  if (count == LANES) {
    *reinterpret_cast<RegU*>(to) = v;
    return;
  }
  Four quarters[QUARTERS];
  std::memcpy(quarters, &v, sizeof(v));
#pragma GCC unroll 4
  for (int i = 0; i < QUARTERS; ++i) *reinterpret_cast<FourU*>(to + std::min<Index>(4 * i, count - 4)) = quarters[i];
}

// to (k, step) from `rows` rows of k elements, the columns of `to` beyond them left alone.
void transpose(const float* from, Index ld, Index rows, Index k, float* to, Index step) {
  if (rows < 4) {
    for (Index i = 0; i < k; ++i)
      for (Index r = 0; r < rows; ++r) to[i * step + r] = from[r * ld + i];
    return;
  }
  for (Index begin = 0; begin < rows; begin += LANES) {
    const Index first = std::min(begin, std::max<Index>(0, rows - LANES));  // the last ones may overlap those before
    const Index count = std::min<Index>(LANES, rows - first);
    const float* quarter[QUARTERS];
    for (int i = 0; i < QUARTERS; ++i) quarter[i] = from + (first + std::min<Index>(4 * i, count - 4)) * ld;
    Index i = 0;
    for (; i + 4 <= k; i += 4) {
      Reg v[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) v[r] = gathered(quarter, r * ld + i);
      transpose_quarters(v);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) put(to + (i + r) * step + first, v[r], count);
    }
    for (; i < k; ++i)
      for (Index r = first; r < first + count; ++r) to[i * step + r] = from[r * ld + i];
  }
}

// k rows of so many elements.
template <Index COLUMNS>
void copy_rows(const float* from, Index ld, Index k, float* to, Index step) {
  for (Index i = 0; i < k; ++i, from += ld, to += step)
#pragma GCC unroll 4
    for (Index j = 0; j < COLUMNS; j += 16) store(to + j, load(from + j));
}

}  // namespace

void pack_strip(const Operand& a, Index row, Index rows, Index column, Index k, float* to) {
  const float* from = a.at(row, column);
  if (!a.transposed) return transpose(from, a.ld, rows, k, to, rows);
  for (Index i = 0; i < k; ++i, from += a.ld, to += rows)
    for (Index r = 0; r < rows; ++r) to[r] = from[r];
}

void pack_panel(const Operand& b, Index row, Index k, Index column, Index columns, Index width, float* to, Index step) {
  if (columns < width)
    for (Index i = 0; i < k; ++i) std::memset(to + i * step + columns, 0, (width - columns) * sizeof(float));
  if (columns <= 0) return;
  const float* from = b.at(row, column);
  if (b.transposed) return transpose(from, b.ld, columns, k, to, step);
  if (columns == 16) return copy_rows<16>(from, b.ld, k, to, step);
  if (columns == WIDTH) return copy_rows<WIDTH>(from, b.ld, k, to, step);
  for (Index i = 0; i < k; ++i) std::memcpy(to + i * step, from + i * b.ld, columns * sizeof(float));
}

}  // namespace gluonnx::gemm
