// Sums, means, extremes and products of other dtypes than float32. Whole numbers wrap round; of bools a sum is whether any is true.
#include "../../base/numbers.h"
#include "reduce.h"

namespace gluonnx {
namespace {

// Whole numbers are added up and multiplied without sign, which gives the same bits.
template <class N>
using Wrapping = std::conditional_t<std::is_floating_point_v<N>, N, std::conditional_t<sizeof(N) == 8, std::uint64_t, std::uint32_t>>;

template <class N>
struct Factors {
  using A = N;
  using P = N;
  static constexpr N start = 1, part_start = 1;
  static N join(N a, N b) { return a * b; }
};

template <class N, template <class> class TOTALS>
struct Plain {
  using T = N;
  using A = Wrapping<N>;
  using Totals = TOTALS<A>;
  static A join(A a, A b) { return Totals::join(a, b); }

  // By lanes and in blocks, so that errors do not grow with n.
  static A run(const T* x, std::int64_t n) {
    constexpr std::int64_t BLOCK = 1024, WIDE = 64 / sizeof(A);
    A total = Totals::start;
    for (std::int64_t first = 0; first < n; first += BLOCK) {
      const std::int64_t end = std::min(n, first + BLOCK);
      A lanes[WIDE];
      std::fill(lanes, lanes + WIDE, Totals::start);
      std::int64_t i = first;
      for (; i + WIDE <= end; i += WIDE)
        for (std::int64_t j = 0; j < WIDE; ++j) lanes[j] = join(lanes[j], static_cast<A>(x[i + j]));
      for (; i < end; ++i) lanes[0] = join(lanes[0], static_cast<A>(x[i]));
      for (std::int64_t half = WIDE / 2; half; half /= 2)
        for (std::int64_t j = 0; j < half; ++j) lanes[j] = join(lanes[j], lanes[j + half]);
      total = join(total, lanes[0]);
    }
    return total;
  }

  static void columns(const T* __restrict x, std::int64_t width, A* __restrict part, A*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] = join(part[j], static_cast<A>(x[j]));
  }
  static constexpr int rows = 64;
};

template <class N, bool MAX>
struct Most {
  using T = N;
  using Totals = Most;
  using A = N;
  using P = N;
  static constexpr A start = std::is_floating_point_v<N>
                                 ? (MAX ? -std::numeric_limits<N>::infinity() : std::numeric_limits<N>::infinity())
                                 : (MAX ? std::numeric_limits<N>::lowest() : std::numeric_limits<N>::max());
  static constexpr P part_start = start;
  // NaN if either is
  static A join(A a, A b) { return (MAX ? a > b : a < b) || a != a ? a : b; }

  static A run(const T* x, std::int64_t n) {
    constexpr std::int64_t WIDE = 64 / sizeof(N);
    A lanes[WIDE];
    std::fill(lanes, lanes + WIDE, start);
    std::int64_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
      for (std::int64_t j = 0; j < WIDE; ++j) lanes[j] = pick(lanes[j], x[i + j]);
    for (; i < n; ++i) lanes[0] = pick(lanes[0], x[i]);
    A found = start;
    for (A lane : lanes) found = join(found, lane);
    return found;
  }

  static void columns(const T* __restrict x, std::int64_t width, P* __restrict part, A*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] = pick(part[j], x[j]);
  }
  static constexpr int rows = std::numeric_limits<int>::max();

 private:
  // as join, without a branch
  static A pick(A a, A b) { return ((MAX ? a > b : a < b) | (a != a)) ? a : b; }
};

template <class T>
const Way& way_to(Total total) {
  switch (total) {
    case Total::sum:
      return WAY<Plain<T, Added>>;
    case Total::product:
      return WAY<Plain<T, Factors>>;
    case Total::largest:
      return WAY<Most<T, true>>;
    default:
      return WAY<Most<T, false>>;
  }
}

}  // namespace

std::unique_ptr<Kernel> reduce_numbers(const Call& call, Total total, const std::vector<bool>& reduced, Then then) {
  if (call.in[0].dtype == DType::b1) {
    if (then != Then::nothing && then != Then::divide) return nullptr;
    then = Then::nothing;
    if (total == Total::sum) total = Total::largest;
    if (total == Total::product) total = Total::smallest;
    if (!call.in[0].size()) return nullptr;  // where the largest byte is no bool
  }
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (std::is_same_v<T, float>) return nullptr;
    else if (std::is_integral_v<T> && then != Then::nothing && then != Then::divide) return nullptr;
    else return std::make_unique<Reduction>(call, reduced, way_to<T>(total), then);
  });
}

}  // namespace gluonnx
