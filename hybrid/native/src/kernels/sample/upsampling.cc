// UpSampling: pixels repeated, one input beside the other or added; or the deconvolution that it is when it interpolates.
#include <type_traits>

#include "../move/move.h"

namespace gluonnx {

std::unique_ptr<Kernel> bind_deconvolution(const Call& call);
std::unique_ptr<Kernel> bind_repeated_pixels(const Call& call);

namespace {

// Inputs made as large as the first, and added.
template <class T>
class Added : public Kernel {
 public:
  explicit Added(const Call& call) {
    const auto& shape = call.out[0].shape;
    want(shape.size() == 4 && call.out[0].dtype == call.in[0].dtype);
    height_ = shape[2], width_ = shape[3], planes_ = times(shape[0], shape[1]);
    for (const Tensor& t : call.in) {
      want(t.rank() == 4 && t.dtype == call.in[0].dtype && t.shape[0] == shape[0] && t.shape[1] == shape[1]);
      want(t.shape[2] > 0 && t.shape[3] > 0 && height_ % t.shape[2] == 0 && width_ % t.shape[3] == 0);
      inputs_.push_back({t.shape[3], t.shape[2] * t.shape[3], height_ / t.shape[2], width_ / t.shape[3]});
    }
    how = "added";
  }

  void run(const Run& run) const override {
    const std::int64_t bytes = width_ * static_cast<std::int64_t>(sizeof(T) * (inputs_.size() + 1));
    run.ranges(planes_ * height_, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r)
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
          const Input& in = inputs_[i];
          const T* from = run.input<T>(static_cast<int>(i)) + r / height_ * in.plane + r % height_ / in.high * in.width;
          row(from, in.wide, i == 0, run.output<T>() + r * width_);
        }
    });
  }

 private:
  struct Input {
    std::int64_t width, plane, high, wide;  // high and wide: by how much it is enlarged
  };

  void row(const T* __restrict from, std::int64_t wide, bool first, T* __restrict to) const {
    if (wide == 1 && !first) {
      for (std::int64_t x = 0; x < width_; ++x) to[x] = static_cast<T>(to[x] + from[x]);
      return;
    }
    for (std::int64_t x = 0; x < width_; x += wide, ++from)
      for (std::int64_t i = 0; i < wide; ++i) to[x + i] = first ? *from : static_cast<T>(to[x + i] + *from);
  }

  std::vector<Input> inputs_;
  std::int64_t planes_, height_, width_;
};

template <class T>
std::unique_ptr<Kernel> added(const Call& call) {
  return std::make_unique<Added<T>>(call);
}

}  // namespace

std::unique_ptr<Kernel> bind_upsampling(const Call& call) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("workspace");
  const std::int64_t scale = attrs.integer("scale"), filters = attrs.integer("num_filter");
  const bool adds = attrs.text("multi_input_mode") == "sum" && call.in.size() > 1;
  if (attrs.text("sample_type") == "bilinear") {
    want(scale >= 1 && scale < (1 << 15));
    using Value = Attrs::Value;
    const std::vector<std::int64_t> kernel(2, 2 * scale - scale % 2), stride(2, scale), pad(2, scale / 2);
    const Attrs all({{"kernel", Value(kernel)}, {"stride", Value(stride)}, {"pad", Value(pad)}, {"num_group", Value(filters)}});
    return bind_deconvolution(Call{all, call.in, call.out, call.threads, call.precise});
  }
  if (!adds) return bind_repeated_pixels(call);
  switch (call.in[0].dtype) {  // integers wrap round, whatever their sign
    case DType::f32:
      return added<float>(call);
    case DType::f64:
      return added<double>(call);
    case DType::i8:
    case DType::u8:
      return added<std::uint8_t>(call);
    case DType::i32:
      return added<std::uint32_t>(call);
    case DType::i64:
      return added<std::uint64_t>(call);
    default:
      return nullptr;
  }
}

}  // namespace gluonnx
