// What both ways to convolve 8-bit numbers share: where windows lie, which operands there are, and what becomes of sums.
#pragma once

#include <vector>

#include "layer.h"

namespace gluonnx::integer {

struct Axis {
  Index size = 1, kernel = 1, stride = 1, dilation = 1, before = 0, steps = 1;
  Index padded() const { return (steps - 1) * stride + dilation * (kernel - 1) + 1; }
};

struct Geometry {
  Index batch, channels, filters, groups;
  Axis axis[3];  // depth, height, width

  Index image() const { return axis[0].size * axis[1].size * axis[2].size; }
  Index taps() const { return axis[0].kernel * axis[1].kernel * axis[2].kernel; }
  Index places() const { return axis[0].steps * axis[1].steps * axis[2].steps; }
  Index depth() const { return channels / groups; }  // channels of a filter
  Index share() const { return filters / groups; }   // filters of a group
  // a plane with its padding, as rows of phases
  Index phase() const { return divided_up(axis[2].padded(), axis[2].stride); }
  Index row() const { return phase() * axis[2].stride; }
  Index plane() const { return axis[0].padded() * axis[1].padded() * row(); }
  // where the window at these steps finds a tap
  Index start(Index d, Index h, Index w) const {
    return (d * axis[0].stride * axis[1].padded() + h * axis[1].stride) * row() + w;
  }
  Index tap(Index d, Index h, Index w) const {
    const Index x = w * axis[2].dilation;
    return (d * axis[0].dilation * axis[1].padded() + h * axis[1].dilation) * row() + x % axis[2].stride * phase() +
           x / axis[2].stride;
  }
  std::vector<Index> all_taps() const {
    std::vector<Index> found;
    for (Index d = 0; d < axis[0].kernel; ++d)
      for (Index h = 0; h < axis[1].kernel; ++h)
        for (Index w = 0; w < axis[2].kernel; ++w) found.push_back(tap(d, h, w));
    return found;
  }
};

// The operands of a call by position, -1: there is none.
struct Operands {
  int x = 0, w = 1, x_zero = -1, w_zero = -1;
  int x_scale = -1, w_scale = -1, y_scale = -1, y_zero = -1;  // of sums that are quantised again
  int bias = -1, ranges = -1;
  Epilogue::Kind kind = Epilogue::Kind::sums;
  std::optional<Layer> layer;  // of those that are followed
};

// What both ways to convolve share.
class Convolution : public Kernel {
 public:
  Convolution(const Geometry& geometry, const Operands& operands, const Call& call)
      : g_(geometry),
        at_(operands),
        x_signed_(call.in[operands.x].dtype == DType::i8),
        w_signed_(call.in[operands.w].dtype == DType::i8),
        out_signed_(call.out[0].dtype == DType::i8) {
    for (const Tensor& t : call.in) sizes_.push_back(t.size());
    constant_ = call.in[at_.w].constant && (at_.w_zero < 0 || call.in[at_.w_zero].constant);
    flops = 2.0 * g_.batch * g_.filters * g_.places() * g_.taps() * g_.depth();
  }
  bool reads(int input) const override { return !(constant_ && input == at_.w); }

 protected:
  bool given(const void* const* in) const { return constant_ && in[at_.w] && (at_.w_zero < 0 || in[at_.w_zero]); }
  int x_zero(const void* const* in) const { return at_.x_zero < 0 ? 0 : number(in[at_.x_zero], x_signed_, 0); }
  ZeroPoint w_zero(const void* const* in) const {
    return at_.w_zero < 0 ? ZeroPoint{} : ZeroPoint{in[at_.w_zero], sizes_[at_.w_zero], w_signed_};
  }

  // rows: memory for two numbers of each filter. The results lie at `out`, one row for each filter of each image.
  Epilogue epilogue_of(const Run& run, float* rows) const {
    Epilogue f;
    f.kind = at_.kind;
    f.by_row = true;
    f.out = run.out[0];
    f.ld = g_.places();
    if (at_.layer) {
      at_.layer->set(run, f, rows, rows + g_.filters);
    } else if (at_.kind == Epilogue::Kind::quantized) {
      const float x = *run.input<float>(at_.x_scale), y = *run.input<float>(at_.y_scale);
      const float* w = run.input<float>(at_.w_scale);
      for (Index i = 0; i < g_.filters; ++i) rows[i] = x * w[sizes_[at_.w_scale] == 1 ? 0 : i] / y;
      f.scale = rows;
      f.zero = number(run.in[at_.y_zero], out_signed_, 0);
      f.is_signed = out_signed_;
    } else if (at_.bias >= 0) {
      const auto* bias = run.input<std::int8_t>(at_.bias);
      std::copy(bias, bias + g_.filters, rows);
      f.addend = rows;
    }
    return f;
  }
  // What is added to sums: the bias that is given, and what the zero point of pixels as they are stored takes from those.
  void set_bias(const Run& run, Epilogue& f, int zero, const std::int32_t* terms, std::int32_t* rows) const {
    const auto* given = at_.kind == Epilogue::Kind::quantized && at_.bias >= 0 ? run.input<std::int32_t>(at_.bias) : nullptr;
    if (!given && !zero) return;
    for (Index i = 0; i < g_.filters; ++i) {
      const auto taken = static_cast<std::uint32_t>(zero) * static_cast<std::uint32_t>(zero ? terms[i] : 0);
      rows[i] = static_cast<std::int32_t>((given ? static_cast<std::uint32_t>(given[i]) : 0u) - taken);
    }
    f.bias = rows;
  }
  // of an image
  Epilogue moved(Epilogue f, Index image) const {
    const Index size = f.kind == Epilogue::Kind::quantized ? 1 : f.kind == Epilogue::Kind::followed ? size_of(f.type) : 4;
    f.out = static_cast<std::byte*>(f.out) + image * g_.filters * f.ld * size;
    if (f.other) f.other = static_cast<const std::byte*>(f.other) + image * g_.filters * f.ld;
    return f;
  }
  // MXNet's range of sums of int8 products, whatever the data
  void give_range(const Run& run) const {
    if (at_.layer) at_.layer->give_range(run);
    if (at_.ranges < 0) return;
    const float* const r[] = {run.input<float>(at_.ranges), run.input<float>(at_.ranges + 1), run.input<float>(at_.ranges + 2),
                              run.input<float>(at_.ranges + 3)};
    run.output<float>(2)[0] = (reach(r[0], r[1]) / 127.f) * (reach(r[2], r[3]) / 127.f) * 2147483648.f;
    run.output<float>(1)[0] = -run.output<float>(2)[0];
  }

  Geometry g_;
  Operands at_;
  std::vector<Index> sizes_;
  bool x_signed_, w_signed_, out_signed_, constant_;
};

// One channel to a filter: there are no sums over channels to share work; each output is made from its plane directly.
std::unique_ptr<Kernel> make_depthwise(const Geometry& geometry, const Operands& operands, const Call& call);

}  // namespace gluonnx::integer
