// Reductions along any axes, whatever is reduced to what: a policy says.
//
// Axes are merged to groups that are kept and reduced in turn. When the last group is reduced, runs of contiguous elements give
// one number each; when it is kept, rows are added up column by column. What one result takes is cut into parts that do not
// depend on the number of threads, so that results do not either.
#pragma once

#include <cmath>
#include <limits>

#include "common.h"

namespace gluonnx {

constexpr std::int64_t RUN = 1 << 16;   // a longer run of elements is cut into several
constexpr std::int64_t PART = 1 << 16;  // elements that a part has about

constexpr std::int64_t MOST_BYTES = 16;  // of a total

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

// What becomes of a total. norm: a root, but NaN of two infinities.
enum class Then { nothing, divide, root, norm, log };

class Reduction;

// What is done with elements, and with totals of them, whose types only these functions know. Of columns `parts` gather, and go into
// totals from time to time.
struct Way {
  std::size_t element, total;  // bytes of one
  int rows;                    // that parts may gather
  void (*begin)(void* totals, void* parts, std::int64_t n);
  void (*runs)(const void* x, std::int64_t n, std::int64_t count, void* totals);  // each n elements join the next total
  void (*columns)(const void* x, std::int64_t n, void* parts, void* totals);
  void (*flush)(void* parts, void* totals, std::int64_t n);
  void (*join)(const void* more, void* totals, std::int64_t n);
  void (*finish)(const Reduction&, const void* x, std::int64_t result, const void* totals, std::int64_t n, void* y);
};

class Reduction : public Kernel {
 public:
  Reduction(const Call& call, const std::vector<bool>& reduced, const Way& way, Then then = Then::nothing);

  void run(const Run& run) const override;

  // What totals come to: of the elements x those of the given result and of as many columns, or results, behind it.
  template <class T, class A>
  void finish(const T* x, std::int64_t result, const A* totals, std::int64_t n, T* y) const {
    const auto each = [&](auto number) GX_LAMBDA {
      for (std::int64_t j = 0; j < n; ++j) y[j] = static_cast<T>(number(totals[j], j));
    };
    if (then_ == Then::nothing) return each([](A total, std::int64_t) { return total; });
    if constexpr (std::is_floating_point_v<T>) {
      const A count = static_cast<A>(count_);
      if (then_ == Then::divide) return each([=](A total, std::int64_t) { return total / count; });
      if (then_ == Then::log) return each([](A total, std::int64_t) { return std::log(total); });
      each([=, this](A total, std::int64_t j) {  // of two infinities NaN, as MXNet, which scales by the largest
        const bool none = then_ == Then::norm && std::isinf(total) && infinities(x, result, j) > 1;
        return none ? std::numeric_limits<A>::quiet_NaN() : std::sqrt(total);
      });
    } else {  // towards zero, by a count in the same dtype
      const std::int64_t count = static_cast<T>(count_);
      each([=](A total, std::int64_t) { return count ? static_cast<std::int64_t>(static_cast<T>(total)) / count : 0; });
    }
  }

 private:
  void tasks(const Run& run, std::int64_t begin, std::int64_t end) const;
  void rows(const Run& run, std::int64_t begin, std::int64_t end) const;
  void columns(const std::byte* x, std::int64_t result, std::int64_t from, std::int64_t to, void* totals) const;
  void join_parts(const Run& run) const;

  template <class T>
  __attribute__((cold)) std::int64_t infinities(const T* x, std::int64_t result, std::int64_t column) const {
    std::int64_t found = 0;
    if (!by_columns_) result += column, column = 0;
    for (std::int64_t run = 0; run < runs_; ++run) {
      const T* p = x + first(result) + offset(run) + column;
      for (std::int64_t i = 0; i < (by_columns_ ? 1 : elements(run)); ++i) found += std::isinf(p[i]);
    }
    return found;
  }

  // Where in the output a result is, or its columns begin.
  std::int64_t place(std::int64_t result) const {
    return by_columns_ ? result / pieces_ * length_ + result % pieces_ * width_ : result;
  }
  std::int64_t columns_of(std::int64_t result) const { return std::min(width_, length_ - result % pieces_ * width_); }
  // Where in the input the elements of a result begin, and how far behind that a run, or a row of columns, does.
  std::int64_t first(std::int64_t result) const {
    return by_columns_ ? kept_.offset(result / pieces_) + result % pieces_ * width_ : kept_.offset(result);
  }
  std::int64_t offset(std::int64_t run) const {
    return by_columns_ || pieces_ == 1 ? units_.offset(run) : units_.offset(run / pieces_) + run % pieces_ * width_;
  }
  std::int64_t elements(std::int64_t run) const { return pieces_ == 1 ? width_ : std::min(width_, length_ - run % pieces_ * width_); }

  Way way_;
  Then then_;
  bool by_columns_;              // the last group is kept
  Axes kept_, units_;            // groups before the last, kept and reduced
  std::int64_t length_ = 1;      // of the last group
  std::int64_t width_, pieces_;  // it is cut into pieces of this width
  std::int64_t results_, runs_;  // results, or pieces of columns of them; and what each is made of
  std::int64_t parts_;           // tasks for one result
  std::int64_t count_ = 1;       // elements of a result
};

// Functions of a way that know nothing of elements. Totals has the types of totals (A) and of what columns gather (P), what to begin
// either with, and how to join two totals.
template <class Totals>
struct Gathered {
  using A = typename Totals::A;
  using P = typename Totals::P;

  static void begin(void* totals, void* parts, std::int64_t n) {
    std::fill_n(static_cast<A*>(totals), n, Totals::start);
    if (parts) std::fill_n(static_cast<P*>(parts), n, Totals::part_start);
  }
  static void flush(void* parts, void* totals, std::int64_t n) {
    A* total = static_cast<A*>(totals);
    P* part = static_cast<P*>(parts);
    for (std::int64_t j = 0; j < n; ++j) {
      total[j] = Totals::join(total[j], part[j]);
      part[j] = Totals::part_start;
    }
  }
  __attribute__((cold)) static void join(const void* more, void* totals, std::int64_t n) {
    for (std::int64_t j = 0; j < n; ++j)
      static_cast<A*>(totals)[j] = Totals::join(static_cast<A*>(totals)[j], static_cast<const A*>(more)[j]);
  }
};

// Totals that are added up.
template <class N>
struct Added {
  using A = N;
  using P = N;
  static constexpr N start = 0, part_start = 0;
  static N join(N a, N b) { return a + b; }
};

template <class T, class A>
void finish_numbers(const Reduction& r, const void* x, std::int64_t result, const void* totals, std::int64_t n, void* y) {
  r.finish(static_cast<const T*>(x), result, static_cast<const A*>(totals), n, static_cast<T*>(y));
}

// A policy has Totals and the type of elements (T), the total of a run of contiguous elements, and what columns do with a row; and
// the number that a total comes to, if it is another one than `then` says.
template <class Policy>
struct Done {
  using Totals = typename Policy::Totals;
  using A = typename Totals::A;
  using P = typename Totals::P;
  using T = typename Policy::T;

  static void runs(const void* x, std::int64_t n, std::int64_t count, void* totals) {
    A* total = static_cast<A*>(totals);
    for (std::int64_t i = 0; i < count; ++i) total[i] = Totals::join(total[i], Policy::run(static_cast<const T*>(x) + i * n, n));
  }
  static void columns(const void* x, std::int64_t n, void* parts, void* totals) {
    Policy::columns(static_cast<const T*>(x), n, static_cast<P*>(parts), static_cast<A*>(totals));
  }
  static void finish(const Reduction&, const void*, std::int64_t, const void* totals, std::int64_t n, void* y) {
    for (std::int64_t j = 0; j < n; ++j) static_cast<T*>(y)[j] = Policy::result(static_cast<const A*>(totals)[j]);
  }
};

template <class Policy, class = decltype(&Policy::result)>
constexpr bool has_result(int) {
  return true;
}
template <class Policy>
constexpr bool has_result(...) {
  return false;
}

template <class Policy>
constexpr Way way_of() {
  using Totals = typename Policy::Totals;
  using A = typename Totals::A;
  using G = Gathered<Totals>;
  using D = Done<Policy>;
  static_assert(sizeof(A) <= MOST_BYTES && sizeof(typename Totals::P) <= MOST_BYTES);
  Way way{sizeof(typename Policy::T), sizeof(A), Policy::rows, G::begin, D::runs, D::columns, G::flush, G::join, {}};
  if constexpr (has_result<Policy>(0)) way.finish = D::finish;
  else way.finish = finish_numbers<typename Policy::T, A>;
  return way;
}
template <class Policy>
constexpr Way WAY = way_of<Policy>();

// Which axes go, by the attributes axis and exclude.
std::vector<bool> reduced_axes(const Call& call);

enum class Total { sum, product, largest, smallest };

// A reduction of numbers of any dtype but float32; null where there is none.
std::unique_ptr<Kernel> reduce_numbers(const Call& call, Total total, const std::vector<bool>& reduced, Then then);

// Sums of absolute values, and of squares or the root of these, of the same dtypes.
std::unique_ptr<Kernel> reduce_sizes(const Call& call, const std::vector<bool>& reduced);
std::unique_ptr<Kernel> reduce_squares(const Call& call, const std::vector<bool>& reduced, bool root);

}  // namespace gluonnx
