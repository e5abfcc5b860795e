// Conversions of dtype, with the rules of hybrid/ops/casting.py.
#include <bit>
#include <limits>

#include "../../base/vec.h"
#include "move.h"

namespace gluonnx {
namespace {

struct Bfloat16 {
  std::uint16_t bits;
};

// What the value of an element is reckoned with.
template <class T>
GX_INLINE T value_of(T x) {
  return x;
}
GX_INLINE float value_of(Bfloat16 x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
#ifdef __FLT16_MAX__
GX_INLINE float value_of(_Float16 x) { return static_cast<float>(x); }
#endif

template <class To, class From>
GX_INLINE To convert(From given) {
  const auto x = value_of(given);
  using X = decltype(x);
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, Bfloat16>) {  // to the nearest, ties to even
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return {static_cast<std::uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? (bits >> 16 & 0x8000) | 0x7fc0 : rounded)};
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<std::remove_const_t<X>>) {
    // cut off, and what is not in reach becomes the least number, as C compiled for x86 casts
    using Wide = std::conditional_t<sizeof(To) == 8, std::int64_t, std::int32_t>;
    constexpr double limit = sizeof(To) == 8 ? 9223372036854775808.0 : 2147483648.0;
    const auto v = static_cast<double>(x);
    const bool inside = v < limit && (sizeof(To) == 8 ? v >= -limit : v > -limit - 1);
    return static_cast<To>(inside ? static_cast<Wide>(v) : std::numeric_limits<Wide>::min());
  } else {
    return static_cast<To>(x);
  }
}

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

template <class From, class To>
std::unique_ptr<Kernel> make(std::int64_t count) {
  return std::make_unique<Cast<From, To>>(count);
}

// What is met in models; NumPy has the others.
template <class From>
std::unique_ptr<Kernel> to_number(DType to, std::int64_t count) {
  switch (to) {
    case DType::f32:
      return make<From, float>(count);
    case DType::f64:
      return make<From, double>(count);
    case DType::i32:
      return make<From, std::int32_t>(count);
    case DType::i64:
      return make<From, std::int64_t>(count);
    default:
      return nullptr;
  }
}

std::unique_ptr<Kernel> to_half(DType to, std::int64_t count) {
  if (to == DType::bf16) return make<float, Bfloat16>(count);
#ifdef __FLT16_MAX__
  return make<float, _Float16>(count);
#else
  return nullptr;
#endif
}

std::unique_ptr<Kernel> from_half(DType from, std::int64_t count) {
  if (from == DType::bf16) return make<Bfloat16, float>(count);
#ifdef __FLT16_MAX__
  return make<_Float16, float>(count);
#else
  return nullptr;
#endif
}

}  // namespace

std::unique_ptr<Kernel> bind_cast(const Call& call) {
  call.attrs.ignore("dtype");
  const DType from = call.in[0].dtype, to = call.out[0].dtype;
  // halves only to and from float32: others are rare, and by way of it some would be rounded twice
  const auto half = [](DType t) { return t == DType::f16 || t == DType::bf16; };
  const std::int64_t count = call.in[0].size();
  want_size(call.out[0], count);
  if (half(to)) return from == DType::f32 ? to_half(to, count) : nullptr;
  if (half(from)) return to == DType::f32 ? from_half(from, count) : nullptr;
  if (from == DType::f32 && to == DType::i8) return make<float, std::int8_t>(count);
  if (from == DType::f32 && to == DType::u8) return make<float, std::uint8_t>(count);
  if (from == DType::f32 && to == DType::b1) return make<float, bool>(count);
  switch (from) {
    case DType::f32:
      return to_number<float>(to, count);
    case DType::f64:
      return to_number<double>(to, count);
    case DType::i32:
      return to_number<std::int32_t>(to, count);
    case DType::i64:
      return to_number<std::int64_t>(to, count);
    case DType::i8:
      return to == DType::f32 ? make<std::int8_t, float>(count) : nullptr;
    case DType::u8:
      return to == DType::f32 ? make<std::uint8_t, float>(count) : nullptr;
    case DType::b1:
      return to == DType::f32 ? make<bool, float>(count) : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace gluonnx
