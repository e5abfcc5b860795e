// Sums, means, extremes, products and norms of float32, and how operators of all dtypes say what they reduce.
#include "reduce.h"

#include <functional>

namespace gluonnx {
namespace {

GX_INLINE Reg same(Reg v) { return v; }
GX_INLINE Reg square(Reg v) { return v * v; }

struct Summed {
  using A = double;
  using P = float;
  static constexpr double start = 0;
  static constexpr float part_start = 0;
  static double join(double a, double b) { return a + b; }
};

template <Reg (*F)(Reg)>
struct Sum {
  using T = float;
  using Totals = Summed;
  static double run(const float* x, std::int64_t n) {
    return wide_sum_over(n, [&](std::int64_t i, auto k) { return F(get(x + i, k)); });
  }
  static void columns(const float* __restrict x, std::int64_t width, float* __restrict part, double*) {
    each_vector(width, [&](std::int64_t j, auto k) { put(part + j, get(part + j, k) + F(get(x + j, k)), k); });
  }
  static constexpr int rows = 64;  // before part has to be flushed
};

template <bool MAX>
struct Extreme {
  using T = float;
  using Totals = Extreme;
  using A = double;
  using P = float;
  static constexpr double start = MAX ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  static constexpr float part_start = static_cast<float>(start);
  static double join(double a, double b) { return (MAX ? a > b : a < b) || a != a ? a : b; }
  // NaN if either is
  static Reg pick(Reg a, Reg b) { return ((MAX ? a > b : a < b) | (a != a)) ? a : b; }
  static double run(const float* x, std::int64_t n) {
    Reg a = splat_reg(part_start), b = a;
    std::int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
      a = pick(a, get(x + i));
      b = pick(b, get(x + i + LANES));
    }
    each_vector(n - i, [&](std::int64_t j, auto k) { a = pick(a, first(get(x + i + j, k), k, part_start)); });
    a = pick(a, b);
    double found = start;
    for (int lane = 0; lane < LANES; ++lane) found = join(found, a[lane]);
    return found;
  }
  static void columns(const float* __restrict x, std::int64_t width, float* __restrict part, double*) {
    each_vector(width, [&](std::int64_t j, auto k) { put(part + j, pick(get(part + j, k), get(x + j, k)), k); });
  }
  static constexpr int rows = std::numeric_limits<int>::max();
};

// Everything in double precision, where squares and products of float32 neither overflow nor vanish.
struct Multiplied {
  using A = double;
  using P = float;
  static constexpr double start = 1;
  static constexpr float part_start = 1;
  static double join(double a, double b) { return a * b; }
};

template <double (*F)(double, double), class TOTALS>
struct Wide {
  using T = float;
  using Totals = TOTALS;
  static double run(const float* x, std::int64_t n) {
    double lanes[16];
    std::fill(lanes, lanes + 16, Totals::start);
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      for (int j = 0; j < 16; ++j) lanes[j] = F(lanes[j], x[i + j]);
    for (; i < n; ++i) lanes[0] = F(lanes[0], x[i]);
    double found = Totals::start;
    for (double lane : lanes) found = Totals::join(found, lane);
    return found;
  }
  static void columns(const float* x, std::int64_t width, float*, double* total) {
    for (std::int64_t j = 0; j < width; ++j) total[j] = F(total[j], x[j]);
  }
  static constexpr int rows = std::numeric_limits<int>::max();
};

double add_square(double total, double x) { return total + x * x; }
double add_size(double total, double x) { return total + std::fabs(x); }
double multiplied(double total, double x) { return total * x; }

std::unique_ptr<Kernel> reduce(const Call& call, const Way& way, const std::vector<bool>& reduced, Then then = Then::nothing) {
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<Reduction>(call, reduced, way, then);
}

std::unique_ptr<Kernel> reduce(const Call& call, Total total, const std::vector<bool>& reduced, Then then = Then::nothing) {
  if (call.in[0].dtype != DType::f32) return reduce_numbers(call, total, reduced, then);
  switch (total) {
    case Total::sum:
      return reduce(call, WAY<Sum<same>>, reduced, then);
    case Total::product:
      return reduce(call, WAY<Wide<multiplied, Multiplied>>, reduced, then);
    case Total::largest:
      return reduce(call, WAY<Extreme<true>>, reduced, then);
    default:
      return reduce(call, WAY<Extreme<false>>, reduced, then);
  }
}

// That the results are of the dtype that is reduced, from the elements alone.
bool is_plain(const Attrs& attrs) {
  const bool plain = attrs.text("dtype", "float32") == "float32" && !attrs.has("initial");
  attrs.ignore("initial");
  return plain;
}

// The logarithm of a sum of exponentials, each of which is taken of a number less the largest before it, where that is finite.
struct LogSumExp {
  using T = float;
  using Totals = LogSumExp;
  using P = float;
  struct A {
    double shift, sum;
  };
  static constexpr A start = {0, 0};
  static constexpr P part_start = 0;
  static A join(A a, A b) {
    if (a.sum == 0 || (std::isinf(b.sum) && a.sum == a.sum)) return b;
    if (b.sum == 0 || (std::isinf(a.sum) && b.sum == b.sum)) return a;
    const double shift = std::max(a.shift, b.shift);
    return {shift, a.sum * std::exp(a.shift - shift) + b.sum * std::exp(b.shift - shift)};
  }
  static A join(A a, P) { return a; }
  static A run(const float* x, std::int64_t n) {
    const double most = Extreme<true>::run(x, n);
    const float shift = std::isfinite(most) ? static_cast<float>(most) : 0;
    return {shift, wide_sum_over(n, [&](std::int64_t i, auto k) { return exp(get(x + i, k) - shift); })};
  }
  static void columns(const float* x, std::int64_t width, P*, A* total) {
    for (std::int64_t j = 0; j < width; ++j) {
      const double shift = std::isfinite(x[j]) ? x[j] : 0;
      total[j] = join(total[j], A{shift, std::exp(x[j] - shift)});
    }
  }
  static constexpr int rows = std::numeric_limits<int>::max();
  static float result(A total) { return static_cast<float>(std::log(total.sum) + total.shift); }
};

// ONNX's, whose axes are all, or none, or come with a run: those that fit the result are known.
class ByAxes : public Kernel {
 public:
  using Make = std::function<std::unique_ptr<Kernel>(const std::vector<bool>&)>;

  ByAxes(const Call& call, bool none_is_all, const Make& make) : none_is_all_(none_is_all) {
    const auto &shape = call.in[0].shape, &left = call.out[0].shape;
    rank_ = call.in[0].rank();
    want(rank_ <= MOST && call.in[1].dtype == DType::i64);
    count_ = call.in[1].size();
    for (std::int64_t a = 0; a < rank_; ++a) ones_ |= static_cast<unsigned>(shape[a] == 1) << a;
    for (unsigned axes = 0; axes < 1u << rank_; ++axes) {
      if (axes & ones_) continue;  // of which it makes no difference whether they go
      std::vector<std::int64_t> kept, rest;
      std::vector<bool> reduced(rank_);
      for (std::int64_t a = 0; a < rank_; ++a) {
        reduced[a] = axes >> a & 1;
        if (!reduced[a] && shape[a] != 1) kept.push_back(shape[a]);
      }
      for (std::int64_t size : left)
        if (size != 1) rest.push_back(size);
      if (kept != rest) continue;
      std::unique_ptr<Kernel> kernel = make(reduced);
      want(kernel != nullptr);
      scratch = std::max(scratch, kernel->scratch);
      kernels_.push_back({axes, std::move(kernel)});
    }
    want(!kernels_.empty());
    sure = false;
    how = kernels_[0].second->how;
    flops = kernels_[0].second->flops;
  }

  void run(const Run& run) const override {
    const auto* axes = run.input<std::int64_t>(1);
    unsigned wanted = count_ || !none_is_all_ ? 0 : (1u << rank_) - 1;
    for (std::int64_t i = 0; i < count_; ++i) {
      want_value(axes[i] >= -rank_ && axes[i] < rank_);
      wanted |= 1u << (axes[i] < 0 ? axes[i] + rank_ : axes[i]);
    }
    for (const auto& [reduced, kernel] : kernels_)
      if (reduced == (wanted & ~ones_)) return kernel->run(run);
    want_value(false);
  }

 private:
  static constexpr std::int64_t MOST = 8;

  bool none_is_all_;
  std::int64_t rank_, count_;
  unsigned ones_ = 0;
  std::vector<std::pair<unsigned, std::unique_ptr<Kernel>>> kernels_;
};

std::unique_ptr<Kernel> by_axes(const Call& call, const ByAxes::Make& make) {
  call.attrs.ignore("given", "keepdims");
  const bool none_is_all = !call.attrs.flag("noop_with_empty_axes");
  if (!call.in[0].size() || !call.out[0].size()) return nullptr;  // of nothing there are other results
  if (call.in.size() == 1) return make(std::vector<bool>(call.in[0].shape.size(), none_is_all));
  return std::make_unique<ByAxes>(call, none_is_all, make);
}

std::unique_ptr<Kernel> by_axes(const Call& call, Total total, Then then = Then::nothing) {
  return by_axes(call, [&](const std::vector<bool>& reduced) { return reduce(call, total, reduced, then); });
}

}  // namespace

Reduction::Reduction(const Call& call, const std::vector<bool>& reduced, const Way& way, Then then) : way_(way), then_(then) {
  const auto& shape = call.in[0].shape;
  want(call.out[0].dtype == call.in[0].dtype && reduced.size() == shape.size());
  // (size, stride, reduced) of groups of axes
  struct Group {
    std::int64_t size, stride;
    bool reduced;
  };
  std::vector<Group> groups;
  std::int64_t stride = 1, kept = 1;
  for (std::size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
    (reduced[i] ? count_ : kept) *= shape[i];
    if (shape[i] == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[i]) groups.back().size *= shape[i];
    else groups.push_back({shape[i], stride, reduced[i]});
  }
  want_size(call.out[0], kept);
  by_columns_ = !groups.empty() && !groups[0].reduced;
  if (!groups.empty()) length_ = groups[0].size;
  for (std::size_t i = groups.size(); i-- > 1;) {
    Axes& axes = groups[i].reduced ? units_ : kept_;
    axes.sizes.push_back(groups[i].size);
    axes.strides.push_back(groups[i].stride);
  }
  width_ = by_columns_ ? std::min(length_, COLUMNS) : std::min(length_, RUN);
  pieces_ = width_ ? (length_ + width_ - 1) / width_ : by_columns_ ? 0 : 1;
  results_ = kept_.count() * (by_columns_ ? pieces_ : 1);
  runs_ = units_.count() * (by_columns_ ? 1 : pieces_);
  parts_ = std::max<std::int64_t>(1, std::min(runs_, runs_ * width_ / PART));
  if (parts_ > 1) scratch = way.total * results_ * parts_ * (by_columns_ ? width_ : 1);
  how = by_columns_ ? "columns" : "runs";
  flops = static_cast<double>(call.in[0].size());
}

void Reduction::run(const Run& run) const {
  const double cost = 0.15 * static_cast<double>(runs_ * width_ / parts_) + 30;
  run.ranges(results_ * parts_, static_cast<std::int64_t>(20e3 / cost) + 1,
             [&](std::int64_t begin, std::int64_t end, int) { runs_ == 1 && !by_columns_ ? rows(run, begin, end) : tasks(run, begin, end); });
  if (parts_ > 1) join_parts(run);
}

// Results [begin, end), each made of the next elements.
void Reduction::rows(const Run& run, std::int64_t begin, std::int64_t end) const {
  const std::byte* x = run.input<std::byte>(0);
  std::byte* y = run.output<std::byte>();
  const auto size = static_cast<std::int64_t>(way_.element);
  alignas(64) std::byte totals[COLUMNS * MOST_BYTES];
  for (std::int64_t i = begin; i < end; i += COLUMNS) {
    const std::int64_t count = std::min(COLUMNS, end - i);
    way_.begin(totals, nullptr, count);
    way_.runs(x + i * width_ * size, width_, count, totals);
    way_.finish(*this, x, i, totals, count, y + i * size);
  }
}

// Tasks [begin, end), one for each part of each result.
void Reduction::tasks(const Run& run, std::int64_t begin, std::int64_t end) const {
  const std::byte* x = run.input<std::byte>(0);
  std::byte* y = run.output<std::byte>();
  alignas(64) std::byte sums[COLUMNS * MOST_BYTES];
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t result = i / parts_, part = i % parts_;
    const std::int64_t from = runs_ * part / parts_, to = runs_ * (part + 1) / parts_, n = by_columns_ ? columns_of(result) : 1;
    std::byte* totals = sums;
    if (parts_ > 1) totals = run.scratch + i * (by_columns_ ? width_ : 1) * static_cast<std::int64_t>(way_.total);
    if (by_columns_) {
      columns(x, result, from, to, totals);
    } else {
      const std::byte* elements_of_result = x + first(result) * static_cast<std::int64_t>(way_.element);
      way_.begin(totals, nullptr, 1);
      for (std::int64_t r = from; r < to; ++r)
        way_.runs(elements_of_result + offset(r) * static_cast<std::int64_t>(way_.element), elements(r), 1, totals);
    }
    if (parts_ == 1) way_.finish(*this, x, result, totals, n, y + place(result) * static_cast<std::int64_t>(way_.element));
  }
}

void Reduction::columns(const std::byte* x, std::int64_t result, std::int64_t from, std::int64_t to, void* totals) const {
  alignas(64) std::byte parts[COLUMNS * MOST_BYTES];
  const std::int64_t width = columns_of(result);
  way_.begin(totals, parts, width);
  x += first(result) * static_cast<std::int64_t>(way_.element);
  int rows = 0;
  for (std::int64_t run = from; run < to; ++run) {
    way_.columns(x + offset(run) * static_cast<std::int64_t>(way_.element), width, parts, totals);
    if (++rows < way_.rows && run + 1 < to) continue;
    rows = 0;
    way_.flush(parts, totals, width);
  }
}

// Results of the parts of each.
void Reduction::join_parts(const Run& run) const {
  const std::byte* x = run.input<std::byte>(0);
  std::byte* y = run.output<std::byte>();
  alignas(64) std::byte totals[COLUMNS * MOST_BYTES];
  const std::int64_t size = (by_columns_ ? width_ : 1) * static_cast<std::int64_t>(way_.total);
  for (std::int64_t result = 0; result < results_; ++result) {
    const std::int64_t n = by_columns_ ? columns_of(result) : 1;
    way_.begin(totals, nullptr, n);
    for (std::int64_t part = 0; part < parts_; ++part) way_.join(run.scratch + (result * parts_ + part) * size, totals, n);
    way_.finish(*this, x, result, totals, n, y + place(result) * static_cast<std::int64_t>(way_.element));
  }
}

std::vector<bool> reduced_axes(const Call& call) {
  const Attrs& attrs = call.attrs;
  const std::size_t rank = call.in[0].shape.size();
  attrs.ignore("keepdims");
  const bool exclude = attrs.integer("exclude", 0);
  const auto axes = attrs.ints("axis", {});
  if (axes.empty()) return std::vector<bool>(rank, true);
  std::vector<bool> reduced(rank, exclude);
  for (auto a : axes) reduced[axis_in(a, static_cast<std::int64_t>(rank))] = !exclude;
  return reduced;
}

std::unique_ptr<Kernel> bind_sum(const Call& call) {
  return is_plain(call.attrs) ? reduce(call, Total::sum, reduced_axes(call)) : nullptr;
}
std::unique_ptr<Kernel> bind_mean(const Call& call) {
  return is_plain(call.attrs) ? reduce(call, Total::sum, reduced_axes(call), Then::divide) : nullptr;
}
std::unique_ptr<Kernel> bind_max(const Call& call) {
  return is_plain(call.attrs) ? reduce(call, Total::largest, reduced_axes(call)) : nullptr;
}
std::unique_ptr<Kernel> bind_min(const Call& call) {
  return is_plain(call.attrs) ? reduce(call, Total::smallest, reduced_axes(call)) : nullptr;
}
std::unique_ptr<Kernel> bind_prod(const Call& call) {
  return is_plain(call.attrs) ? reduce(call, Total::product, reduced_axes(call)) : nullptr;
}
std::unique_ptr<Kernel> bind_square_sum(const Call& call) { return reduce(call, WAY<Sum<square>>, reduced_axes(call)); }
// To the operators of mx.np an axis of () is none of the axes, and what comes of nothing is not what comes of it elsewhere.
template <Bind bind>
std::unique_ptr<Kernel> bind_np(const Call& call) {
  const bool none = call.attrs.has("axis") && call.attrs.ints("axis").empty();
  return none || call.in[0].size() == 0 ? nullptr : bind(call);
}
std::unique_ptr<Kernel> bind_np_sum(const Call& call) { return bind_np<bind_sum>(call); }
std::unique_ptr<Kernel> bind_np_mean(const Call& call) { return bind_np<bind_mean>(call); }
std::unique_ptr<Kernel> bind_np_max(const Call& call) { return bind_np<bind_max>(call); }
std::unique_ptr<Kernel> bind_np_min(const Call& call) { return bind_np<bind_min>(call); }
std::unique_ptr<Kernel> bind_np_prod(const Call& call) { return bind_np<bind_prod>(call); }

// down to what the second input broadcasts from
std::unique_ptr<Kernel> bind_sum_like(const Call& call) {
  const auto &shape = call.in[0].shape, &like = call.in[1].shape;
  std::vector<bool> reduced(shape.size(), true);
  want(like.size() <= shape.size());
  for (std::size_t i = 1; i <= like.size(); ++i) {
    const std::int64_t to = like[like.size() - i], from = shape[shape.size() - i];
    want(to == 1 || to == from);
    reduced[shape.size() - i] = to != from;
  }
  return reduce(call, Total::sum, reduced);
}

std::unique_ptr<Kernel> bind_norm(const Call& call) {
  if (call.attrs.text("out_dtype", "float32") != "float32") return nullptr;
  if (call.attrs.integer("ord") == 1) return reduce(call, WAY<Wide<add_size, Summed>>, reduced_axes(call));
  return reduce(call, WAY<Wide<add_square, Summed>>, reduced_axes(call), Then::norm);
}

std::unique_ptr<Kernel> bind_onnx_sum(const Call& call) { return by_axes(call, Total::sum); }
std::unique_ptr<Kernel> bind_onnx_mean(const Call& call) { return by_axes(call, Total::sum, Then::divide); }
std::unique_ptr<Kernel> bind_onnx_max(const Call& call) { return by_axes(call, Total::largest); }
std::unique_ptr<Kernel> bind_onnx_min(const Call& call) { return by_axes(call, Total::smallest); }
std::unique_ptr<Kernel> bind_onnx_prod(const Call& call) { return by_axes(call, Total::product); }
std::unique_ptr<Kernel> bind_onnx_log_sum(const Call& call) { return by_axes(call, Total::sum, Then::log); }
std::unique_ptr<Kernel> bind_onnx_l1(const Call& call) {
  if (call.in[0].dtype != DType::f32) return by_axes(call, [&](const auto& reduced) { return reduce_sizes(call, reduced); });
  return by_axes(call, [&](const auto& reduced) { return reduce(call, WAY<Wide<add_size, Summed>>, reduced); });
}
std::unique_ptr<Kernel> bind_onnx_l2(const Call& call) {
  if (call.in[0].dtype != DType::f32)
    return by_axes(call, [&](const auto& reduced) { return reduce_squares(call, reduced, true); });
  return by_axes(call, [&](const auto& reduced) { return reduce(call, WAY<Wide<add_square, Summed>>, reduced, Then::root); });
}
std::unique_ptr<Kernel> bind_onnx_log_sum_exp(const Call& call) {
  return by_axes(call, [&](const auto& reduced) { return reduce(call, WAY<LogSumExp>, reduced); });
}
std::unique_ptr<Kernel> bind_onnx_sum_square(const Call& call) {
  if (call.in[0].dtype != DType::f32)
    return by_axes(call, [&](const auto& reduced) { return reduce_squares(call, reduced, false); });
  return by_axes(call, [&](const auto& reduced) { return reduce(call, WAY<Sum<square>>, reduced); });
}

}  // namespace gluonnx
