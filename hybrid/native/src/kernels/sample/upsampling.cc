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

// The gradient of an input: sums over what became of each pixel.
template <class F>
class Gathered : public Kernel {
 public:
  Gathered(const Call& call, int of, bool concat) {
    const Tensor &dy = call.in[0], &dx = call.out[0];
    want(dy.rank() == 4 && dx.rank() == 4 && dy.dtype == dx.dtype && dx.size() > 0 && dy.shape[0] == dx.shape[0]);
    for (int i = 1; i <= of && concat; ++i) want(call.in[i].rank() == 4), first_ = plus(first_, call.in[i].shape[1]);
    channels_ = dx.shape[1], height_ = dx.shape[2], width_ = dx.shape[3], all_ = dy.shape[1];
    want(first_ + channels_ <= all_ && (concat || all_ == channels_));
    high_ = dy.shape[2] / height_, wide_ = dy.shape[3] / width_;
    want(high_ * height_ == dy.shape[2] && wide_ * width_ == dy.shape[3]);
    rows_ = dx.size() / width_;
    how = "sums";
  }

  void run(const Run& run) const override {
    const std::int64_t wide = wide_ * width_;
    run.ranges(rows_, grain_of(high_ * wide * static_cast<std::int64_t>(sizeof(F))), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t plane = r / height_, n = plane / channels_, c = plane % channels_ + first_;
        const F* from = run.input<F>(0) + ((n * all_ + c) * height_ + r % height_) * high_ * wide;
        F* __restrict to = run.output<F>() + r * width_;
        std::fill(to, to + width_, F{});
        for (std::int64_t y = 0; y < high_; ++y) add(from + y * wide, to);
      }
    });
  }

 private:
  void add(const F* __restrict from, F* __restrict to) const {
    if (wide_ == 2) {
      for (std::int64_t x = 0; x < width_; ++x) to[x] += from[2 * x] + from[2 * x + 1];
      return;
    }
    for (std::int64_t x = 0; x < width_; ++x, from += wide_) {
      F sum = 0;
      for (std::int64_t i = 0; i < wide_; ++i) sum += from[i];
      to[x] += sum;
    }
  }

  std::int64_t channels_, height_, width_, all_, rows_, high_, wide_, first_ = 0;  // first: channel of dy
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
    const std::int64_t side = 2 * scale - scale % 2, pad = scale / 2;
    const Attrs all({{"kernel", {side, side}}, {"stride", {scale, scale}}, {"pad", {pad, pad}}}, {{"num_group", filters}});
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

std::unique_ptr<Kernel> bind_upsampling_back(const Call& call) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("workspace", "num_filter", "scale");
  const std::int64_t of = attrs.integer("of"), inputs = static_cast<std::int64_t>(call.in.size()) - 1;
  const bool concat = attrs.text("multi_input_mode") == "concat";
  want(attrs.text("sample_type") == "nearest" && of >= 0 && of < inputs);
  if (call.in[0].dtype == DType::f64) return std::make_unique<Gathered<double>>(call, static_cast<int>(of), concat);
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<Gathered<float>>(call, static_cast<int>(of), concat);
}

}  // namespace gluonnx
