// What the normalizations share: how axes are counted, and sums that lose little.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../../base/kernel.h"
#include "../../base/lanes.h"

namespace gluonnx {

// Columns that are taken at a time where sums go across rows: what they gather stays in the first cache.
constexpr std::int64_t COLUMNS = 256;

// That all operands and results are float32.
inline void want_floats(const Call& call) {
  want_floats(call.in);
  want_floats(call.out);
}

// The sizes of a tensor before, along and after one axis.
struct AxisSplit {
  std::int64_t before = 1, size = 1, after = 1;

  AxisSplit(const std::vector<std::int64_t>& shape, std::int64_t axis) {
    axis = axis_in(axis, static_cast<std::int64_t>(shape.size()));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i)
      (i < axis ? before : i == axis ? size : after) *= shape[i];
  }
  std::int64_t all() const { return before * size * after; }
};

// The sum of f(i, count) (a Reg; lanes beyond count are not looked at) over the vectors of n elements. Added up in pieces, by
// lanes and then in double precision, so that the error does not grow with n.
template <class F>
GX_INLINE double sum_over(std::int64_t n, F f) {
  constexpr std::int64_t PIECE = 64 * LANES;
  double total = 0;
  for (std::int64_t start = 0; start < n; start += PIECE) {
    std::int64_t end = start + PIECE < n ? start + PIECE : n, i = start;
    Reg a = {}, b = {}, c = {}, d = {};
    for (; i + 4 * LANES <= end; i += 4 * LANES) {
      a += f(i, AllLanes{});
      b += f(i + LANES, AllLanes{});
      c += f(i + 2 * LANES, AllLanes{});
      d += f(i + 3 * LANES, AllLanes{});
    }
    for (; i + LANES <= end; i += LANES) a += f(i, AllLanes{});
    if (i < end) b += first(f(i, end - i), end - i, 0.f);
    total += sum((a + b) + (c + d));
  }
  return total;
}

// The same in double precision throughout, for sums of any length whose terms may cancel: what float32 loses on the way is
// large beside what is left. About as fast, where the terms come from memory.
template <class F>
GX_INLINE double wide_sum_over(std::int64_t n, F f) {
  constexpr auto FEW = std::make_index_sequence<LANES / 2>{};
  RegD low[2] = {}, high[2] = {};
  auto add = [&](int j, Reg v) {
    low[j] += __builtin_convertvector(half_of<0>(v, FEW), RegD);
    high[j] += __builtin_convertvector(half_of<1>(v, FEW), RegD);
  };
  std::int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES) {
    add(0, f(i, AllLanes{}));
    add(1, f(i + LANES, AllLanes{}));
  }
  each_vector(n - i, [&](std::int64_t j, auto k) { add(0, first(f(i + j, k), k, 0.f)); });
  const RegD all = (low[0] + low[1]) + (high[0] + high[1]);
  double total = 0;
  for (int lane = 0; lane < LANES / 2; ++lane) total += all[lane];
  return total;
}

struct Moments {
  float mean;      // rounded,
  float rest;      // and what that leaves over, which shows where the mean is far larger than the deviation
  float variance;  // biased
};

// Of n contiguous floats, in two passes: the difference of large squares would be mostly rounding.
GX_INLINE Moments moments(const float* x, std::int64_t n) {
  constexpr std::int64_t PIECE = 64 * LANES;
  const double count = static_cast<double>(n);
  const double first_mean = sum_over(n, [&](std::int64_t i, auto k) { return get(x + i, k); }) / count;
  const float mean = static_cast<float>(first_mean);
  double total = 0, squares = 0;
  for (std::int64_t start = 0; start < n; start += PIECE) {
    std::int64_t end = start + PIECE < n ? start + PIECE : n, i = start;
    Reg sums[4] = {}, square_sums[4] = {};
    for (; i + 4 * LANES <= end; i += 4 * LANES) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        Reg d = get(x + i + j * LANES) - mean;
        sums[j] += d;
        square_sums[j] += d * d;
      }
    }
    each_vector(end - i, [&](std::int64_t j, auto k) {
      Reg d = first(get(x + i + j, k) - mean, k, 0.f);
      sums[0] += d;
      square_sums[0] += d * d;
    });
    total += sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
    squares += sum((square_sums[0] + square_sums[1]) + (square_sums[2] + square_sums[3]));
  }
  const double away = total / count;
  if (!std::isfinite(away)) return {mean, 0.f, std::numeric_limits<float>::quiet_NaN()};
  const double variance = squares / count - away * away;
  // differences lose less than sums do only where they are smaller
  const double exact = first_mean * first_mean > variance ? mean + away : first_mean;
  const float rounded = static_cast<float>(exact);
  return {rounded, static_cast<float>(exact - rounded), static_cast<float>(variance < 0 ? 0 : variance)};
}

}  // namespace gluonnx
