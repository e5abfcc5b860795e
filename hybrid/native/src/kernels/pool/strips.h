// Windows over sixteen channels at a time, row by row.
#pragma once

#include <cmath>

#include "../../base/vec.h"
#include "windows.h"

namespace gluonnx {

template <Fold FOLD>
GX_INLINE Block start() {
  return splat(FOLD == Fold::max ? LEAST : 0.f);
}
// of more and what is there already; a NaN is no maximum
template <Fold FOLD>
GX_INLINE Block fold(Block all, Block more) {
  return FOLD == Fold::max ? at_least(all, more) : all + more;
}

template <int POWER>
GX_INLINE Block raise(Block v) {
  if constexpr (POWER == 2) return v * v;
  if constexpr (POWER == 3) return v * v * v;
  return v;
}
template <int POWER>
GX_INLINE Block root(Block v) {
  if constexpr (POWER > 1)
    for (int r = 0; r < REGISTERS; ++r)
      for (int i = 0; i < LANES; ++i) v.r[r][i] = POWER == 2 ? std::sqrt(v.r[r][i]) : std::cbrt(v.r[r][i]);
  return v;
}

// Rows of windows in up to three axes (missing ones come first and are one long).
class Strips {
 public:
  virtual ~Strips() = default;
  // image: its first element; out: of the row of windows. slice and row: elements between those of the image.
  virtual void row(const float* image, std::int64_t slice, std::int64_t row, float* out, std::int64_t z, std::int64_t y) const = 0;
};

// Windows of maxima, of sums, or, with another power, of roots of sums of powers.
std::unique_ptr<const Strips> strips_of(Fold fold, int power, const std::vector<Windows>& axes, bool mean);

}  // namespace gluonnx
