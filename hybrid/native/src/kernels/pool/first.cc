// Pooling as MXNet before 0.9 had it: padding counts as 0 in a maximum too, NaN wins there, and a mean divides by the whole window.
#include <limits>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

// An axis of an image, padded, and windows over it, which may reach behind the padding.
struct Side {
  Index size, kernel, stride, pad, steps;

  // What element `tap` of the first window sees; -pad and below size + pad is padding.
  Index place(Index tap) const { return tap - pad; }
  // The first step at which element `tap` of a window is at `end` or behind it.
  Index until(Index tap, Index end) const {
    const Index way = end - place(tap);
    return way <= 0 ? 0 : std::min(steps, (way + stride - 1) / stride);
  }
};

template <class T>
class FirstPooling : public Kernel {
 public:
  explicit FirstPooling(const Call& call) {
    const Attrs& attrs = call.attrs;
    const Tensor &in = call.in[0], &out = call.out[0];
    attrs.ignore("cudnn_off", "p_value", "count_include_pad", "pooling_convention");
    const std::string& kind = attrs.text("pool_type");
    largest_ = kind == "max", mean_ = kind == "avg";
    want((largest_ || mean_ || kind == "sum") && !attrs.has("layout") && in.rank() == 4 && out.rank() == 4 && out.dtype == in.dtype);
    attrs.ignore("layout");
    const bool whole = attrs.flag("global_pool");
    const auto kernel = attrs.ints("kernel", {1, 1}), stride = attrs.ints("stride", {1, 1}), pad = attrs.ints("pad", {0, 0});
    want(kernel.size() == 2 && stride.size() == 2 && pad.size() == 2 && out.shape[0] == in.shape[0] && out.shape[1] == in.shape[1]);
    for (int a = 0; a < 2; ++a) {
      const Index size = in.shape[2 + a], steps = out.shape[2 + a];
      sides_[a] = whole ? Side{size, size, 1, 0, 1} : Side{size, kernel[a], stride[a], pad[a], steps};
      want(steps == sides_[a].steps && size > 0 && sides_[a].pad >= 0);
      want_windows(steps, sides_[a].kernel, sides_[a].stride, 1, sides_[a].pad);
    }
    planes_ = times(in.shape[0], in.shape[1]);
    how = "windows";
  }

  void run(const Run& run) const override {
    const Side &high = sides_[0], &wide = sides_[1];  // no bindings, as in gemm/whole.cc
    run.ranges(planes_ * high.steps, 1 + 20000 / (high.kernel * wide.kernel * wide.steps), [&](Index begin, Index end, int) {
      std::vector<T> row(static_cast<std::size_t>(wide.steps));
      for (Index i = begin; i < end; ++i) {
        const T* plane = run.input<T>(0) + i / high.steps * high.size * wide.size;
        std::fill(row.begin(), row.end(), largest_ ? -std::numeric_limits<T>::infinity() : T{0});
        for (Index tap = 0; tap < high.kernel; ++tap) {
          const Index y = high.place(tap) + i % high.steps * high.stride;
          if (y >= high.size + high.pad) break;
          const T* line = y >= 0 && y < high.size ? plane + y * wide.size : nullptr;
          for (Index t = 0; t < wide.kernel; ++t) see(wide, t, line, row.data());
        }
        const T count = static_cast<T>(high.kernel * wide.kernel);
        for (Index x = 0; x < wide.steps; ++x) run.output<T>()[i * wide.steps + x] = mean_ ? row[x] / count : row[x];
      }
    });
  }

 private:
  // What element t of all windows along a row sees: a line of the image, or padding.
  void see(const Side& wide, Index t, const T* line, T* row) const {
    const Index first = line ? wide.until(t, 0) : 0, last = line ? wide.until(t, wide.size) : 0;
    if (largest_) {
      for (Index x = 0; x < first; ++x) row[x] = row[x] < 0 ? T{0} : row[x];
      for (Index x = last, all = wide.until(t, wide.size + wide.pad); x < all; ++x) row[x] = row[x] < 0 ? T{0} : row[x];
    }
    for (Index x = first; x < last; ++x) {
      const T value = line[wide.place(t) + x * wide.stride];
      if (largest_) row[x] = value > row[x] || value != value ? value : row[x];
      else row[x] += value;
    }
  }

  bool largest_, mean_;
  Side sides_[2];
  Index planes_;
};

}  // namespace

std::unique_ptr<Kernel> bind_first_pooling(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<FirstPooling<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<FirstPooling<double>>(call);
  return nullptr;
}

}  // namespace gluonnx
