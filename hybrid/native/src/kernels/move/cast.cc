// Conversions of dtype, with the rules of hybrid/ops/casting.py.
#include "../../base/convert.h"
#include "../../base/half.h"
#include "move.h"

namespace gluonnx {
namespace {

using Convert = void (*)(const void* from, void* to, std::int64_t count);

template <class From, class To>
void numbers(const void* given, void* result, std::int64_t count) {
  const From* __restrict from = static_cast<const From*>(given);
  To* __restrict to = static_cast<To*>(result);
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
}
template <class T>
void copy(const void* from, void* to, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
}
void odd_floats(const void* from, void* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = odd_float(static_cast<const double*>(from)[i]);
}

// f(a number of the dtype); null for those that no kernel computes with. Bools are the bytes 0 and 1.
template <class F>
Convert with_type(DType type, F f) {
  switch (type) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
    case DType::b1:
      return f(std::uint8_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    default:
      return nullptr;
  }
}

Convert convert_of(DType from, DType to) {
  return with_type(from, [&](auto a) -> Convert {
    using From = decltype(a);
    if (to == DType::b1) return from == to ? copy<std::uint8_t> : numbers<From, bool>;
    return with_type(to, [&](auto b) -> Convert {
      using To = decltype(b);
      if constexpr (std::is_integral_v<To> && sizeof(To) == 1) {  // the same bytes with a sign and without
        if constexpr (std::is_integral_v<From> && sizeof(From) == 1) return copy<std::uint8_t>;
        else return numbers<From, std::uint8_t>;
      } else if constexpr (std::is_same_v<From, To>) {
        return copy<To>;
      } else {
        return numbers<From, To>;
      }
    });
  });
}

class Cast : public Kernel {
 public:
  Cast(std::int64_t count, DType from, DType to, Convert convert)
      : count_(count),
        from_(static_cast<std::int64_t>(size_of(from))),
        to_(static_cast<std::int64_t>(size_of(to))),
        convert_(convert) {
    how = "elements";
  }

  void run(const Run& run) const override {
    run.ranges(count_, grain_of(from_ + to_), [&](std::int64_t begin, std::int64_t end, int) {
      convert_(run.input<std::byte>(0) + begin * from_, run.output<std::byte>() + begin * to_, end - begin);
    });
  }

 private:
  std::int64_t count_, from_, to_;  // elements, and bytes of one
  Convert convert_;
};

// Halves to or from another type, in pieces of float32.
class CastHalves : public Kernel {
 public:
  // convert: to float32, or from it
  CastHalves(std::int64_t count, DType from, DType to, Convert convert) : count_(count), from_(from), to_(to), convert_(convert) {
    how = "halves";
  }

  void run(const Run& run) const override {
    const auto wide = static_cast<std::int64_t>(size_of(is_half(from_) ? to_ : from_));
    run.ranges(count_, grain_of(2 + wide), [&](std::int64_t begin, std::int64_t end, int) {
      float piece[PIECE];
      for (std::int64_t i = begin; i < end; i += PIECE) {
        const std::int64_t n = std::min(PIECE, end - i);
        if (!is_half(from_)) {
          const std::byte* given = run.input<std::byte>(0) + i * wide;
          if (from_ != DType::f32) convert_(given, piece, n);
          narrow_halves(to_, run.output<std::uint16_t>() + i, from_ == DType::f32 ? reinterpret_cast<const float*>(given) : piece, n);
          continue;
        }
        std::byte* result = run.output<std::byte>() + i * wide;
        widen_halves(from_, to_ == DType::f32 ? reinterpret_cast<float*>(result) : piece, run.input<std::uint16_t>(0) + i, n);
        if (is_half(to_)) narrow_halves(to_, run.output<std::uint16_t>() + i, piece, n);
        else if (to_ != DType::f32) convert_(piece, result, n);
      }
    });
  }

 private:
  static constexpr std::int64_t PIECE = 1024;
  std::int64_t count_;
  DType from_, to_;
  Convert convert_;
};

}  // namespace

std::unique_ptr<Kernel> bind_cast(const Call& call) {
  call.attrs.ignore("dtype", "given", "saturate", "round_mode");  // the latter are of dtypes that are none here
  const DType from = call.in[0].dtype, to = call.out[0].dtype;
  const std::int64_t count = call.in[0].size();
  want_size(call.out[0], count);
  if (!is_half(from) && !is_half(to)) {
    const Convert convert = convert_of(from, to);
    return convert ? std::make_unique<Cast>(count, from, to, convert) : nullptr;
  }
  const DType given = is_half(from) ? DType::f32 : from, wanted = is_half(to) ? DType::f32 : to;
  const Convert convert = from == DType::f64 && to == DType::f16 ? odd_floats : convert_of(given, wanted);
  return convert ? std::make_unique<CastHalves>(count, from, to, convert) : nullptr;
}

}  // namespace gluonnx
