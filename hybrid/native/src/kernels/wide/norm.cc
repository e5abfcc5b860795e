#include "norm.h"

#include "../../base/math64.h"

namespace gluonnx::wide {
namespace {

// What is worth another thread, of rows that cost so much each.
std::int64_t rows_for(double nanoseconds) { return static_cast<std::int64_t>(20e3 / nanoseconds) + 1; }

double largest_of(RegD v) {
  double top = v[0];
  for (int i = 1; i < LANES64; ++i) top = v[i] > top ? v[i] : top;
  return top;
}
double sum_of(RegD v) {
  double total = 0;
  for (int i = 0; i < LANES64; ++i) total += v[i];
  return total;
}

// f(i, n) for the vectors of an array of `count`: n numbers from i on
template <class F>
GX_INLINE void each_of(std::int64_t count, F f) {
  std::int64_t i = 0;
  for (; i + LANES64 <= count; i += LANES64) f(i, std::integral_constant<std::int64_t, LANES64>{});
  if (i < count) f(i, count - i);
}
template <std::int64_t N>
GX_INLINE RegD some(const double* p, std::integral_constant<std::int64_t, N>) {
  return get(p);
}
GX_INLINE RegD some(const double* p, std::int64_t n) { return get_some(p, n); }
template <std::int64_t N>
GX_INLINE void keep(double* p, RegD v, std::integral_constant<std::int64_t, N>) {
  put(p, v);
}
GX_INLINE void keep(double* p, RegD v, std::int64_t n) { put_some(p, v, n); }
// v with its lanes from n on replaced
GX_INLINE RegD only(RegD v, std::int64_t n, double others) {
  for (std::int64_t i = n; i < LANES64; ++i) v[i] = others;
  return v;
}

// Rows along an axis; those that have others behind them are brought together first.
class Rows : public Kernel {
 public:
  explicit Rows(const AxisSplit& shape) : shape_(shape) {
    how = shape.after == 1 ? "rows of doubles" : "columns of doubles";
  }

 protected:
  // f(data, result, number) for the rows, one after the other in memory; with `after` through the scratch of a thread
  template <class F>
  void each_row(const Run& run, double cost, F f) const {
    run.ranges(shape_.before * shape_.after, rows_for(cost), [&](std::int64_t begin, std::int64_t end, int thread) {
      double* own = reinterpret_cast<double*>(run.scratch) + 2 * thread * shape_.size;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i / shape_.after * shape_.size * shape_.after + i % shape_.after, n = shape_.size;
        const double* x = run.input<double>(0) + at;
        double* y = run.output<double>() + at;
        if (shape_.after == 1) {
          f(x, y, i);
          continue;
        }
        for (std::int64_t j = 0; j < n; ++j) own[j] = x[j * shape_.after];
        f(own, own + n, i);
        for (std::int64_t j = 0; j < n; ++j) y[j * shape_.after] = own[n + j];
      }
    });
  }
  std::size_t wanted(int threads) const { return shape_.after == 1 ? 0 : 2 * sizeof(double) * shape_.size * threads; }

  AxisSplit shape_;
};

class Softmax64 : public Rows {
 public:
  Softmax64(const AxisSplit& shape, bool logarithm, double divisor, DType lengths, int threads)
      : Rows(shape), logarithm_(logarithm), divisor_(divisor), lengths_(lengths) {
    scratch = wanted(threads);
    flops = 4.0 * static_cast<double>(shape.all());
  }

  void run(const Run& run) const override {
    if (!shape_.size) return;
    each_row(run, 2.0 * static_cast<double>(shape_.size) + 10, [&](const double* x, double* y, std::int64_t row) {
      const std::int64_t n = counted(run, row);
      std::fill(y + n, y + shape_.size, 0.);
      compute(x, y, n);
    });
  }

 private:
  std::int64_t counted(const Run& run, std::int64_t row) const {
    if (lengths_ == DType::f64) return shape_.size;
    const std::int64_t n = lengths_ == DType::i32 ? run.input<std::int32_t>(1)[row] : run.input<std::int64_t>(1)[row];
    return std::clamp<std::int64_t>(n, 0, shape_.size);
  }

  void compute(const double* x, double* y, std::int64_t n) const {
    RegD most = splat_reg(-std::numeric_limits<double>::infinity()), sums = {};
    each_of(n, [&](std::int64_t i, auto k) {  // a NaN passed over here makes the sum NaN
      const RegD v = only(some(x + i, k) / divisor_, k, -std::numeric_limits<double>::infinity());
      most = v > most ? v : most;
    });
    const double top = largest_of(most);
    each_of(n, [&](std::int64_t i, auto k) {
      const RegD e = exp(some(x + i, k) / divisor_ - top);
      if (!logarithm_) keep(y + i, e, k);
      sums += only(e, k, 0);
    });
    const double total = sum_of(sums), log_total = std::log(total);
    each_of(n, [&](std::int64_t i, auto k) {
      keep(y + i, logarithm_ ? some(x + i, k) / divisor_ - top - log_total : some(y + i, k) / total, k);
    });
  }

  bool logarithm_;
  double divisor_;
  DType lengths_;
};

class LayerNorm64 : public Rows {
 public:
  LayerNorm64(const AxisSplit& shape, double eps, int threads) : Rows(shape), eps_(eps) {
    scratch = wanted(threads);
    flops = 8.0 * static_cast<double>(shape.all());
  }

  void run(const Run& run) const override {
    const double *gamma = run.input<double>(1), *beta = run.input<double>(2);
    double *means = run.output<double>(1), *deviations = run.output<double>(2);
    const std::int64_t n = shape_.size;
    const double count = static_cast<double>(n);
    each_row(run, static_cast<double>(n) + 20, [&](const double* x, double* y, std::int64_t row) {
      RegD sums = {}, squares = {};
      each_of(n, [&](std::int64_t i, auto k) { sums += only(some(x + i, k), k, 0); });
      const double mean = sum_of(sums) / count;
      each_of(n, [&](std::int64_t i, auto k) {
        const RegD d = only(some(x + i, k) - mean, k, 0);
        squares += d * d;
      });
      const double deviation = std::sqrt(sum_of(squares) / count + eps_), factor = 1 / deviation;
      means[row] = mean;
      deviations[row] = deviation;
      each_of(n, [&](std::int64_t i, auto k) {
        keep(y + i, (some(x + i, k) - mean) * factor * some(gamma + i, k) + some(beta + i, k), k);
      });
    });
  }

 private:
  double eps_;
};

}  // namespace

std::unique_ptr<Kernel> softmax(const AxisSplit& shape, bool logarithm, double divisor, DType lengths, int threads) {
  return std::make_unique<Softmax64>(shape, logarithm, divisor, lengths, threads);
}
std::unique_ptr<Kernel> layer_norm(const AxisSplit& shape, double eps, int threads) {
  return std::make_unique<LayerNorm64>(shape, eps, threads);
}

}  // namespace gluonnx::wide
