// softmax and its kin along one axis: over rows in memory, or over many columns at a time.
#include <limits>

#include "../wide/norm.h"
#include "common.h"

namespace gluonnx {
namespace {

class Softmax : public Kernel {
 public:
  // of data / divisor; lengths: what the second operand, which says how many elements of a row count, holds
  Softmax(AxisSplit shape, bool logarithm, float divisor, int threads, DType lengths = DType::f32)
      : shape_(shape), logarithm_(logarithm), divisor_(divisor), lengths_(lengths) {
    how = shape.after == 1 ? "rows" : "columns";
    flops = 4.0 * static_cast<double>(shape.before * shape.size * shape.after);
  }

  void run(const Run& run) const override {
    const float* x = run.input<float>(0);
    float* y = run.output<float>();
    if (shape_.size == 0) return;
    const double each = 0.6 * static_cast<double>(shape_.size);  // nanoseconds of a row or column
    if (shape_.after == 1) {
      run.ranges(shape_.before, static_cast<std::int64_t>(20e3 / each) + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
          const float* from = x + i * shape_.size;
          float* to = y + i * shape_.size;
          const std::int64_t n = counted(run, i);
          if (n < shape_.size) std::fill(to + n, to + shape_.size, 0.f);
          if (divisor_ == 1) row(from, to, n, [](Reg v) { return v; });
          else row(from, to, n, [d = splat_reg(divisor_)](Reg v) { return v / d; });
        }
      });
      return;
    }
    const std::int64_t pieces = (shape_.after + COLUMNS - 1) / COLUMNS;
    const std::int64_t width = std::min(shape_.after, COLUMNS);
    run.ranges(shape_.before * pieces, static_cast<std::int64_t>(20e3 / std::max(each * width, 1.0)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t start = i % pieces * COLUMNS;
                   std::int64_t at = i / pieces * shape_.size * shape_.after + start;
                   columns(x + at, y + at, std::min(COLUMNS, shape_.after - start));
                 }
               });
  }

 private:
  // How many elements of a row count.
  std::int64_t counted(const Run& run, std::int64_t row) const {
    if (lengths_ == DType::f32) return shape_.size;
    const std::int64_t n = lengths_ == DType::i32 ? run.input<std::int32_t>(1)[row] : run.input<std::int64_t>(1)[row];
    return std::clamp<std::int64_t>(n, 0, shape_.size);
  }

  template <class F>
  void row(const float* x, float* y, std::int64_t n, F scaled) const {
    Reg a = splat_reg(-std::numeric_limits<float>::infinity()), b = a;
    std::int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {  // a NaN passed over here makes the sum NaN
      a = at_least(a, scaled(get(x + i)));
      b = at_least(b, scaled(get(x + i + LANES)));
    }
    each_vector(n - i, [&](std::int64_t j, auto count) {
      a = at_least(a, first(scaled(get(x + i + j, count)), count, -std::numeric_limits<float>::infinity()));
    });
    const float top = largest(at_least(a, b));
    if (logarithm_) {
      const double total = sum_over(n, [&](std::int64_t j, auto count) { return exp_low(scaled(get(x + j, count)) - top); });
      const float log_total = static_cast<float>(std::log(total));
      each_vector(n, [&](std::int64_t j, auto count) { put(y + j, scaled(get(x + j, count)) - top - log_total, count); });
      return;
    }
    const double total = sum_over(n, [&](std::int64_t j, auto count) {
      Reg e = exp_low(scaled(get(x + j, count)) - top);
      put(y + j, e, count);
      return e;
    });
    const float factor = static_cast<float>(1 / total);
    each_vector(n, [&](std::int64_t j, auto count) { put(y + j, get(y + j, count) * factor, count); });
  }

  void columns(const float* x, float* y, std::int64_t width) const {
    alignas(64) float top[COLUMNS], total[COLUMNS], part[COLUMNS];
    const std::int64_t stride = shape_.after;
    std::fill(top, top + width, -std::numeric_limits<float>::infinity());
    std::fill(total, total + width, 0.f);
    std::fill(part, part + width, 0.f);
    for (std::int64_t k = 0; k < shape_.size; ++k)
      each_vector(width, [&](std::int64_t j, auto count) {
        put(top + j, at_least(get(top + j, count), get(x + k * stride + j, count) / divisor_), count);
      });
    for (std::int64_t k = 0; k < shape_.size; ++k) {
      each_vector(width, [&](std::int64_t j, auto count) {
        Reg e = exp_low(get(x + k * stride + j, count) / divisor_ - get(top + j, count));
        if (!logarithm_) put(y + k * stride + j, e, count);
        put(part + j, get(part + j, count) + e, count);
      });
      if (k % 64 == 63 || k + 1 == shape_.size)  // so that long sums lose little
        each_vector(width, [&](std::int64_t j, auto count) {
          put(total + j, get(total + j, count) + get(part + j, count), count);
          put(part + j, Reg{}, count);
        });
    }
    each_vector(width, [&](std::int64_t j, auto count) {
      Reg t = get(total + j, count);
      put(total + j, logarithm_ ? log(t) : 1.f / t, count);
    });
    for (std::int64_t k = 0; k < shape_.size; ++k)
      each_vector(width, [&](std::int64_t j, auto count) {
        std::int64_t at = k * stride + j;
        Reg t = get(total + j, count);
        put(y + at, logarithm_ ? get(x + at, count) / divisor_ - get(top + j, count) - t : get(y + at, count) * t, count);
      });
  }

  AxisSplit shape_;
  bool logarithm_;
  float divisor_;
  DType lengths_;
};

// The kernel of a call, for which the shapes of operands are checked; lengths: whether the second operand holds them.
std::unique_ptr<Kernel> make(const Call& call, AxisSplit shape, bool logarithm, double divisor, bool lengths = false) {
  const bool doubles = call.in[0].dtype == DType::f64;
  want(call.out[0].dtype == call.in[0].dtype && (doubles || call.in[0].dtype == DType::f32));
  want_size(call.in[0], shape.all());
  want_size(call.out[0], shape.all());
  if (lengths) want_size(call.in[1], shape.before);
  if (doubles) return wide::softmax(shape, logarithm, divisor, lengths ? call.in[1].dtype : DType::f64, call.threads);
  return std::make_unique<Softmax>(shape, logarithm, static_cast<float>(divisor), call.threads, lengths ? call.in[1].dtype : DType::f32);
}

std::unique_ptr<Kernel> bind_along_axis(const Call& call, bool logarithm, float sign) {
  const Attrs& attrs = call.attrs;
  const bool lengths = attrs.integer("use_length", 0);
  attrs.ignore("dtype");  // the result's
  const AxisSplit shape(call.in[0].shape, attrs.integer("axis"));
  if (lengths && (call.in.size() < 2 || shape.after != 1 || (call.in[1].dtype != DType::i32 && call.in[1].dtype != DType::i64))) return nullptr;
  return make(call, shape, logarithm, sign * attrs.real("temperature", 1.0), lengths);
}

}  // namespace

std::unique_ptr<Kernel> bind_softmax(const Call& call) { return bind_along_axis(call, false, 1); }
std::unique_ptr<Kernel> bind_softmin(const Call& call) { return bind_along_axis(call, false, -1); }
std::unique_ptr<Kernel> bind_log_softmax(const Call& call) { return bind_along_axis(call, true, 1); }

std::unique_ptr<Kernel> bind_SoftmaxActivation(const Call& call) {
  std::int64_t axis = call.attrs.text("mode") == "channel" ? 1 : -1;
  return make(call, AxisSplit(call.in[0].shape, axis), false, 1.f);
}

std::unique_ptr<Kernel> bind_SoftmaxOutput(const Call& call) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("grad_scale", "ignore_label", "use_ignore", "normalization", "out_grad", "smooth_alpha");
  const auto& shape = call.in[0].shape;
  bool multi = attrs.flag("multi_output"), last = attrs.flag("preserve_shape");
  AxisSplit split(shape, multi || shape.size() == 2 ? 1 : -1);
  if (!multi && !last) split = AxisSplit({shape[0], call.in[0].size() / std::max<std::int64_t>(shape[0], 1)}, 1);
  return make(call, split, false, 1.f);
}

}  // namespace gluonnx
