// Pooling as MXNet before 0.9 had it: padding counts as 0 in a maximum too, NaN wins there, and a mean divides by the whole window.
#include <limits>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

// Two axes of an image, padded, and windows over them, which may reach behind the padding.
struct Side {
  Index size, kernel, stride, pad, steps;

  // f(place, or -1 for padding) for what window `step` sees
  template <class F>
  void each(Index step, F&& f) const {
    for (Index i = step * stride - pad; i < std::min(step * stride - pad + kernel, size + pad); ++i) f(i >= 0 && i < size ? i : -1);
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
    const auto& [high, wide] = sides_;
    const Index results = high.steps * wide.steps;
    run.ranges(planes_ * results, 1 + 20000 / (high.kernel * wide.kernel), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        const T* plane = run.input<T>(0) + i / results * high.size * wide.size;
        double sum = 0;
        T most = -std::numeric_limits<T>::infinity();
        high.each(i % results / wide.steps, [&](Index y) {
          wide.each(i % wide.steps, [&](Index x) {
            const T value = y < 0 || x < 0 ? T{0} : plane[y * wide.size + x];
            sum += static_cast<double>(value);
            most = value > most || value != value ? value : most;
          });
        });
        if (mean_) sum /= static_cast<double>(high.kernel * wide.kernel);
        run.output<T>()[i] = largest_ ? most : static_cast<T>(sum);
      }
    });
  }

 private:
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
