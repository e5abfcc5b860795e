// nansum: sums that pass NaN over. An infinity makes the sum NaN when a number follows it, as MXNet's compensated summation has it.
#include "reduce.h"

namespace gluonnx {
namespace {

// What is known of a run of numbers.
struct Sum {
  double total = 0;
  bool numbers = false, infinite = false, broken = false;
};

template <class N>
struct Nansum {
  using T = N;
  using A = Sum;
  using P = Sum;
  static constexpr Sum start{}, part_start{};
  static constexpr int rows = 1024;  // so that errors do not grow with n

  // of a, and b behind it
  static Sum join(const Sum& a, const Sum& b) {
    return {a.total + b.total, a.numbers || b.numbers, a.infinite || b.infinite,
            a.broken || b.broken || (a.infinite && b.numbers)};
  }
  static Sum of(N x) { return x != x ? Sum{} : Sum{static_cast<double>(x), true, std::isinf(x), false}; }

  static Sum run(const N* x, std::int64_t n) {
    constexpr std::int64_t BLOCK = 256;
    Sum sum;
    for (std::int64_t first = 0; first < n; first += BLOCK) {
      Sum block;
      for (std::int64_t i = first; i < std::min(n, first + BLOCK); ++i) block = join(block, of(x[i]));
      sum = join(sum, block);
    }
    return sum;
  }
  static void columns(const N* x, std::int64_t width, Sum* part, Sum*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] = join(part[j], of(x[j]));
  }
  static N result(const Sum& sum) {
    return sum.broken ? std::numeric_limits<N>::quiet_NaN() : static_cast<N>(sum.total);
  }
};

}  // namespace

std::unique_ptr<Kernel> bind_nansum(const Call& call) {
  const auto reduced = reduced_axes(call);
  switch (call.in[0].dtype) {
    case DType::f32:
      return std::make_unique<Reduce<Nansum<float>>>(call, reduced, Then::nothing);
    case DType::f64:
      return std::make_unique<Reduce<Nansum<double>>>(call, reduced, Then::nothing);
    default:
      return reduce_numbers(call, Total::sum, reduced, Then::nothing);
  }
}

}  // namespace gluonnx
