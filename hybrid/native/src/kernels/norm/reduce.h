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

// What a reduction is to all dtypes: which runs of elements, or columns, each result is made of.
class Reduction : public Kernel {
 public:
  void run(const Run& run) const override;

 protected:
  // total: bytes of one
  Reduction(const Call& call, const std::vector<bool>& reduced, Then then, std::size_t total);

  // Tasks [begin, end), one for each part of each result; and results of the parts of each, where there are several.
  virtual void tasks(const Run& run, std::int64_t begin, std::int64_t end) const = 0;
  virtual void join_parts(const Run& run) const = 0;

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

  Then then_;
  bool by_columns_;              // the last group is kept
  Axes kept_, units_;            // groups before the last, kept and reduced
  std::int64_t length_ = 1;      // of the last group
  std::int64_t width_, pieces_;  // it is cut into pieces of this width
  std::int64_t results_, runs_;  // results, or pieces of columns of them; and what each is made of
  std::int64_t parts_;           // tasks for one result
  std::int64_t count_ = 1;       // elements of a result
};

// A policy has the types of elements (T), of totals (A) and of what columns gather (P); what to begin with, how to join two totals,
// the total of a run of contiguous elements, and columns: `part` gathers, and goes into `total` and begins anew with flush.
template <class Policy>
class Reduce : public Reduction {
  using T = typename Policy::T;
  using A = typename Policy::A;
  using P = typename Policy::P;

 public:
  Reduce(const Call& call, const std::vector<bool>& reduced, Then then) : Reduction(call, reduced, then, sizeof(A)) {}

 protected:
  void tasks(const Run& run, std::int64_t begin, std::int64_t end) const override {
    const T* x = run.input<T>(0);
    T* y = run.output<T>();
    A* partial = reinterpret_cast<A*>(run.scratch);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t result = i / parts_, part = i % parts_;
      const std::int64_t from = runs_ * part / parts_, to = runs_ * (part + 1) / parts_;
      if (by_columns_) {
        columns(x, result, from, to, y, parts_ > 1 ? partial + i * width_ : nullptr);
        continue;
      }
      const A total = element(x, result, from, to);
      if (parts_ > 1) partial[i] = total;
      else y[result] = finish(x, result, 0, total);
    }
  }

  // a hundredth of the work at most, and in each of fifty reductions: made small
  __attribute__((cold)) void join_parts(const Run& run) const override {
    const T* x = run.input<T>(0);
    T* y = run.output<T>();
    const A* partial = reinterpret_cast<const A*>(run.scratch);
    for (std::int64_t result = 0; result < results_; ++result)
      for (std::int64_t j = 0; j < (by_columns_ ? columns_of(result) : 1); ++j) {
        A total = Policy::start;
        for (std::int64_t part = 0; part < parts_; ++part)
          total = Policy::join(total, partial[(result * parts_ + part) * (by_columns_ ? width_ : 1) + j]);
        y[place(result) + j] = finish(x, result, j, total);
      }
  }

 private:
  A element(const T* x, std::int64_t result, std::int64_t from, std::int64_t to) const {
    A total = Policy::start;
    for (std::int64_t run = from; run < to; ++run)
      total = Policy::join(total, Policy::run(x + offset(result, run), elements(run)));
    return total;
  }

  void columns(const T* x, std::int64_t result, std::int64_t from, std::int64_t to, T* y, A* partial) const {
    alignas(64) P part[COLUMNS];
    A sums[COLUMNS];
    A* total = partial ? partial : sums;
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

  T finish(const T* x, std::int64_t result, std::int64_t column, A total) const {
    if constexpr (requires { Policy::result(total); }) {
      return Policy::result(total);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (then_ == Then::divide) total /= static_cast<A>(count_);
      if (then_ == Then::log) total = std::log(total);
      if (then_ == Then::root) total = std::sqrt(total);
      if (then_ == Then::norm)
        total = std::isinf(total) && infinities(x, result, column) > 1
                    ? std::numeric_limits<A>::quiet_NaN()  // as MXNet, which scales by the largest
                    : std::sqrt(total);
    } else if (then_ == Then::divide) {  // towards zero, by a count in the same dtype
      const std::int64_t count = static_cast<T>(count_);
      return count ? static_cast<T>(static_cast<std::int64_t>(static_cast<T>(total)) / count) : T{0};
    }
    if constexpr (!requires { Policy::result(total); }) return static_cast<T>(total);
  }

  std::int64_t infinities(const T* x, std::int64_t result, std::int64_t column) const {
    std::int64_t found = 0;
    for (std::int64_t run = 0; run < runs_; ++run) {
      const T* p = x + offset(result, run) + column;
      for (std::int64_t i = 0; i < (by_columns_ ? 1 : elements(run)); ++i) found += std::isinf(p[i]);
    }
    return found;
  }
};

// Which axes go, by the attributes axis and exclude.
std::vector<bool> reduced_axes(const Call& call);

enum class Total { sum, product, largest, smallest };

// A reduction of numbers of any dtype but float32; null where there is none.
std::unique_ptr<Kernel> reduce_numbers(const Call& call, Total total, const std::vector<bool>& reduced, Then then);

// Sums of absolute values, and of squares or the root of these, of the same dtypes.
std::unique_ptr<Kernel> reduce_sizes(const Call& call, const std::vector<bool>& reduced);
std::unique_ptr<Kernel> reduce_squares(const Call& call, const std::vector<bool>& reduced, bool root);

}  // namespace gluonnx
