// In what order a chain visits the elements of operands that broadcast, have halos, or lie apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../base/tensor.h"

namespace gluonnx::chain {

using Ints = std::vector<std::int64_t>;

// Strides of an operand along the axes of `shape`, in elements; 0 where it broadcasts.
inline Ints strides_of(const Tensor& t, const Ints& shape) {
  Ints strides(shape.size(), 0);
  std::int64_t step = 1;
  for (int i = t.rank() - 1, j = static_cast<int>(shape.size()) - 1; i >= 0; --i, --j) {
    std::int64_t stride = step;
    if (t.blocked && i == 2) stride = t.row_stride();
    if (t.blocked && i == 1) stride = t.block_stride();
    if (t.blocked && i == 0) stride = t.batch_stride;
    strides[j] = t.shape[i] == 1 ? 0 : stride;
    step *= t.shape[i];
  }
  return strides;
}

// Axes of size 1 go, and neighbours along which every operand moves evenly become one. strides: one list per operand.
inline void collapse(Ints& shape, std::vector<Ints>& strides) {
  Ints kept;
  std::vector<Ints> steps(strides.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    bool joins = !kept.empty();
    for (std::size_t o = 0; joins && o < strides.size(); ++o) joins = steps[o].back() == strides[o][i] * shape[i];
    if (joins) kept.back() *= shape[i];
    else kept.push_back(shape[i]);
    for (std::size_t o = 0; o < strides.size(); ++o) {
      if (joins) steps[o].back() = strides[o][i];
      else steps[o].push_back(strides[o][i]);
    }
  }
  shape = std::move(kept);
  strides = std::move(steps);
}

// The elements of one operand in row-major order of the logical shape, as rows of even steps.
class Rows {
 public:
  Rows() = default;
  Rows(Ints shape, Ints strides) {
    std::vector<Ints> own{std::move(strides)};
    collapse(shape, own);
    shape_ = std::move(shape);
    strides_ = std::move(own[0]);
  }

  bool single() const { return shape_.empty() || (shape_.size() == 1 && strides_[0] == 0); }
  bool dense() const { return shape_.empty() || (shape_.size() == 1 && strides_[0] == 1); }
  // after how many elements it begins anew; 0 when it does not
  std::int64_t period() const {
    std::size_t i = 0;
    std::int64_t size = 1;
    while (i < shape_.size() && strides_[i] == 0) ++i;
    if (i == 0) return 0;
    for (; i < shape_.size(); ++i) size *= shape_[i];
    return size;
  }

  // f(offset of the operand, step, count) for the rows that elements [begin, begin + n) are in, in order
  template <class F>
  void each(std::int64_t begin, std::int64_t n, F&& f) const {
    int last = static_cast<int>(shape_.size()) - 1;
    if (last < 0) return f(std::int64_t{0}, std::int64_t{0}, n);
    std::int64_t at[MOST] = {}, offset = 0, rest = begin;
    for (int i = last; i >= 0; --i) {
      at[i] = rest % shape_[i];
      rest /= shape_[i];
      offset += at[i] * strides_[i];
    }
    while (n > 0) {
      std::int64_t count = std::min(n, shape_[last] - at[last]);
      f(offset, strides_[last], count);
      n -= count;
      offset -= at[last] * strides_[last];
      at[last] = 0;
      for (int i = last - 1; i >= 0; --i) {
        offset += strides_[i];
        if (++at[i] < shape_[i]) break;
        offset -= shape_[i] * strides_[i];
        at[i] = 0;
      }
    }
  }

  static constexpr int MOST = 32;  // axes, as in NumPy's older arrays

 private:
  Ints shape_, strides_;
};

}  // namespace gluonnx::chain
