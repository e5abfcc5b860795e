// The operator _fused_conv: convolution of blocked data with bias, residual, leaky slope and limits.
#include "conv.h"

namespace gluonnx {
namespace conv {

Epilogue epilogue_of(const Attrs& a, const std::string& which) {
  Epilogue epilogue;
  epilogue.leaky = a.has(which + "slope");
  epilogue.floor = a.has(which + "low");
  epilogue.ceiling = a.has(which + "high");
  epilogue.slope = static_cast<float>(a.real(which + "slope", 0));
  epilogue.low = static_cast<float>(a.real(which + "low", 0));
  epilogue.high = static_cast<float>(a.real(which + "high", 0));
  return epilogue;
}

Shape shape_of(const Call& call) {
  const Attrs& a = call.attrs;
  const auto kernel = a.ints("kernel"), stride = a.ints("stride", {1, 1}), dilate = a.ints("dilate", {1, 1}),
             pad = a.ints("pad", {0, 0});
  const auto& in = call.in[0].shape;
  const auto& out = call.out[0].shape;
  Shape shape;
  for (const auto* sizes : {&kernel, &stride, &dilate, &pad}) want(sizes->size() == 2);
  for (int i : {0, 1}) want_windows(out[2 + i], kernel[i], stride[i], dilate[i], pad[i]);
  shape.batch = in[0], shape.channels = a.integer("channels");
  shape.height = in[2], shape.width = in[3], shape.out_height = out[2], shape.out_width = out[3];
  shape.kernel_h = kernel[0], shape.kernel_w = kernel[1], shape.stride_h = stride[0], shape.stride_w = stride[1];
  shape.dilate_h = dilate[0], shape.dilate_w = dilate[1], shape.pad_h = pad[0], shape.pad_w = pad[1];
  return shape;
}

void want_images(const Tensor& t, Index batch, Index channels, Index height, Index width) {
  want(t.dtype == DType::f32 && channels >= 1 && height >= 1 && width >= 1);
  want(height < Index{1} << 30 && width < Index{1} << 30);
  if (t.blocked) want_shape(t, {batch, blocks_of(channels), height, width, BLOCK});
  else want_shape(t, {batch, channels, height, width});
}

void want_operands(const Call& call, const Shape& s, const Tensor& data, int weight, int bias, int residual) {
  want(s.groups >= 1 && s.filters >= 1 && s.channels % s.groups == 0 && s.filters % s.groups == 0);
  want_images(data, s.batch, s.channels, s.height, s.width);
  want_images(call.out[0], s.batch, s.filters, s.out_height, s.out_width);
  want(call.in[weight].dtype == DType::f32 && !call.in[weight].blocked);
  want_shape(call.in[weight], {s.filters, s.group_channels(), s.kernel_h, s.kernel_w});
  if (bias) want(call.in[bias].dtype == DType::f32), want_size(call.in[bias], s.filters);
  if (residual) want_images(call.in[residual], s.batch, s.filters, s.out_height, s.out_width);
}

namespace {

// The operator by one of the algorithms, each of which has weight_size, pack, scratch, run and how.
template <class Algorithm>
class FusedConv : public Kernel, public Keeper {
 public:
  FusedConv(const Shape& shape, const Call& call, int bias, int residual, Algorithm algorithm)
      : residual_(residual), algorithm_(std::move(algorithm)) {
    scratch = algorithm_.scratch();
    stored_ = Stored(call, 1, bias, algorithm_.weight_size(), shape, scratch);
    flops = shape.flops();
    zeroes = std::is_same_v<Algorithm, Direct>;
    how = algorithm_.how();
  }

  void prepare(const void* const* in, Pool* pool) override { stored_.prepare(in, pool, algorithm_); }
  bool reads(int input) const override { return !stored_.packs(input); }
  bool take(const Kernel& other) override {
    const auto* from = dynamic_cast<const FusedConv*>(&other);
    return from && algorithm_.packs_as(from->algorithm_) && stored_.take(from->stored_);
  }
  std::vector<Kept> kept() override {
    std::vector<Kept> all;
    stored_.keep(algorithm_.form(), all);
    return all;
  }

  void run(const Run& run) const override {
    Operands operands{run.input<float>(0), nullptr, nullptr, nullptr, run.output<float>()};
    if (residual_ > 0) operands.residual = run.input<float>(residual_);
    stored_.lend(run, algorithm_, operands);
    algorithm_.run(run, operands, run.scratch);
  }

 private:
  int residual_;  // which input, 0 for none
  Algorithm algorithm_;
  Stored stored_;
};

}  // namespace
}  // namespace conv

std::unique_ptr<Kernel> bind_fused_conv(const Call& call) {
  using namespace conv;
  const Attrs& a = call.attrs;
  const bool blocked = a.flag("blocked");
  const int bias = a.flag("bias") ? 2 : 0, residual = a.flag("residual") ? 2 + (bias > 0) : 0;
  const Epilogue epilogue = epilogue_of(a);
  Shape shape = shape_of(call);
  shape.filters = a.integer("num_filter");
  shape.groups = a.integer("num_group");
  if (a.ints("kernel").size() != 2 || call.in[1].dtype != DType::f32 || call.in[0].blocked != blocked || !call.out[0].blocked ||
      (residual && !call.in[residual].blocked))
    return nullptr;
  want_operands(call, shape, call.in[0], 1, bias, residual);
  const View from = view_of(call.in[0]), to = view_of(call.out[0]), more = residual ? view_of(call.in[residual]) : to;
  auto made = [&](auto algorithm) -> std::unique_ptr<Kernel> {
    return std::make_unique<FusedConv<decltype(algorithm)>>(shape, call, bias, residual, std::move(algorithm));
  };
  const bool threes = shape.kernel_h == 3 && shape.kernel_w == 3 && shape.stride_h == 1 && shape.stride_w == 1 &&
                      shape.dilate_h == 1 && shape.dilate_w == 1;
  if (blocked && threes && shape.groups == 1 && call.in[1].constant && !call.precise)
    if (const int size = Winograd::best(shape)) return made(Winograd(size, shape, from, to, more, epilogue, call.threads));
  if (Direct::can(shape, blocked)) return made(Direct(shape, blocked, from, to, more, epilogue, call.threads));
  if (blocked) return made(Lanewise(shape, from, to, more, epilogue, call.threads));
  return nullptr;
}

}  // namespace gluonnx
