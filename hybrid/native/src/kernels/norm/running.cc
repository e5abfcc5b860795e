// Running sums and products along an axis.
#include <optional>

#include "../../base/numbers.h"
#include "common.h"

namespace gluonnx {
namespace {

// Sums and products of floats in double precision: what each step loses would be in all that follow.
template <class T>
using Exact = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

// How the results are written, and where the next row is: in front of it where they run backwards.
struct Steps {
  std::int64_t size, inner;
  bool exclusive, reverse;
};

// Columns of an axis, `width` of them.
using Strip = void (*)(const std::byte* from, std::byte* to, const Steps& steps, std::int64_t width);

template <class T, class To, bool PRODUCT>
void strip(const std::byte* given, std::byte* result, const Steps& steps, std::int64_t width) {
  using A = Exact<T>;
  const auto join = [](A a, T x) { return PRODUCT ? a * static_cast<A>(x) : a + static_cast<A>(x); };
  const T* from = reinterpret_cast<const T*>(given);
  To* to = reinterpret_cast<To*>(result);
  const std::int64_t size = steps.size, inner = steps.inner;
  const bool exclusive = steps.exclusive;
  std::int64_t step = inner;
  if (steps.reverse) from += (size - 1) * inner, to += (size - 1) * inner, step = -inner;
  if (width == 1) {
    A total = PRODUCT;
    if (exclusive)
      for (std::int64_t r = 0; r < size; ++r, from += step, to += step) *to = static_cast<To>(total), total = join(total, *from);
    else
      for (std::int64_t r = 0; r < size; ++r, from += step, to += step) total = join(total, *from), *to = static_cast<To>(total);
    return;
  }
  A totals[COLUMNS];
  std::fill(totals, totals + width, A{PRODUCT});
  for (std::int64_t r = 0; r < size; ++r, from += step, to += step)
    if (exclusive)
      for (std::int64_t j = 0; j < width; ++j) {
        const A next = join(totals[j], from[j]);
        to[j] = static_cast<To>(totals[j]);
        totals[j] = next;
      }
    else
      for (std::int64_t j = 0; j < width; ++j) to[j] = static_cast<To>(totals[j] = join(totals[j], from[j]));
}

class Running : public Kernel {
 public:
  // axis: nothing where an input says it
  Running(const Call& call, std::optional<std::int64_t> axis, bool flat, Strip strip)
      : axis_(axis), flat_(flat), shape_(call.in[0].shape), strip_(strip) {
    want(call.out[0].size() == call.in[0].size());
    from_ = static_cast<std::int64_t>(size_of(call.in[0].dtype)), to_ = static_cast<std::int64_t>(size_of(call.out[0].dtype));
    exclusive_ = call.attrs.integer("exclusive", 0);
    reverse_ = call.attrs.integer("reverse", 0);
    if (!axis && !flat) {
      want((call.in[1].dtype == DType::i64 || call.in[1].dtype == DType::i32) && call.in[1].size() == 1);
      long_ = call.in[1].dtype == DType::i64;
      sure = false;
    }
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
    const Steps steps{size, inner, exclusive_, reverse_};
    const std::int64_t strips = (inner + COLUMNS - 1) / COLUMNS;
    run.ranges(outer * strips, (1 << 14) / (size * std::min(inner, COLUMNS)), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t first = i / strips * size * inner + i % strips * COLUMNS;
        strip_(run.input<std::byte>(0) + first * from_, run.output<std::byte>() + first * to_, steps,
               std::min(COLUMNS, inner - i % strips * COLUMNS));
      }
    });
  }

 private:
  std::optional<std::int64_t> axis_;
  bool flat_, exclusive_, reverse_, long_ = false;
  std::vector<std::int64_t> shape_;
  std::int64_t from_, to_;  // bytes of an element
  Strip strip_;
};

template <bool PRODUCT>
Strip strip_of(DType from, DType to) {
  if (from == DType::b1) return to == DType::i64 ? strip<std::uint8_t, std::int64_t, PRODUCT> : nullptr;
  if (from == DType::f32 && to == DType::f64) return strip<float, double, PRODUCT>;
  if (from == DType::i32 && to == DType::i64) return strip<std::int32_t, std::int64_t, PRODUCT>;
  if (from != to) return nullptr;
  return by_number(from, [](auto t) -> Strip { return strip<decltype(t), decltype(t), PRODUCT>; });
}

template <bool PRODUCT>
std::unique_ptr<Kernel> running(const Call& call, std::optional<std::int64_t> axis, bool flat) {
  const Strip strip = strip_of<PRODUCT>(call.in[0].dtype, call.out[0].dtype);
  if (!strip) return nullptr;
  auto kernel = std::make_unique<Running>(call, axis, flat, strip);
  kernel->how = PRODUCT ? "products" : "sums";
  return kernel;
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
