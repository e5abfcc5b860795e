// What kernels on boxes share.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../base/attrs.h"

namespace gluonnx {

// Attributes that are tuples of floats, which come as one text with spaces between them.
inline std::vector<float> numbers_of(const Attrs& attrs, const std::string& name) {
  std::vector<float> found;
  for (const std::string& word : attrs.words(name)) found.push_back(static_cast<float>(std::strtod(word.c_str(), nullptr)));
  return found;
}

// Of boxes by number: the best first, ties in order, NaN last.
struct Better {
  const float* score;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const float p = score[a], q = score[b];
    if (p != p || q != q) return p == p || (q != q && a < b);
    return p != q ? p > q : a < b;
  }
};

// NumPy's maximum and minimum: NaN wins.
template <class F>
inline F larger(F a, F b) {
  return a >= b || a != a ? a : b;
}
template <class F>
inline F smaller(F a, F b) {
  return a <= b || a != a ? a : b;
}

// Intersection over union of boxes by their corners and areas, 0 / 0 of two empty ones.
template <class F>
inline F overlap(F left, F top, F right, F bottom, F area, F other_left, F other_top, F other_right, F other_bottom, F other_area) {
  const F wide = larger<F>(smaller(right, other_right) - larger(left, other_left), 0);
  const F high = larger<F>(smaller(bottom, other_bottom) - larger(top, other_top), 0);
  const F inner = wide * high;
  return inner / (area + other_area - inner);
}

// The area of a box of such sides; 0 where its corners are swapped.
template <class F>
inline F area_of(F wide, F high) {
  return wide < 0 || high < 0 ? 0 : wide * high;
}

// The offsets of an anchor to a box, by corners, less the means and over the scales.
inline void encode_box(const float* anchor, const float* box, const float* means, const float* scales, float* out) {
  for (int a = 0; a < 2; ++a) {
    const float side = anchor[a + 2] - anchor[a], other = box[a + 2] - box[a];
    const float away = (box[a] + box[a + 2]) / 2 - (anchor[a] + anchor[a + 2]) / 2;
    out[a] = (away / side - means[a]) / scales[a];
    out[a + 2] = (std::log(other / side) - means[a + 2]) / scales[a + 2];
  }
}

}  // namespace gluonnx
