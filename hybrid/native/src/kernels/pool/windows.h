// Where the windows of a pooling lie, as hybrid/ops/pooling.py has it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {

enum class Fold { max, sum };

// Windows along one axis: [begin, end) is what lies inside the data, and may be empty.
struct Windows {
  std::int64_t size, kernel, stride, pad, steps;
  std::vector<std::int64_t> begin, end;
  std::vector<float> count;  // what a mean counts, at least 1

  Windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t steps, bool include);
  // `steps` windows that cover everything evenly; they may overlap and differ in size, and kernel is 0
  static Windows adaptive(std::int64_t size, std::int64_t steps);
  bool whole(std::int64_t step) const { return end[step] - begin[step] == kernel; }
  // steps [first, last) whose windows lie inside the data from end to end
  std::int64_t first_whole() const { return std::min(steps, (pad + stride - 1) / stride); }
  std::int64_t last_whole() const {
    const std::int64_t room = size + pad - kernel;
    return std::max(first_whole(), room < 0 ? 0 : std::min(steps, room / stride + 1));
  }
};

// A pooling's attributes, put together with its shapes.
struct Pooling {
  Fold fold = Fold::sum;
  bool mean = false;
  int power = 1;
  bool global = false;
  std::vector<Windows> axes;
  bool channels_last = false;

  // of the spatial axes [2, 2 + axes) of data and result, which are of that dtype
  Pooling(const Attrs& attrs, const Tensor& data, const Tensor& result, int rank, DType dtype = DType::f32);
};

// That images and their adaptive pooling are of the same batch and channels, and that there are pixels in both.
inline void want_adaptive(const Tensor& data, const Tensor& result) {
  want(data.rank() == 4 && result.rank() == 4 && data.dtype == DType::f32 && result.dtype == DType::f32);
  want(data.shape[0] == result.shape[0] && data.shape[1] == result.shape[1]);
  for (int i : {2, 3}) want(data.shape[i] > 0 && result.shape[i] > 0), times(data.shape[i] + 1, result.shape[i] + 1);
}

// Windows of fewer axes, with axes before them that are one long.
std::vector<Windows> in_three(std::vector<Windows> axes);

// Maxima begin here: what is not finite and less, and NaN, never wins.
constexpr float LEAST = std::numeric_limits<float>::lowest();

}  // namespace gluonnx
