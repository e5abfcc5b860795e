#include "tile.h"

#include <algorithm>
#include <utility>

namespace gluonnx::backward {
namespace {

// A chain of products: shorter than CHAIN, because a convolution's taps are summed here too, which others add up one by one.
constexpr Index LINK = 80;

template <int R, int B>
void run_tile(const Factor& f, const float* panel, float* sums) {
  Block sum[R][B];
  auto each = [&](auto f) GX_LAMBDA {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < B; ++j) f(sum[r][j], sums + (r * B + j) * 16);
  };
  auto clear = [](Block& s, float*) GX_LAMBDA { s = zero(); };
  auto add = [](Block& s, float* at) GX_LAMBDA { s = s + load(at); };
  auto keep = [](Block& s, float* at) GX_LAMBDA { store(at, s); };
  each(clear);
  const Index chain = chain_of(f.depth(), LINK);
  Index room = chain;
  bool begun = false;  // sums has what chains before have given
  const Index step = f.loops[2].step, row = f.row_step;
  const float* start = f.data;
  for (Index i = f.loops[0].count; i > 0; --i, start += f.loops[0].step) {
    const float* line = start;
    for (Index j = f.loops[1].count; j > 0; --j, line += f.loops[1].step) {
      // two bases: three rows of each are reached by scaled addressing, instead of a pointer for every row
      const float* a = line;
      const float* far = line + 3 * row;
      for (Index left = f.loops[2].count; left > 0;) {
        if (room == 0) {
          if (begun) each(add);
          each(keep);
          each(clear);
          begun = true;
          room = chain;
        }
        Index n = std::min(left, room);
        left -= n;
        room -= n;
        for (; n > 0; --n) {
          asm volatile("" : "+r"(a), "+r"(far), "+r"(panel));
          Block seen[B];
#pragma GCC unroll 4
          for (int b = 0; b < B; ++b) seen[b] = load(panel + 16 * b);
#pragma GCC unroll 8
          for (int r = 0; r < R; ++r) {
            const float s = r < 3 ? a[r * row] : far[(r - 3) * row];
#pragma GCC unroll 4
            for (int b = 0; b < B; ++b) sum[r][b] = fma(sum[r][b], seen[b], s);
          }
          a += step;
          far += step;
          panel += B * 16;
        }
      }
    }
  }
  if (begun) each(add);
  each(keep);
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

void prefetch(const Factor& factor, Index rows) {
  const Loop& inner = factor.loops[2];
  // what lies together: rows of weights on the way forward, on the way back all rows of a filter
  const bool long_rows = inner.step == 1 && factor.loops[0].count * factor.loops[1].count == 1;
  const Index length = long_rows ? inner.count : rows * factor.row_step;
  const Loop& filters = factor.loops[0].count > 1 ? factor.loops[0] : factor.loops[1].count > 1 ? factor.loops[1] : inner;
  const Loop lines = long_rows ? Loop{rows, factor.row_step} : filters;
  for (Index i = 0; i < lines.count; ++i)
    for (Index j = 0; j < length; j += 16) __builtin_prefetch(factor.data + i * lines.step + j);
}

Micro micro(int rows, int blocks) { return TABLE.of[rows - 1][blocks - 1]; }

}  // namespace gluonnx::backward
