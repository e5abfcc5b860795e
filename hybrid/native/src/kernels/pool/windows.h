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

  Windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t steps, bool include)
      : size(size), kernel(kernel), stride(stride), pad(pad), steps(steps) {
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t start = i * stride - pad, stop = std::min(start + kernel, size + pad);
      begin.push_back(std::clamp<std::int64_t>(start, 0, size));
      end.push_back(std::clamp<std::int64_t>(std::min(stop, size), begin.back(), size));
      const std::int64_t counted = include ? stop - start : std::min(stop, size) - std::max<std::int64_t>(start, 0);
      count.push_back(static_cast<float>(std::max<std::int64_t>(counted, 1)));
    }
  }
  // `steps` windows that cover everything evenly; they may overlap and differ in size, and kernel is 0
  static Windows adaptive(std::int64_t size, std::int64_t steps) {
    Windows w(size, 0, 1, 0, 0, false);
    w.steps = steps;
    for (std::int64_t i = 0; i < steps; ++i) {
      w.begin.push_back(i * size / steps);
      w.end.push_back(((i + 1) * size + steps - 1) / steps);
      w.count.push_back(static_cast<float>(w.end.back() - w.begin.back()));
    }
    return w;
  }
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
  Pooling(const Attrs& attrs, const Tensor& data, const Tensor& result, int rank, DType dtype = DType::f32) {
    attrs.ignore("cudnn_off", "pooling_convention");  // the convention shows in the output's shape
    const std::string type = attrs.text("pool_type"), layout = attrs.text("layout", "");
    fold = type == "max" ? Fold::max : Fold::sum;
    mean = type == "avg";
    const auto p = attrs.integer("p_value", 1);
    power = type == "lp" ? static_cast<int>(p) : 1;
    channels_last = !layout.empty() && layout.back() == 'C';
    global = attrs.flag("global_pool");
    want(rank >= 1 && rank <= 3 && data.rank() == result.rank() && data.dtype == dtype && result.dtype == dtype);
    want(channels_last || (data.shape[0] == result.shape[0] && data.shape[1] == result.shape[1]));
    const std::vector<std::int64_t> ones(rank, 1), zeros(rank, 0);
    const Checked<std::int64_t> kernel = attrs.ints("kernel", ones), stride = attrs.ints("stride", ones), pad = attrs.ints("pad", zeros);
    const bool include = attrs.integer("count_include_pad", 1) != 0;
    for (int i = 0; i < rank; ++i) {
      const std::int64_t before = data.shape[2 + i], after = result.shape[2 + i];
      if (global) {
        want(after == 1 || channels_last);
        axes.emplace_back(before, before, 1, 0, 1, false);
        axes.back().count[0] = static_cast<float>(before);  // the mean of nothing at all is NaN
      } else {
        want_windows(after, kernel[i], stride[i], 1, pad[i]);
        want(pad[i] >= 0);
        axes.emplace_back(before, kernel[i], stride[i], pad[i], after, include);
      }
    }
  }
};

// That images and their adaptive pooling are of the same batch and channels, and that there are pixels in both.
inline void want_adaptive(const Tensor& data, const Tensor& result) {
  want(data.rank() == 4 && result.rank() == 4 && data.dtype == DType::f32 && result.dtype == DType::f32);
  want(data.shape[0] == result.shape[0] && data.shape[1] == result.shape[1]);
  for (int i : {2, 3}) want(data.shape[i] > 0 && result.shape[i] > 0), times(data.shape[i] + 1, result.shape[i] + 1);
}

// Windows of fewer axes, with axes before them that are one long.
inline std::vector<Windows> in_three(std::vector<Windows> axes) {
  axes.insert(axes.begin(), 3 - axes.size(), Windows(1, 1, 1, 0, 1, false));
  return axes;
}

// Maxima begin here: what is not finite and less, and NaN, never wins.
constexpr float LEAST = std::numeric_limits<float>::lowest();

}  // namespace gluonnx
