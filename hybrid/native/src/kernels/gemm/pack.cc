#include "pack.h"

namespace gluonnx::gemm {
namespace {

typedef float Four __attribute__((vector_size(16)));
typedef float FourU __attribute__((vector_size(16), aligned(4), may_alias));

// Four rows of four as four columns: to[i * step + j] = from[j * ld + i].
GX_INLINE void transpose_four(const float* from, Index ld, float* to, Index step) {
  auto row = [&](Index j) { return static_cast<Four>(*reinterpret_cast<const FourU*>(from + j * ld)); };
  auto put = [&](Index i, Four v) { *reinterpret_cast<FourU*>(to + i * step) = v; };
  const Four a = row(0), b = row(1), c = row(2), d = row(3);
  const Four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), AB = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), CD = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  put(0, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(AB, CD, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(AB, CD, 2, 3, 6, 7));
}

// to (k, step) from `rows` rows of k elements, the columns of `to` beyond them left alone.
void transpose(const float* from, Index ld, Index rows, Index k, float* to, Index step) {
  if (rows < 4) {
    for (Index i = 0; i < k; ++i)
      for (Index r = 0; r < rows; ++r) to[i * step + r] = from[r * ld + i];
    return;
  }
  for (Index begin = 0; begin < rows; begin += 4) {
    const Index r = std::min(begin, rows - 4);  // the last four may overlap those before
    const float* source = from + r * ld;
    Index i = 0;
    for (; i + 4 <= k; i += 4) transpose_four(source + i, ld, to + i * step + r, step);
    for (; i < k; ++i)
      for (Index j = 0; j < 4; ++j) to[i * step + r + j] = source[j * ld + i];
  }
}

// k rows of so many elements.
template <Index COLUMNS>
void copy_rows(const float* from, Index ld, Index k, float* to, Index step) {
  for (Index i = 0; i < k; ++i, from += ld, to += step)
#pragma GCC unroll 2
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
