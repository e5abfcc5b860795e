// nansum: sums that pass NaN over. An infinity makes the sum NaN when a number follows it, as MXNet's compensated summation has it.
#include "reduce.h"

namespace gluonnx {
namespace {

// What is known of a run of numbers.
struct NanSum {
  double total = 0;
  bool numbers = false, infinite = false, broken = false;
};

struct NanSums {
  using A = NanSum;
  using P = NanSum;
  static constexpr NanSum start{}, part_start{};

  // of a, and b behind it
  static NanSum join(const NanSum& a, const NanSum& b) {
    return {a.total + b.total, a.numbers || b.numbers, a.infinite || b.infinite,
            a.broken || b.broken || (a.infinite && b.numbers)};
  }
};

template <class N>
struct Nansum : NanSums {
  using T = N;
  using Totals = NanSums;
  static constexpr int rows = 1024;  // so that errors do not grow with n

  static NanSum of(N x) { return x != x ? NanSum{} : NanSum{static_cast<double>(x), true, std::isinf(x), false}; }

  static NanSum run(const N* x, std::int64_t n) {
    constexpr std::int64_t BLOCK = 256;
    NanSum sum;
    for (std::int64_t first = 0; first < n; first += BLOCK) {
      NanSum block;
      for (std::int64_t i = first; i < std::min(n, first + BLOCK); ++i) block = join(block, of(x[i]));
      sum = join(sum, block);
    }
    return sum;
  }
  static void columns(const N* __restrict x, std::int64_t width, NanSum* __restrict part, NanSum*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] = join(part[j], of(x[j]));
  }
  static N result(const NanSum& sum) {
    return sum.broken ? std::numeric_limits<N>::quiet_NaN() : static_cast<N>(sum.total);
  }
};

// Where there is no infinity.
template <class N>
struct Finite {
  using T = N;
  using Totals = Added<double>;
  static constexpr int rows = 1024;
  static double of(N x) { return x == x ? static_cast<double>(x) : 0; }

  static double run(const N* x, std::int64_t n) {
    constexpr std::int64_t BLOCK = 1024, WIDE = 8;
    double total = 0;
    for (std::int64_t first = 0; first < n; first += BLOCK) {
      const std::int64_t end = std::min(n, first + BLOCK);
      double lanes[WIDE] = {};
      std::int64_t i = first;
      for (; i + WIDE <= end; i += WIDE)
        for (std::int64_t j = 0; j < WIDE; ++j) lanes[j] += of(x[i + j]);
      for (; i < end; ++i) lanes[0] += of(x[i]);
      for (double lane : lanes) total += lane;
    }
    return total;
  }
  static void columns(const N* __restrict x, std::int64_t width, double* __restrict part, double*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] += of(x[j]);
  }
};

template <class N>
class SumOfNumbers : public Kernel {
 public:
  SumOfNumbers(const Call& call, const std::vector<bool>& reduced)
      : size_(call.in[0].size()), exact_(call, reduced, WAY<Nansum<N>>), finite_(call, reduced, WAY<Finite<N>>) {
    scratch = std::max(exact_.scratch, finite_.scratch);
    how = finite_.how;
    flops = finite_.flops;
  }
  void run(const Run& run) const override {
    const N* x = run.input<N>(0);
    bool infinite = false;
    for (std::int64_t i = 0; i < size_; ++i) infinite |= std::fabs(x[i]) > std::numeric_limits<N>::max();
    if (infinite) exact_.run(run);
    else finite_.run(run);
  }

 private:
  std::int64_t size_;
  Reduction exact_, finite_;
};

}  // namespace

std::unique_ptr<Kernel> bind_nansum(const Call& call) {
  const auto reduced = reduced_axes(call);
  switch (call.in[0].dtype) {
    case DType::f32:
      return std::make_unique<SumOfNumbers<float>>(call, reduced);
    case DType::f64:
      return std::make_unique<SumOfNumbers<double>>(call, reduced);
    default:
      return reduce_numbers(call, Total::sum, reduced, Then::nothing);
  }
}

}  // namespace gluonnx
