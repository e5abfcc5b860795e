// What the data of softmax, of log_softmax and of SoftmaxOutput gets.
#include "common.h"

namespace gluonnx {
namespace {

// y (dy - sum of dy y), or dy - exp(y) sum of dy, along one axis.
class SoftmaxBackward : public Kernel {
 public:
  SoftmaxBackward(AxisSplit shape, bool logarithm) : shape_(shape), logarithm_(logarithm) {
    how = shape.after == 1 ? "rows" : "columns";
    flops = 4.0 * static_cast<double>(shape.before * shape.size * shape.after);
  }

  void run(const Run& run) const override {
    const float *dy = run.input<float>(0), *y = run.input<float>(1);
    float* dx = run.output<float>();
    const double each = (logarithm_ ? 0.6 : 0.2) * static_cast<double>(shape_.size) + 1;
    if (shape_.after == 1) {
      run.ranges(shape_.before, static_cast<std::int64_t>(20e3 / each) + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) row(dy + i * shape_.size, y + i * shape_.size, dx + i * shape_.size);
      });
      return;
    }
    const std::int64_t pieces = (shape_.after + COLUMNS - 1) / COLUMNS, width = std::min(shape_.after, COLUMNS);
    run.ranges(shape_.before * pieces, static_cast<std::int64_t>(20e3 / (each * width + 50)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t start = i % pieces * COLUMNS, at = i / pieces * shape_.size * shape_.after + start;
                   columns(dy + at, y + at, dx + at, std::min(COLUMNS, shape_.after - start));
                 }
               });
  }

 private:
  GX_INLINE Reg slope(bool logarithm, Reg dy, Reg y, Reg total) { return logarithm ? dy - exp(y) * total : y * (dy - total); }

  void row(const float* dy, const float* y, float* dx) const {
    const float total = static_cast<float>(sum_over(
        shape_.size, [&](std::int64_t i, auto k) { return logarithm_ ? get(dy + i, k) : get(dy + i, k) * get(y + i, k); }));
    each_vector(shape_.size, [&](std::int64_t i, auto k) {
      put(dx + i, slope(logarithm_, get(dy + i, k), get(y + i, k), splat_reg(total)), k);
    });
  }

  void columns(const float* dy, const float* y, float* dx, std::int64_t width) const {
    alignas(64) float total[COLUMNS], part[COLUMNS];
    std::fill(total, total + width, 0.f);
    std::fill(part, part + width, 0.f);
    for (std::int64_t r = 0; r < shape_.size; ++r) {
      each_vector(width, [&](std::int64_t j, auto k) {
        Reg head = get(dy + r * shape_.after + j, k);
        put(part + j, get(part + j, k) + (logarithm_ ? head : head * get(y + r * shape_.after + j, k)), k);
      });
      if (r % 64 < 63 && r + 1 < shape_.size) continue;
      each_vector(width, [&](std::int64_t j, auto k) {
        put(total + j, get(total + j, k) + get(part + j, k), k);
        put(part + j, Reg{}, k);
      });
    }
    for (std::int64_t r = 0; r < shape_.size; ++r)
      each_vector(width, [&](std::int64_t j, auto k) {
        std::int64_t at = r * shape_.after + j;
        put(dx + at, slope(logarithm_, get(dy + at, k), get(y + at, k), get(total + j, k)), k);
      });
  }

  AxisSplit shape_;
  bool logarithm_;
};

// y less 1 at the label, times a factor: data seen as (rows, classes, columns), with one label for each row and column.
class SoftmaxOutputBackward : public Kernel {
 public:
  enum class Count { none, batch, valid };

  explicit SoftmaxOutputBackward(const Call& call) {
    const Attrs& attrs = call.attrs;
    const auto& shape = call.in[0].shape;
    const int rank = call.in[0].rank();
    const bool multi = attrs.flag("multi_output"), last = attrs.flag("preserve_shape");
    const std::int64_t size = call.in[0].size();
    probabilities_ = call.in[1].shape == shape;
    rows_ = shape[0];
    classes_ = size / std::max<std::int64_t>(rows_, 1);
    if (multi) {
      classes_ = shape[1];
      columns_ = size / std::max<std::int64_t>(rows_ * classes_, 1);
    } else if (last && rank > 2) {
      classes_ = shape.back();
      rows_ = size / std::max<std::int64_t>(classes_, 1);
    }
    labels_ = call.in[1].size();
    scale_ = attrs.real("grad_scale");
    use_ignore_ = attrs.flag("use_ignore");
    ignore_ = static_cast<float>(std::trunc(attrs.real("ignore_label")));
    head_ = attrs.flag("out_grad");
    const float alpha = multi ? (attrs.ignore("smooth_alpha"), 0.f) : static_cast<float>(attrs.real("smooth_alpha"));
    elsewhere_ = alpha / static_cast<float>(std::max<std::int64_t>(1, classes_ - 1));
    there_ = 1 - alpha;
    const std::string& by = attrs.text("normalization");
    valid_ = by == "valid";
    if (by == "batch") count_ = static_cast<double>(multi ? rows_ : labels_);
    if (multi && !valid_) count_ *= static_cast<double>(columns_);
    if (probabilities_) count_ = 1;
    want_size(call.in[0], times(rows_, classes_, columns_));
    want_shape(call.out[0], shape);
    if (head_) want_shape(call.in[2], shape);
    want(probabilities_ || labels_ >= rows_ * columns_);
  }

  void run(const Run& run) const override {
    const float *y = run.input<float>(0), *label = run.input<float>(1), *head = head_ ? run.input<float>(2) : nullptr;
    float* dx = run.output<float>();
    double count = count_;
    if (valid_ && !probabilities_) {
      std::int64_t found = 0;
      for (std::int64_t i = 0; i < labels_; ++i) found += !(std::trunc(label[i]) == ignore_);
      count = static_cast<double>(std::max<std::int64_t>(1, found));
    }
    const float factor = static_cast<float>(scale_ / count);
    const std::int64_t plane = classes_ * columns_;
    run.ranges(rows_, static_cast<std::int64_t>(20e3 / (0.3 * static_cast<double>(plane) + 10)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   const float* heads = head ? head + r * plane : nullptr;
                   if (probabilities_) likely(y + r * plane, label + r * plane, heads, dx + r * plane, factor);
                   else if (columns_ == 1) row(y + r * plane, label[r], heads, dx + r * plane, factor);
                   else planes(y + r * plane, label + r * columns_, heads, dx + r * plane, factor);
                 }
               });
  }

 private:
  void likely(const float* y, const float* label, const float* head, float* dx, float factor) const {
    each_vector(classes_ * columns_, [&](std::int64_t i, auto k) {
      Reg d = (get(y + i, k) - get(label + i, k)) * factor;
      put(dx + i, head ? d * get(head + i, k) : d, k);
    });
  }

  void row(const float* y, float label, const float* head, float* dx, float factor) const {
    const float whole = std::trunc(label);
    if (use_ignore_ && whole == ignore_) {
      each_vector(classes_, [&](std::int64_t i, auto k) { put(dx + i, head ? 0.f * get(head + i, k) : Reg{}, k); });
      return;
    }
    const std::int64_t at = whole >= 0 && whole < static_cast<float>(classes_) ? static_cast<std::int64_t>(whole) : -1;
    const float found = at < 0 ? 0.f : (y[at] - there_) * factor;
    each_vector(classes_, [&](std::int64_t i, auto k) {
      Reg d = (get(y + i, k) - elsewhere_) * factor;
      put(dx + i, head ? d * get(head + i, k) : d, k);
    });
    if (at >= 0) dx[at] = head ? found * head[at] : found;
  }

  void planes(const float* y, const float* labels, const float* head, float* dx, float factor) const {
    for (std::int64_t c = 0; c < classes_; ++c)
      each_vector(columns_, [&](std::int64_t j, auto k) {
        const std::int64_t i = c * columns_ + j;
        Reg label = get(labels + j, k);
        for (int lane = 0; lane < LANES; ++lane) label[lane] = std::trunc(label[lane]);
        Reg d = get(y + i, k) - (label == static_cast<float>(c) ? splat_reg(there_) : splat_reg(elsewhere_));
        if (use_ignore_) d = label == ignore_ ? Reg{} : d;
        d *= factor;
        put(dx + i, head ? d * get(head + i, k) : d, k);
      });
  }

  bool probabilities_, use_ignore_, head_, valid_;
  std::int64_t rows_, classes_, columns_ = 1, labels_;
  double scale_, count_ = 1;
  float ignore_, elsewhere_, there_;
};

}  // namespace

static std::unique_ptr<Kernel> bind_backward(const Call& call, bool logarithm) {
  want_floats(call);
  want_shape(call.in[1], call.in[0].shape);
  want_shape(call.out[0], call.in[0].shape);
  return std::make_unique<SoftmaxBackward>(AxisSplit(call.in[0].shape, call.attrs.integer("axis")), logarithm);
}

std::unique_ptr<Kernel> bind_softmax_backward(const Call& call) { return bind_backward(call, false); }
std::unique_ptr<Kernel> bind_log_softmax_backward(const Call& call) { return bind_backward(call, true); }
std::unique_ptr<Kernel> bind_SoftmaxOutput_backward(const Call& call) {
  want_floats(call);
  return std::make_unique<SoftmaxOutputBackward>(call);
}

}  // namespace gluonnx
