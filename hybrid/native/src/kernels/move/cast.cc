// Conversions of dtype, with the rules of hybrid/ops/casting.py.
#include "../../base/convert.h"
#include "../../base/half.h"
#include "move.h"

namespace gluonnx {
namespace {

template <class From, class To>
class Cast : public Kernel {
 public:
  explicit Cast(std::int64_t count) : count_(count) { how = "elements"; }

  void run(const Run& run) const override {
    run.ranges(count_, grain_of(sizeof(From) + sizeof(To)), [&](std::int64_t begin, std::int64_t end, int) {
      const From* __restrict from = run.input<From>(0);
      To* __restrict to = run.output<To>();
      for (std::int64_t i = begin; i < end; ++i) to[i] = convert<To>(from[i]);
    });
  }

 private:
  std::int64_t count_;
};

// Halves to or from another type, in pieces of float32.
template <class Other>
class CastHalves : public Kernel {
 public:
  CastHalves(std::int64_t count, DType from, DType to) : count_(count), from_(from), to_(to) { how = "halves"; }

  void run(const Run& run) const override {
    run.ranges(count_, grain_of(2 + sizeof(Other)), [&](std::int64_t begin, std::int64_t end, int) {
      float piece[PIECE];
      for (std::int64_t i = begin; i < end; i += PIECE) {
        const std::int64_t n = std::min(PIECE, end - i);
        if (is_half(from_)) {
          float* wide = piece;
          if constexpr (std::is_same_v<Other, float>)
            if (!is_half(to_)) wide = run.output<float>() + i;
          widen_halves(from_, wide, run.input<std::uint16_t>(0) + i, n);
          if (is_half(to_)) narrow_halves(to_, run.output<std::uint16_t>() + i, piece, n);
          else if (wide == piece)
            for (std::int64_t j = 0; j < n; ++j) run.output<Other>()[i + j] = convert<Other>(piece[j]);
        } else {
          const Other* given = run.input<Other>(0) + i;
          const float* wide = piece;
          if constexpr (std::is_same_v<Other, float>) wide = given;
          else if constexpr (std::is_same_v<Other, double>)
            for (std::int64_t j = 0; j < n; ++j) piece[j] = to_ == DType::f16 ? odd_float(given[j]) : convert<float>(given[j]);
          else
            for (std::int64_t j = 0; j < n; ++j) piece[j] = convert<float>(given[j]);
          narrow_halves(to_, run.output<std::uint16_t>() + i, wide, n);
        }
      }
    });
  }

 private:
  static constexpr std::int64_t PIECE = 1024;
  std::int64_t count_;
  DType from_, to_;
};

// f(a number of the dtype); null for those that no kernel computes with
template <class F>
std::unique_ptr<Kernel> with_type(DType type, F f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    case DType::b1:
      return f(bool{});
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> bind_cast(const Call& call) {
  call.attrs.ignore("dtype", "given", "saturate", "round_mode");  // the latter are of dtypes that are none here
  const DType from = call.in[0].dtype, to = call.out[0].dtype;
  const std::int64_t count = call.in[0].size();
  want_size(call.out[0], count);
  if (is_half(from) || is_half(to))
    return with_type(is_half(from) ? is_half(to) ? DType::f32 : to : from, [&](auto other) -> std::unique_ptr<Kernel> {
      return std::make_unique<CastHalves<decltype(other)>>(count, from, to);
    });
  return with_type(from, [&](auto a) {
    return with_type(to, [&](auto b) -> std::unique_ptr<Kernel> { return std::make_unique<Cast<decltype(a), decltype(b)>>(count); });
  });
}

}  // namespace gluonnx
