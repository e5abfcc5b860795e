// What data, gamma and beta of the normalizations get (hybrid/ops/normalization_backward.py has the formulas). Compiled without
// contraction to fused multiply-add: a head minus the mean of all heads is to be 0 where there is one, and is not when the
// one is rounded and the other is not.
#include "channels.h"

namespace gluonnx {
namespace {

// What the third output of the normalization is.
enum class Third { rstd, deviation, variance };

float reciprocal_deviation(Third third, float value, float eps) {
  if (third == Third::rstd) return value;
  return 1 / (third == Third::deviation ? value : std::sqrt(value + eps));
}

struct Common {
  Third third;
  float eps;
  bool fix_gamma;

  explicit Common(const Attrs& attrs)
      : third(attrs.text("third") == "rstd"  ? Third::rstd
              : attrs.text("third") == "std" ? Third::deviation
                                             : Third::variance),
        eps(static_cast<float>(attrs.real("eps"))),
        fix_gamma(attrs.flag("fix_gamma")) {}
};

// Of a batch: sums over everything but the channels.
class BatchBackward : public Kernel {
 public:
  BatchBackward(const Call& call, AxisSplit shape, Common common, bool constant, double momentum)
      : shape_(shape), common_(common), constant_(constant), momentum_(momentum), moves_(call.in.size() > 5 && !constant),
        reads_(call.in.size() > 5 && constant) {
    if (reads_) common_.third = Third::variance;
    narrow_ = shape_.after < NARROW;
    // rstd, and three factors: of channels, then, with the mean, of columns
    scratch = sizeof(float) * shape_.size * (4 + (narrow_ ? 5 * std::max<std::int64_t>(shape_.after, 1) : 0));
    flops = 9.0 * static_cast<double>(call.in[0].size());
    how = "batch";
  }

  void run(const Run& run) const override {
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *gamma = run.input<float>(2);
    const float *means = run.input<float>(reads_ ? 5 : 3), *third = run.input<float>(reads_ ? 6 : 4);
    float *dx = run.output<float>(0), *dgamma = run.output<float>(1), *dbeta = run.output<float>(2);
    const std::int64_t channels = shape_.size, wide = channels * shape_.after;
    float* rstd = reinterpret_cast<float*>(run.scratch);
    float *slope = rstd + channels, *by_h = slope + channels, *level = by_h + channels;
    float* columns = level + channels;
    const double count = static_cast<double>(shape_.before * shape_.after);
    run.ranges(channels, static_cast<std::int64_t>(20e3 / (0.6 * count + 10)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t c = begin; c < end; ++c)
                   rstd[c] = reciprocal_deviation(common_.third, third[c], common_.eps);
                 const float *m = columns, *r = m + wide, *a = r + wide, *b = a + wide, *d = b + wide;
                 if (narrow_) {
                   spread(shape_, begin, end, means, columns);
                   spread(shape_, begin, end, rstd, columns + wide);
                 }
                 channel_sums(
                     shape_, begin, end,
                     [&](std::int64_t at, auto k, std::int64_t c) {
                       Reg head = get(dy + at, k);
                       return std::pair(head, head * ((get(x + at, k) - means[c]) * rstd[c]));
                     },
                     [&](std::int64_t at, auto k, std::int64_t j) {
                       Reg head = get(dy + at, k);
                       return std::pair(head, head * ((get(x + at, k) - get(m + j, k)) * get(r + j, k)));
                     },
                     [&](std::int64_t c, double total, double product) {
                       const double g = static_cast<double>(common_.fix_gamma ? 1.f : gamma[c]) * rstd[c];
                       dbeta[c] = static_cast<float>(total);
                       dgamma[c] = common_.fix_gamma ? 0.f : static_cast<float>(product);
                       slope[c] = static_cast<float>(g);
                       by_h[c] = constant_ ? 0.f : static_cast<float>(product / count);
                       level[c] = constant_ ? 0.f : static_cast<float>(total / count);
                     });
                 if (narrow_) {
                   spread(shape_, begin, end, slope, columns + 2 * wide);
                   spread(shape_, begin, end, by_h, columns + 3 * wide);
                   spread(shape_, begin, end, level, columns + 4 * wide);
                 }
                 if (constant_)
                   each_of_channels(
                       shape_, begin, end,
                       [&](std::int64_t at, auto k, std::int64_t c) { put(dx + at, get(dy + at, k) * slope[c], k); },
                       [&](std::int64_t at, auto k, std::int64_t j) { put(dx + at, get(dy + at, k) * get(a + j, k), k); });
                 else
                   each_of_channels(
                       shape_, begin, end,
                       [&](std::int64_t at, auto k, std::int64_t c) {
                         Reg h = (get(x + at, k) - means[c]) * rstd[c];
                         put(dx + at, ((get(dy + at, k) - level[c]) - h * by_h[c]) * slope[c], k);
                       },
                       [&](std::int64_t at, auto k, std::int64_t j) {
                         Reg h = (get(x + at, k) - get(m + j, k)) * get(r + j, k);
                         put(dx + at, ((get(dy + at, k) - get(d + j, k)) - h * get(b + j, k)) * get(a + j, k), k);
                       });
               });
    if (moves_) move(run, means, third);
  }

 private:
  // The moving mean and variance are inputs that the operator writes to, as its NumPy form does.
  void move(const Run& run, const float* means, const float* third) const {
    const float keep = static_cast<float>(momentum_), rest = 1 - keep;
    float *moving_mean = const_cast<float*>(run.input<float>(5)), *moving_var = const_cast<float*>(run.input<float>(6));
    for (std::int64_t c = 0; c < shape_.size; ++c) {
      const float variance = common_.third == Third::variance ? third[c] : 1 / (third[c] * third[c]) - common_.eps;
      moving_mean[c] = moving_mean[c] * keep + rest * means[c];
      moving_var[c] = moving_var[c] * keep + rest * variance;
    }
  }

  AxisSplit shape_;
  Common common_;
  bool constant_, narrow_;
  double momentum_;
  bool moves_, reads_;  // the moving mean and variance
};

// Where mean and variance are those of rows of contiguous elements: of layers, whose gamma is along the row, and of instances,
// whose rows have one gamma each.
class RowBackward : public Kernel {
 public:
  RowBackward(const Call& call, std::int64_t rows, std::int64_t n, std::int64_t parameters, bool along, Common common)
      : rows_(rows), n_(n), parameters_(parameters), along_(along), common_(common) {
    each_ = std::max<std::int64_t>(32, (rows_ + 63) / 64);
    parts_ = (rows_ + each_ - 1) / each_;
    scratch = sizeof(float) * 2 * (along_ ? parts_ * n_ : rows_);
    flops = 10.0 * static_cast<double>(call.in[0].size());
    how = along_ ? "layer" : "instance";
  }

  void run(const Run& run) const override {
    const float *gamma = run.input<float>(2), *means = run.input<float>(3), *third = run.input<float>(4);
    float* sums = reinterpret_cast<float*>(run.scratch);
    const double cost = 0.5 * static_cast<double>(n_ * each_) + 50;
    run.ranges(parts_, static_cast<std::int64_t>(20e3 / cost) + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t part = begin; part < end; ++part) {
        if (along_) std::fill(sums + 2 * part * n_, sums + 2 * (part + 1) * n_, 0.f);
        for (std::int64_t i = part * each_; i < std::min(rows_, (part + 1) * each_); ++i) {
          const float *dy = run.input<float>(0) + i * n_, *x = run.input<float>(1) + i * n_;
          float* dx = run.output<float>(0) + i * n_;
          const float rstd = reciprocal_deviation(common_.third, third[i], common_.eps);
          if (along_) layer(dy, x, dx, gamma, means[i], rstd, sums + 2 * part * n_);
          else instance(dy, x, dx, common_.fix_gamma ? 1.f : gamma[i % parameters_], means[i], rstd, sums + 2 * i);
        }
      }
    });
    // of a layer: parts of n products, then n heads; of instances: rows of a product and a head
    float *dgamma = run.output<float>(1), *dbeta = run.output<float>(2);
    const std::int64_t count = along_ ? n_ : parameters_;
    for (std::int64_t c = 0; c < count; ++c) {
      double by_gamma = 0, by_beta = 0;
      if (along_) {
        for (std::int64_t part = 0; part < parts_; ++part) {
          by_gamma += sums[2 * part * n_ + c];
          by_beta += sums[(2 * part + 1) * n_ + c];
        }
      } else {
        for (std::int64_t i = c; i < rows_; i += parameters_) {
          by_gamma += sums[2 * i];
          by_beta += sums[2 * i + 1];
        }
      }
      dgamma[c] = common_.fix_gamma ? 0.f : static_cast<float>(by_gamma);
      dbeta[c] = static_cast<float>(by_beta);
    }
  }

 private:
  void layer(const float* dy, const float* x, float* dx, const float* gamma, float mean, float rstd, float* sums) const {
    auto slope = [&](std::int64_t i, auto k) __attribute__((always_inline)) {
      return common_.fix_gamma ? get(dy + i, k) : get(dy + i, k) * get(gamma + i, k);
    };
    const double count = static_cast<double>(n_);
    const double total = sum_over(n_, [&](std::int64_t i, auto k) { return slope(i, k); });
    const double product = sum_over(n_, [&](std::int64_t i, auto k) {
      Reg head = get(dy + i, k), h = (get(x + i, k) - mean) * rstd;
      put(sums + i, get(sums + i, k) + head * h, k);
      put(sums + n_ + i, get(sums + n_ + i, k) + head, k);
      return slope(i, k) * h;
    });
    const float level = static_cast<float>(total / count), by_h = static_cast<float>(product / count);
    each_vector(n_, [&](std::int64_t i, auto k) {
      Reg h = (get(x + i, k) - mean) * rstd;
      put(dx + i, ((slope(i, k) - level) - h * by_h) * rstd, k);
    });
  }

  void instance(const float* dy, const float* x, float* dx, float gamma, float mean, float rstd, float* sums) const {
    const double count = static_cast<double>(n_);
    const double total = sum_over(n_, [&](std::int64_t i, auto k) { return get(dy + i, k); });
    const double product =
        sum_over(n_, [&](std::int64_t i, auto k) { return get(dy + i, k) * ((get(x + i, k) - mean) * rstd); });
    sums[0] = static_cast<float>(product);
    sums[1] = static_cast<float>(total);
    const float slope = gamma * rstd, level = static_cast<float>(total / count), by_h = static_cast<float>(product / count);
    each_vector(n_, [&](std::int64_t i, auto k) {
      Reg h = (get(x + i, k) - mean) * rstd;
      put(dx + i, ((get(dy + i, k) - level) - h * by_h) * slope, k);
    });
  }

  std::int64_t rows_, n_, parameters_, each_, parts_;
  bool along_;
  Common common_;
};

std::unique_ptr<Kernel> bind_backward(const Call& call, double momentum) {
  const Attrs& attrs = call.attrs;
  want_floats(call);
  const auto& shape = call.in[1].shape;
  const std::string& over = attrs.text("over");
  const std::int64_t groups = attrs.integer("groups"), axis = attrs.integer("axis");
  const bool fixed = attrs.flag("fixed"), training = attrs.integer("training", 0);
  Common common(attrs);
  const std::int64_t size = call.in[1].size();
  // gamma, dgamma and dbeta have so many elements, mean and the third output so many
  const auto want_sizes = [&](std::int64_t parameters, std::int64_t results) {
    want_size(call.in[0], size);
    want_size(call.out[0], size);
    want_size(call.in[2], parameters);
    for (int i : {3, 4}) want_size(call.in[i], results);
    for (int i : {1, 2}) want_size(call.out[i], parameters);
  };
  if (over == "batch") {
    if (groups) return nullptr;
    const std::int64_t channels = AxisSplit(shape, axis).size;
    want_sizes(channels, channels);
    for (std::size_t i = 5; i < call.in.size(); ++i) want_size(call.in[i], channels);
    want(call.in.size() != 6);
    return std::make_unique<BatchBackward>(call, AxisSplit(shape, axis), common, fixed || !training, momentum);
  }
  if (over == "layer") {
    AxisSplit split(shape, axis);
    if (groups || split.after != 1) return nullptr;
    want_sizes(split.size, split.before);
    return std::make_unique<RowBackward>(call, split.before, split.size, split.size, true, common);
  }
  want(groups >= 0);
  const std::int64_t middle = groups ? groups : shape[1], rows = times(shape[0], middle);
  want_sizes(middle, rows);
  want(!rows || size % rows == 0);
  return std::make_unique<RowBackward>(call, rows, rows ? size / rows : 0, middle, false, common);
}

}  // namespace

std::unique_ptr<Kernel> bind_normalization_backward(const Call& call) { return bind_backward(call, 0); }
std::unique_ptr<Kernel> bind_batch_normalization_backward(const Call& call) {
  return bind_backward(call, call.attrs.real("momentum"));
}

}  // namespace gluonnx
