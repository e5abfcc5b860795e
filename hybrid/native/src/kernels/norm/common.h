// What the normalizations share: how axes are counted, and sums that lose little.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../../base/kernel.h"
#include "../../base/lanes.h"

namespace gluonnx {

// A tensor around one axis: (before, size, after).
struct Around {
  std::int64_t before = 1, size = 1, after = 1;

  Around(const std::vector<std::int64_t>& shape, std::int64_t axis) {
    if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i)
      (i < axis ? before : i == axis ? size : after) *= shape[i];
  }
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

}  // namespace gluonnx
