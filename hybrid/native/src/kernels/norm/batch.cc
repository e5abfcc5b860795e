// BatchNorm in its forms: with the moving mean and variance, or, when training, with those of the batch. The moving ones are
// moved in the backward pass (normalization_backward.py), not here.
#include "channels.h"

namespace gluonnx {
namespace {

class BatchNorm : public Kernel {
 public:
  BatchNorm(const Call& call, std::int64_t axis, bool plain_variance, bool relu)
      : shape_(call.in[0].shape, axis), plain_variance_(plain_variance), relu_(relu) {
    const Attrs& attrs = call.attrs;
    attrs.ignore("momentum", "output_mean_var", "cudnn_off", "min_calib_range", "max_calib_range", "ndev", "key");
    eps_ = static_cast<float>(attrs.real("eps"));
    fix_gamma_ = attrs.flag("fix_gamma");
    of_batch_ = attrs.integer("training", 0) && !attrs.flag("use_global_stats");
    attrs.ignore("training", "use_global_stats");
    want_floats(call);
    want_size(call.out[0], shape_.all());
    for (int i = 1; i < 5; ++i) want_size(call.in[i], shape_.size);
    for (int i = 1; i < 3; ++i) want_size(call.out[i], shape_.size);
    narrow_ = shape_.after < NARROW;
    // means, scales and betas: of channels, then of columns
    scratch = 6 * sizeof(float) * shape_.size * (narrow_ ? std::max<std::int64_t>(shape_.after, 1) : 1);
    flops = static_cast<double>(call.in[0].size()) * (of_batch_ ? 7 : 3);
    how = of_batch_ ? "batch" : "moving";
  }

  void run(const Run& run) const override {
    const float *x = run.input<float>(0), *gamma = run.input<float>(1), *beta = run.input<float>(2);
    float *y = run.output<float>(0), *means = run.output<float>(1), *third = run.output<float>(2);
    float* scales = reinterpret_cast<float*>(run.scratch);
    float* columns = scales + shape_.size;
    const std::int64_t wide = shape_.size * shape_.after;
    const double cost = (of_batch_ ? 0.6 : 0.3) * static_cast<double>(shape_.before * shape_.after) + 10;
    run.ranges(shape_.size, static_cast<std::int64_t>(20e3 / cost) + 1, [&](std::int64_t begin, std::int64_t end, int) {
      if (of_batch_) {
        measure(x, begin, end, means, third, columns);
      } else {
        std::copy(run.input<float>(3) + begin, run.input<float>(3) + end, means + begin);
        std::copy(run.input<float>(4) + begin, run.input<float>(4) + end, third + begin);
      }
      for (std::int64_t c = begin; c < end; ++c) {
        float factor = 1 / std::sqrt(third[c] + eps_);
        scales[c] = fix_gamma_ ? factor : factor * gamma[c];
        if (!plain_variance_) third[c] = factor;
      }
      const float *m = columns, *s = columns + wide, *b = columns + 2 * wide;
      if (narrow_) {
        spread(shape_, begin, end, means, columns);
        spread(shape_, begin, end, scales, columns + wide);
        spread(shape_, begin, end, beta, columns + 2 * wide);
      }
      auto finish = [&](std::int64_t at, auto k, Reg v) { put(y + at, relu_ ? at_least(v, Reg{}) : v, k); };
      each_of_channels(
          shape_, begin, end,
          [&](std::int64_t at, auto k, std::int64_t c) { finish(at, k, (get(x + at, k) - means[c]) * scales[c] + beta[c]); },
          [&](std::int64_t at, auto k, std::int64_t j) {
            finish(at, k, (get(x + at, k) - get(m + j, k)) * get(s + j, k) + get(b + j, k));
          });
    });
  }

 private:
  // Mean and variance of channels [begin, end) of the batch, in two passes.
  void measure(const float* x, std::int64_t begin, std::int64_t end, float* means, float* variances, float* columns) const {
    const double count = static_cast<double>(shape_.before * shape_.after);
    auto plain = [&](std::int64_t at, auto k, std::int64_t) { return std::pair(get(x + at, k), Reg{}); };
    channel_sums(shape_, begin, end, plain, plain,
                 [&](std::int64_t c, double total, double) { means[c] = static_cast<float>(total / count); });
    if (narrow_) spread(shape_, begin, end, means, columns);
    channel_sums(
        shape_, begin, end,
        [&](std::int64_t at, auto k, std::int64_t c) {
          Reg d = get(x + at, k) - means[c];
          return std::pair(d * d, Reg{});
        },
        [&](std::int64_t at, auto k, std::int64_t j) {
          Reg d = get(x + at, k) - get(columns + j, k);
          return std::pair(d * d, Reg{});
        },
        [&](std::int64_t c, double squares, double) { variances[c] = static_cast<float>(squares / count); });
  }

  AxisSplit shape_;
  float eps_;
  bool fix_gamma_, of_batch_, plain_variance_, relu_, narrow_;
};

std::unique_ptr<Kernel> bind_batch(const Call& call, std::int64_t axis, bool plain_variance, bool relu) {
  return std::make_unique<BatchNorm>(call, axis, plain_variance, relu);
}

}  // namespace

std::unique_ptr<Kernel> bind_BatchNorm(const Call& call) { return bind_batch(call, call.attrs.integer("axis"), false, false); }
std::unique_ptr<Kernel> bind_BatchNormWithReLU(const Call& call) {
  return bind_batch(call, call.attrs.integer("axis"), false, true);
}
// BatchNorm_v1 and SyncBatchNorm
std::unique_ptr<Kernel> bind_BatchNorm_v1(const Call& call) { return bind_batch(call, 1, true, false); }

}  // namespace gluonnx
