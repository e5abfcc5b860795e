// Reductions along any axes: sums, means, extremes, products and norms.
//
// Axes are merged to groups that are kept and reduced in turn. When the last group is reduced, runs of contiguous elements give
// one number each; when it is kept, rows are added up column by column. What one result takes is cut into parts that do not
// depend on the number of threads, so that results do not either.
#include <limits>

#include "common.h"

namespace gluonnx {
namespace {

constexpr std::int64_t RUN = 1 << 16;   // a longer run of elements is cut into several
constexpr std::int64_t PART = 1 << 16;  // elements that a part has about

// Indices over some axes, and where in memory each is.
struct Axes {
  std::vector<std::int64_t> sizes, strides;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (auto s : sizes) n *= s;
    return n;
  }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t sum = 0;
    for (std::size_t i = sizes.size(); i-- > 0; index /= sizes[i]) sum += index % sizes[i] * strides[i];
    return sum;
  }
};

GX_INLINE Reg same(Reg v) { return v; }
GX_INLINE Reg square(Reg v) { return v * v; }

// Each policy: what to begin with, how to join two results, a run of contiguous elements, and columns: `part` gathers in
// float32, and goes into `total` and begins anew with flush.

template <Reg (*F)(Reg)>
struct Sum {
  static constexpr double start = 0;
  static constexpr float part_start = 0;
  static double join(double a, double b) { return a + b; }
  static double run(const float* x, std::int64_t n) {
    return wide_sum_over(n, [&](std::int64_t i, auto k) { return F(get(x + i, k)); });
  }
  static void columns(const float* x, std::int64_t width, float* part, double*) {
    each_vector(width, [&](std::int64_t j, auto k) { put(part + j, get(part + j, k) + F(get(x + j, k)), k); });
  }
  static constexpr int rows = 64;  // before part has to be flushed
};

template <bool MAX>
struct Extreme {
  static constexpr double start = MAX ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  static constexpr float part_start = static_cast<float>(start);
  static double join(double a, double b) { return (MAX ? a > b : a < b) || a != a ? a : b; }
  // NaN if either is
  static Reg pick(Reg a, Reg b) { return (MAX ? a > b : a < b) | (a != a) ? a : b; }
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
  static void columns(const float* x, std::int64_t width, float* part, double*) {
    each_vector(width, [&](std::int64_t j, auto k) { put(part + j, pick(get(part + j, k), get(x + j, k)), k); });
  }
  static constexpr int rows = std::numeric_limits<int>::max();
};

// Everything in double precision, where squares and products of float32 neither overflow nor vanish.
template <double (*F)(double, double), bool PRODUCT>
struct Wide {
  static constexpr double start = PRODUCT ? 1 : 0;
  static constexpr float part_start = start;
  static double join(double a, double b) { return PRODUCT ? a * b : a + b; }
  static double run(const float* x, std::int64_t n) {
    double lanes[16];
    std::fill(lanes, lanes + 16, start);
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16)
      for (int j = 0; j < 16; ++j) lanes[j] = F(lanes[j], x[i + j]);
    for (; i < n; ++i) lanes[0] = F(lanes[0], x[i]);
    double found = start;
    for (double lane : lanes) found = join(found, lane);
    return found;
  }
  static void columns(const float* x, std::int64_t width, float*, double* total) {
    for (std::int64_t j = 0; j < width; ++j) total[j] = F(total[j], x[j]);
  }
  static constexpr int rows = std::numeric_limits<int>::max();
};

double add_square(double total, double x) { return total + x * x; }
double add_size(double total, double x) { return total + std::fabs(x); }
double times(double total, double x) { return total * x; }

enum class Then { nothing, divide, root };

template <class Policy>
class Reduce : public Kernel {
 public:
  Reduce(const Call& call, const std::vector<bool>& reduced, Then then) : then_(then) {
    const auto& shape = call.in[0].shape;
    want(call.out[0].dtype == DType::f32 && reduced.size() == shape.size());
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
    if (parts_ > 1) scratch = sizeof(double) * results_ * parts_ * (by_columns_ ? width_ : 1);
    how = by_columns_ ? "columns" : "runs";
    flops = static_cast<double>(call.in[0].size());
  }

  void run(const Run& run) const override {
    const float* x = run.input<float>(0);
    float* y = run.output<float>();
    double* partial = reinterpret_cast<double*>(run.scratch);
    const double cost = 0.15 * static_cast<double>(runs_ * width_ / parts_) + 30;
    run.ranges(results_ * parts_, static_cast<std::int64_t>(20e3 / cost) + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t result = i / parts_, part = i % parts_;
        const std::int64_t from = runs_ * part / parts_, to = runs_ * (part + 1) / parts_;
        if (by_columns_) columns(x, result, from, to, y, parts_ > 1 ? partial + i * width_ : nullptr);
        else if (parts_ > 1) partial[i] = element(x, result, from, to);
        else y[result] = finish(x, result, 0, element(x, result, from, to));
      }
    });
    if (parts_ == 1) return;
    for (std::int64_t result = 0; result < results_; ++result)
      for (std::int64_t j = 0; j < (by_columns_ ? columns_of(result) : 1); ++j) {
        double total = Policy::start;
        for (std::int64_t part = 0; part < parts_; ++part)
          total = Policy::join(total, partial[(result * parts_ + part) * (by_columns_ ? width_ : 1) + j]);
        y[place(result) + j] = finish(x, result, j, total);
      }
  }

 private:
  // Where in the output a result is, or its columns begin.
  std::int64_t place(std::int64_t result) const {
    return by_columns_ ? result / pieces_ * length_ + result % pieces_ * width_ : result;
  }
  std::int64_t columns_of(std::int64_t result) const { return std::min(width_, length_ - result % pieces_ * width_); }
  // Where in the input a run, or a row of columns, is.
  std::int64_t offset(std::int64_t result, std::int64_t run) const {
    if (by_columns_) return kept_.offset(result / pieces_) + result % pieces_ * width_ + units_.offset(run);
    return kept_.offset(result) + units_.offset(run / pieces_) + run % pieces_ * width_;
  }
  std::int64_t elements(std::int64_t run) const { return std::min(width_, length_ - run % pieces_ * width_); }

  double element(const float* x, std::int64_t result, std::int64_t from, std::int64_t to) const {
    double total = Policy::start;
    for (std::int64_t run = from; run < to; ++run)
      total = Policy::join(total, Policy::run(x + offset(result, run), elements(run)));
    return total;
  }

  void columns(const float* x, std::int64_t result, std::int64_t from, std::int64_t to, float* y, double* partial) const {
    alignas(64) float part[COLUMNS];
    double sums[COLUMNS];
    double* total = partial ? partial : sums;
    const std::int64_t width = columns_of(result);
    std::fill(part, part + width, Policy::part_start);
    std::fill(total, total + width, Policy::start);
    int rows = 0;
    for (std::int64_t run = from; run < to; ++run) {
      Policy::columns(x + offset(result, run), width, part, total);
      if (++rows < Policy::rows && run + 1 < to) continue;
      rows = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        total[j] = Policy::join(total[j], part[j]);
        part[j] = Policy::part_start;
      }
    }
    if (partial) return;
    for (std::int64_t j = 0; j < width; ++j) y[place(result) + j] = finish(x, result, j, total[j]);
  }

  float finish(const float* x, std::int64_t result, std::int64_t column, double total) const {
    if (then_ == Then::divide) total /= static_cast<double>(count_);
    if (then_ == Then::root)
      total = std::isinf(total) && infinities(x, result, column) > 1
                  ? std::numeric_limits<double>::quiet_NaN()  // as MXNet, which scales by the largest
                  : std::sqrt(total);
    return static_cast<float>(total);
  }

  std::int64_t infinities(const float* x, std::int64_t result, std::int64_t column) const {
    std::int64_t found = 0;
    for (std::int64_t run = 0; run < runs_; ++run) {
      const float* p = x + offset(result, run) + column;
      for (std::int64_t i = 0; i < (by_columns_ ? 1 : elements(run)); ++i) found += std::isinf(p[i]);
    }
    return found;
  }

  Then then_;
  bool by_columns_;              // the last group is kept
  Axes kept_, units_;            // groups before the last, kept and reduced
  std::int64_t length_ = 1;      // of the last group
  std::int64_t width_, pieces_;  // it is cut into pieces of this width
  std::int64_t results_, runs_;  // results, or pieces of columns of them; and what each is made of
  std::int64_t parts_;           // tasks for one result
  std::int64_t count_ = 1;       // elements of a result
};

// Which axes go.
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

template <class Policy>
std::unique_ptr<Kernel> bind_reduction(const Call& call, Then then = Then::nothing) {
  const Attrs& attrs = call.attrs;
  if (attrs.text("dtype", "float32") != "float32" || attrs.has("initial")) return nullptr;
  attrs.ignore("initial");
  return std::make_unique<Reduce<Policy>>(call, reduced_axes(call), then);
}

}  // namespace

std::unique_ptr<Kernel> bind_sum(const Call& call) { return bind_reduction<Sum<same>>(call); }
std::unique_ptr<Kernel> bind_mean(const Call& call) { return bind_reduction<Sum<same>>(call, Then::divide); }
std::unique_ptr<Kernel> bind_square_sum(const Call& call) { return bind_reduction<Sum<square>>(call); }
// To the operators of mx.np an axis of () is none of the axes, and what comes of nothing is not what comes of it elsewhere.
template <Bind bind>
std::unique_ptr<Kernel> bind_np(const Call& call) {
  const bool none = call.attrs.has("axis") && call.attrs.ints("axis").empty();
  return none || call.in[0].size() == 0 ? nullptr : bind(call);
}
std::unique_ptr<Kernel> bind_np_sum(const Call& call) { return bind_np<bind_sum>(call); }
std::unique_ptr<Kernel> bind_np_mean(const Call& call) { return bind_np<bind_mean>(call); }
std::unique_ptr<Kernel> bind_max(const Call& call) { return bind_reduction<Extreme<true>>(call); }
std::unique_ptr<Kernel> bind_min(const Call& call) { return bind_reduction<Extreme<false>>(call); }
std::unique_ptr<Kernel> bind_prod(const Call& call) { return bind_reduction<Wide<times, true>>(call); }
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
  return std::make_unique<Reduce<Sum<same>>>(call, reduced, Then::nothing);
}

std::unique_ptr<Kernel> bind_norm(const Call& call) {
  if (call.attrs.text("out_dtype", "float32") != "float32") return nullptr;
  if (call.attrs.integer("ord") == 1) return bind_reduction<Wide<add_size, false>>(call);
  return bind_reduction<Wide<add_square, false>>(call, Then::root);
}

}  // namespace gluonnx
