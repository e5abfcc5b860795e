// Sums of sizes and of squares, in other dtypes than float32. Whole numbers wrap round; a root of their squares is cut off.
#include "../../base/numbers.h"
#include "reduce.h"

namespace gluonnx {
namespace {

enum class Power { size, square, root };

template <class N, Power POWER>
struct Powers {
  using T = N;
  using A = std::conditional_t<std::is_floating_point_v<N> || POWER == Power::root, double, std::uint64_t>;
  using Totals = Added<A>;
  static constexpr int rows = 1024;  // so that errors do not grow with n

  static A of(N x) {
    if constexpr (POWER != Power::size) return static_cast<A>(x) * static_cast<A>(x);
    else if constexpr (std::is_floating_point_v<N>) return std::fabs(x);
    else return x < 0 ? A{0} - static_cast<A>(x) : static_cast<A>(x);
  }
  static A run(const N* x, std::int64_t n) {
    constexpr std::int64_t BLOCK = 1024, WIDE = 8;
    A total = 0;
    for (std::int64_t first = 0; first < n; first += BLOCK) {
      const std::int64_t end = std::min(n, first + BLOCK);
      A lanes[WIDE] = {};
      std::int64_t i = first;
      for (; i + WIDE <= end; i += WIDE)
        for (std::int64_t j = 0; j < WIDE; ++j) lanes[j] += of(x[i + j]);
      for (; i < end; ++i) lanes[0] += of(x[i]);
      for (A lane : lanes) total += lane;
    }
    return total;
  }
  static void columns(const N* __restrict x, std::int64_t width, A* __restrict part, A*) {
    for (std::int64_t j = 0; j < width; ++j) part[j] += of(x[j]);
  }
  static N result(A total) {
    if constexpr (POWER == Power::root) return static_cast<N>(std::sqrt(total));
    else return static_cast<N>(total);
  }
};

template <Power POWER>
std::unique_ptr<Kernel> reduce_powers(const Call& call, const std::vector<bool>& reduced) {
  if (call.in[0].dtype == DType::b1) return nullptr;
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    if constexpr (std::is_same_v<decltype(t), float>) return nullptr;
    else return std::make_unique<Reduction>(call, reduced, WAY<Powers<decltype(t), POWER>>);
  });
}

}  // namespace

std::unique_ptr<Kernel> reduce_sizes(const Call& call, const std::vector<bool>& reduced) {
  return reduce_powers<Power::size>(call, reduced);
}
std::unique_ptr<Kernel> reduce_squares(const Call& call, const std::vector<bool>& reduced, bool root) {
  return root ? reduce_powers<Power::root>(call, reduced) : reduce_powers<Power::square>(call, reduced);
}

}  // namespace gluonnx
