// The operator _fused_conv: convolution of blocked data with bias, residual, leaky slope and limits.
#include "conv.h"

namespace gluonnx {
namespace conv {
namespace {

// The pool as a Run, for packing in prepare().
Run only(Pool* pool) { return {nullptr, nullptr, nullptr, pool}; }

// The operator by one of the algorithms, each of which has weight_size, pack, scratch, run and how.
template <class Algorithm>
class FusedConv : public Kernel {
 public:
  FusedConv(const Shape& shape, const Call& call, int bias, int residual, Algorithm algorithm)
      : shape_(shape), bias_(bias), residual_(residual), algorithm_(std::move(algorithm)) {
    constant_ = call.in[1].constant;
    constant_bias_ = bias > 0 && call.in[bias].constant;
    scratch = algorithm_.scratch();
    if (!constant_) weight_at_ = take(algorithm_.weight_size());
    if (bias > 0 && !constant_bias_ && shape.filters % BLOCK) bias_at_ = take(lanes());
    flops = shape.flops();
    how = algorithm_.how();
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (constant_ && in[1]) {
      if (!packed_) packed_ = Floats(algorithm_.weight_size());
      algorithm_.pack(weights_of(shape_, static_cast<const float*>(in[1])), packed_.data(), only(pool));
    }
    if (constant_bias_ && in[bias_]) {
      if (!packed_bias_) packed_bias_ = Floats(lanes());
      widen_bias(static_cast<const float*>(in[bias_]), packed_bias_.data());
    }
  }

  bool reads(int input) const override {
    return !(input == 1 && constant_) && !(input > 1 && input == bias_ && constant_bias_);
  }

  void run(const Run& run) const override {
    Operands operands{run.input<float>(0), packed_.data(), packed_bias_.data(), nullptr, run.output<float>()};
    if (residual_ > 0) operands.residual = run.input<float>(residual_);
    if (!constant_) {
      float* packed = reinterpret_cast<float*>(run.scratch + weight_at_);
      algorithm_.pack(weights_of(shape_, run.input<float>(1)), packed, run);
      operands.weights = packed;
    }
    if (bias_ > 0 && !constant_bias_) {
      operands.bias = run.input<float>(bias_);
      if (shape_.filters % BLOCK) {
        float* wide = reinterpret_cast<float*>(run.scratch + bias_at_);
        widen_bias(operands.bias, wide);
        operands.bias = wide;
      }
    }
    algorithm_.run(run, operands, run.scratch);
  }

 private:
  Index lanes() const { return blocks_of(shape_.filters) * BLOCK; }
  void widen_bias(const float* from, float* to) const {
    std::memcpy(to, from, shape_.filters * sizeof(float));
    std::memset(to + shape_.filters, 0, (lanes() - shape_.filters) * sizeof(float));
  }
  std::size_t take(Index floats) {
    const std::size_t at = scratch;
    scratch += aligned(floats * sizeof(float));
    return at;
  }

  Shape shape_;
  int bias_, residual_;  // which inputs, 0 for none
  bool constant_, constant_bias_;
  Algorithm algorithm_;
  Floats packed_, packed_bias_;
  std::size_t weight_at_ = 0, bias_at_ = 0;
};

}  // namespace
}  // namespace conv

std::unique_ptr<Kernel> bind_fused_conv(const Call& call) {
  using namespace conv;
  const Attrs& a = call.attrs;
  const auto kernel = a.ints("kernel"), stride = a.ints("stride", {1, 1}), dilate = a.ints("dilate", {1, 1}),
             pad = a.ints("pad", {0, 0});
  const bool blocked = a.flag("blocked");
  const int bias = a.flag("bias") ? 2 : 0, residual = a.flag("residual") ? 2 + (bias > 0) : 0;
  Finish finish;
  finish.leaky = a.has("slope");
  finish.floor = a.has("low");
  finish.ceiling = a.has("high");
  finish.slope = static_cast<float>(a.real("slope", 0));
  finish.low = static_cast<float>(a.real("low", 0));
  finish.high = static_cast<float>(a.real("high", 0));
  const auto& in = call.in[0].shape;
  const auto& out = call.out[0].shape;
  Shape shape;
  shape.batch = in[0], shape.channels = a.integer("channels"), shape.height = in[2], shape.width = in[3];
  shape.filters = a.integer("num_filter"), shape.out_height = out[2], shape.out_width = out[3];
  shape.kernel_h = kernel[0], shape.kernel_w = kernel[1], shape.stride_h = stride[0], shape.stride_w = stride[1];
  shape.dilate_h = dilate[0], shape.dilate_w = dilate[1], shape.pad_h = pad[0], shape.pad_w = pad[1];
  shape.groups = a.integer("num_group");
  if (kernel.size() != 2 || call.in[1].dtype != DType::f32 || call.in[0].blocked != blocked || !call.out[0].blocked ||
      (residual && !call.in[residual].blocked))
    return nullptr;
  const View from = view_of(call.in[0]), to = view_of(call.out[0]), more = residual ? view_of(call.in[residual]) : to;
  auto made = [&](auto algorithm) -> std::unique_ptr<Kernel> {
    return std::make_unique<FusedConv<decltype(algorithm)>>(shape, call, bias, residual, std::move(algorithm));
  };
  const bool threes = shape.kernel_h == 3 && shape.kernel_w == 3 && shape.stride_h == 1 && shape.stride_w == 1 &&
                      shape.dilate_h == 1 && shape.dilate_w == 1;
  if (blocked && threes && shape.groups == 1 && call.in[1].constant && !call.precise)
    if (const int size = Winograd::best(shape)) return made(Winograd(size, shape, from, to, more, finish, call.threads));
  if (Direct::can(shape, blocked)) return made(Direct(shape, blocked, from, to, more, finish, call.threads));
  if (blocked) return made(Lanewise(shape, from, to, more, finish, call.threads));
  return nullptr;
}

}  // namespace gluonnx
