// Pooling of blocked data.
#include "strips.h"

namespace gluonnx {
namespace {

class BlockedPool : public Kernel {
 public:
  BlockedPool(const Tensor& in, const Tensor& out, const Pooling& pooling)
      : in_(in), out_(out), strips_(strips_of(pooling.fold, pooling.power, in_three(pooling.axes), pooling.mean)), window_(1) {
    for (const auto& w : pooling.axes) window_ *= w.kernel;
    how = "blocked";
    flops = static_cast<double>(out.size()) * static_cast<double>(window_);
  }

  void run(const Run& run) const override {
    const std::int64_t height = out_.shape[2], rows = out_.shape[0] * out_.shape[1] * height;
    const std::int64_t work = std::max<std::int64_t>(1, out_.shape[3] * (1 + window_ / 4));  // about lines of cache, of a row
    run.ranges(rows, std::max<std::int64_t>(1, 2048 / work), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t plane = i / height, y = i % height, n = plane / out_.shape[1], b = plane % out_.shape[1];
        const float* in = run.input<float>(0) + n * in_.batch_stride + b * in_.block_stride();
        float* out = run.output<float>() + n * out_.batch_stride + b * out_.block_stride() + y * out_.row_stride();
        strips_->row(in, 0, in_.row_stride(), out, 0, y);
      }
    });
  }

 private:
  Tensor in_, out_;
  std::unique_ptr<const Strips> strips_;
  std::int64_t window_;
};

}  // namespace

std::unique_ptr<Kernel> bind_blocked_pool(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  want(in.blocked && out.blocked);
  const Pooling pooling(call.attrs, in, out, 2);
  if (pooling.channels_last) return nullptr;
  return std::make_unique<BlockedPool>(in, out, pooling);
}

}  // namespace gluonnx
