#include "tile.h"

#include <utility>

namespace gluonnx::backward {
namespace {

template <int R, int B>
void run_tile(const Factor& f, const float* panel, float* sums) {
  Block sum[R][B];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) sum[r][j] = zero();
  const Index step = f.inner_step, row = f.row_step;
  const float* start = f.data;
  for (Index i = f.outer; i > 0; --i, start += f.outer_step) {
    // two bases: three rows of each are reached by scaled addressing, instead of a pointer for every row
    const float* a = start;
    const float* far = start + 3 * row;
    for (Index n = f.inner; n > 0; --n) {
      asm volatile("" : "+r"(a), "+r"(far), "+r"(panel));
      Block line[B];
#pragma GCC unroll 4
      for (int j = 0; j < B; ++j) line[j] = load(panel + 16 * j);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const float s = r < 3 ? a[r * row] : far[(r - 3) * row];
#pragma GCC unroll 4
        for (int j = 0; j < B; ++j) sum[r][j] = fma(sum[r][j], line[j], s);
      }
      a += step;
      far += step;
      panel += B * 16;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) store(sums + (r * B + j) * 16, sum[r][j]);
}

struct Table {
  Micro of[ROWS][BLOCKS];
};

template <int R, int... B>
constexpr void fill(Table& table, std::integer_sequence<int, B...>) {
  ((table.of[R][B] = run_tile<R + 1, B + 1>), ...);
}

template <int... R>
constexpr Table all(std::integer_sequence<int, R...>) {
  Table table{};
  (fill<R>(table, std::make_integer_sequence<int, BLOCKS>{}), ...);
  return table;
}

constexpr Table TABLE = all(std::make_integer_sequence<int, ROWS>{});

}  // namespace

Micro micro(int rows, int blocks) { return TABLE.of[rows - 1][blocks - 1]; }

}  // namespace gluonnx::backward
