// Running sums and products along an axis.
#include <optional>

#include "../../base/numbers.h"
#include "common.h"

namespace gluonnx {
namespace {

// Sums and products of floats in double precision: what each step loses would be in all that follow.
template <class T>
using Exact = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T, class To, bool PRODUCT>
class Running : public Kernel {
 public:
  // axis: nothing where an input says it
  Running(const Call& call, std::optional<std::int64_t> axis, bool flat) : axis_(axis), flat_(flat), shape_(call.in[0].shape) {
    want(call.out[0].size() == call.in[0].size() && size_of(call.out[0].dtype) == sizeof(To));
    exclusive_ = call.attrs.integer("exclusive", 0);
    reverse_ = call.attrs.integer("reverse", 0);
    if (!axis && !flat) {
      want((call.in[1].dtype == DType::i64 || call.in[1].dtype == DType::i32) && call.in[1].size() == 1);
      long_ = call.in[1].dtype == DType::i64;
      sure = false;
    }
    how = PRODUCT ? "products" : "sums";
  }

  void run(const Run& run) const override {
    std::int64_t outer = 1, size = 1, inner = 1;
    if (flat_) {
      for (auto d : shape_) size *= d;
    } else {
      const auto rank = static_cast<std::int64_t>(shape_.size());
      std::int64_t axis = axis_ ? *axis_ : long_ ? *run.input<std::int64_t>(1) : *run.input<std::int32_t>(1);
      want_value(axis >= -rank && axis < rank);
      if (axis < 0) axis += rank;
      for (std::int64_t i = 0; i < rank; ++i) (i < axis ? outer : i == axis ? size : inner) *= shape_[i];
    }
    if (!outer || !size || !inner) return;
    const T* from = run.input<T>(0);
    To* to = run.output<To>();
    const std::int64_t strips = (inner + COLUMNS - 1) / COLUMNS;
    run.ranges(outer * strips, (1 << 14) / (size * std::min(inner, COLUMNS)), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i / strips * size * inner + i % strips * COLUMNS;
        strip(from + first, to + first, size, inner, std::min(COLUMNS, inner - i % strips * COLUMNS));
      }
    });
  }

 private:
  using A = Exact<T>;
  static A join(A a, T x) { return PRODUCT ? a * static_cast<A>(x) : a + static_cast<A>(x); }

  void strip(const T* from, To* to, std::int64_t size, std::int64_t inner, std::int64_t width) const {
    std::int64_t step = inner;
    if (reverse_) from += (size - 1) * inner, to += (size - 1) * inner, step = -inner;
    if (width == 1) {
      A total = PRODUCT;
      for (std::int64_t r = 0; r < size; ++r, from += step, to += step) {
        const A next = join(total, *from);
        *to = static_cast<To>(exclusive_ ? total : next);
        total = next;
      }
      return;
    }
    A totals[COLUMNS];
    std::fill(totals, totals + width, A{PRODUCT});
    for (std::int64_t r = 0; r < size; ++r, from += step, to += step)
      for (std::int64_t j = 0; j < width; ++j) {
        const A next = join(totals[j], from[j]);
        to[j] = static_cast<To>(exclusive_ ? totals[j] : next);
        totals[j] = next;
      }
  }

  std::optional<std::int64_t> axis_;
  bool flat_, exclusive_, reverse_, long_ = false;
  std::vector<std::int64_t> shape_;
};

template <bool PRODUCT>
std::unique_ptr<Kernel> running(const Call& call, std::optional<std::int64_t> axis, bool flat) {
  const DType from = call.in[0].dtype, to = call.out[0].dtype;
  if (from == DType::b1) {
    if (to != DType::i64) return nullptr;
    return std::make_unique<Running<std::uint8_t, std::int64_t, PRODUCT>>(call, axis, flat);
  }
  if (from == DType::f32 && to == DType::f64) return std::make_unique<Running<float, double, PRODUCT>>(call, axis, flat);
  if (from == DType::i32 && to == DType::i64) return std::make_unique<Running<std::int32_t, std::int64_t, PRODUCT>>(call, axis, flat);
  if (from != to) return nullptr;
  return by_number(from, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<Running<T, T, PRODUCT>>(call, axis, flat);
  });
}

}  // namespace

std::unique_ptr<Kernel> bind_cumsum(const Call& call) {
  call.attrs.ignore("dtype", "axis");
  if (!call.attrs.has("axis")) return running<false>(call, {}, true);
  return running<false>(call, axis_in(call.attrs.integer("axis"), call.in[0].rank()), false);
}
std::unique_ptr<Kernel> bind_onnx_cumsum(const Call& call) {
  call.attrs.ignore("given");
  return running<false>(call, {}, false);
}
std::unique_ptr<Kernel> bind_onnx_cumprod(const Call& call) {
  call.attrs.ignore("given");
  return running<true>(call, {}, false);
}

}  // namespace gluonnx
