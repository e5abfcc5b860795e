// Inverses, determinants, Cholesky and QR factors, and solutions of systems, of many matrices of one size. Matrices that have none, or
// hold what is no number, are refused: NumPy says what is wrong with them.
#include "../move/move.h"
#include "matrices.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace gluonnx {
namespace {

using namespace linalg;

// Larger matrices are LAPACK's, which works in blocks.
constexpr Index LARGEST = 256;

// Of a tensor (..., rows, columns).
struct Sizes {
  explicit Sizes(const Tensor& t) {
    want(t.rank() >= 2);
    rows = t.shape[t.rank() - 2], columns = t.shape[t.rank() - 1];
    for (int i = 0; i + 2 < t.rank(); ++i) count *= t.shape[i];
  }
  Index each() const { return rows * columns; }
  Index count = 1, rows, columns;
};

// A kernel of matrices, in float32 or float64, which works on one after the other.
class OfMatrices : public Kernel {
 public:
  explicit OfMatrices(const Call& call) : a_(call.in[0]), wide_(call.in[0].dtype == DType::f64) {
    want(wide_ || call.in[0].dtype == DType::f32);
    want(a_.rows <= LARGEST && a_.columns <= LARGEST);
    for (const Tensor& t : call.in) want(t.dtype == call.in[0].dtype);
    for (const Tensor& t : call.out) want(t.dtype == call.in[0].dtype);
    sure = false;
    how = "matrices";
    flops = static_cast<double>(a_.count) * static_cast<double>(a_.each()) * static_cast<double>(a_.rows);
  }

  void run(const Run& run) const override {
    std::atomic<bool> fits{true};
    const Index work = a_.each() * a_.rows;
    run.ranges(a_.count, 1 + 20000 / (work + 1), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end && fits; ++i)
        if (!is_finite(run, i) || !one(run, i)) fits = false;
    });
    want_value(fits);
  }

 protected:
  void square() const { want(a_.rows == a_.columns); }
  // Numbers of an input, or a result, from the at-th on.
  void get(const Run& run, int input, Index at, Matrix& to) const {
    if (wide_) read(run.input<double>(input) + at, to);
    else read(run.input<float>(input) + at, to);
  }
  void put(const Run& run, int output, Index at, const Matrix& from) const {
    if (wide_) write(from, run.output<double>(output) + at);
    else write(from, run.output<float>(output) + at);
  }
  void put(const Run& run, int output, Index at, double number) const {
    if (wide_) run.output<double>(output)[at] = number;
    else run.output<float>(output)[at] = static_cast<float>(number);
  }
  // The number-th matrix of the first input
  Matrix first(const Run& run, Index number) const {
    Matrix a(a_.rows, a_.columns);
    get(run, 0, number * a_.each(), a);
    return a;
  }
  bool is_finite(const Run& run, Index number) const {
    const auto finite = [&](const auto* a) { return std::all_of(a, a + a_.each(), [](auto x) { return std::isfinite(x); }); };
    return wide_ ? finite(run.input<double>(0) + number * a_.each()) : finite(run.input<float>(0) + number * a_.each());
  }
  // False for one that has no result.
  virtual bool one(const Run& run, Index number) const = 0;
  Sizes a_;
  bool wide_;  // float64
};

class Inverse : public OfMatrices {
 public:
  explicit Inverse(const Call& call) : OfMatrices(call) {
    square();
    want_shape(call.out[0], call.in[0].shape);
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number), unit(a.rows), x(a.rows);
    std::vector<Index> order;
    if (!factor(a, order)) return false;
    for (Index i = 0; i < a.rows; ++i) unit(i, i) = 1;
    solve(a, order, unit, x);
    put(run, 0, number * a_.each(), x);
    return true;
  }
};

// Sign and logarithm of determinants.
class SlogDet : public OfMatrices {
 public:
  explicit SlogDet(const Call& call) : OfMatrices(call) {
    square();
    want(call.out.size() == 2);
    for (const Tensor& t : call.out) want_size(t, a_.count);
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number);
    std::vector<Index> order;
    double sign = factor(a, order), size = sign ? 0 : -std::numeric_limits<double>::infinity();
    for (Index i = 0; sign && i < a.rows; ++i) {
      size += std::log(std::abs(a(i, i)));
      if (a(i, i) < 0) sign = -sign;
    }
    put(run, 0, number, sign);
    put(run, 1, number, size);
    return size == size;
  }
};

// Determinants.
class Det : public OfMatrices {
 public:
  explicit Det(const Call& call) : OfMatrices(call) {
    square();
    want_size(call.out[0], a_.count);
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number);
    std::vector<Index> order;
    double found = factor(a, order);
    for (Index i = 0; found != 0 && i < a.rows; ++i) found *= a(i, i);
    put(run, 0, number, found);
    return found == found;
  }
};

// The lower Cholesky factor; the lower triangle alone is read.
class Cholesky : public OfMatrices {
 public:
  explicit Cholesky(const Call& call) : OfMatrices(call) {
    square();
    want_shape(call.out[0], call.in[0].shape);
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number);
    for (Index i = 0; i < a.rows; ++i) {
      for (Index j = 0; j < i; ++j) a(i, j) = (a(i, j) - dot(a.row(i), a.row(j), j)) / a(j, j);
      const double left = a(i, i) - dot(a.row(i), a.row(i), i);
      if (!(left > 0) || std::isinf(left)) return false;
      a(i, i) = std::sqrt(left);
      std::fill(a.row(i) + i + 1, a.row(i) + a.rows, 0.);
    }
    put(run, 0, number * a_.each(), a);
    return true;
  }
};

// X of T X = alpha B, where T is a triangle of A, or its transpose, on the left or on the right.
class Trsm : public OfMatrices {
 public:
  explicit Trsm(const Call& call) : OfMatrices(call), b_(call.in[1]) {
    const Attrs& attrs = call.attrs;
    transpose_ = attrs.flag("transpose"), right_ = attrs.flag("rightside"), lower_ = attrs.flag("lower");
    alpha_ = attrs.real("alpha");
    square();
    want(call.in[0].rank() == call.in[1].rank() && b_.count == a_.count);
    want((right_ ? b_.columns : b_.rows) == a_.rows);
    want_shape(call.out[0], call.in[1].shape);
  }
  bool one(const Run& run, Index number) const override {
    const Matrix a = first(run, number);
    const Index n = a.rows, m = right_ ? b_.rows : b_.columns;
    for (Index i = 0; i < n; ++i)
      if (a(i, i) == 0) return false;
    // from the right it is the transposed system; rows of x are unknowns
    Matrix x(n, m);
    if (right_) {
      Matrix b(m, n);
      get(run, 1, number * b_.each(), b);
      turn(b, x, 1);
    } else {
      get(run, 1, number * b_.each(), x);
    }
    const bool flipped = transpose_ != right_, downwards = lower_ != flipped;
    for (Index step = 0; step < n; ++step) {
      const Index i = downwards ? step : n - 1 - step;
      for (Index k = downwards ? 0 : i + 1; k < (downwards ? i : n); ++k) subtract(x.row(i), flipped ? a(k, i) : a(i, k), x.row(k), m);
      for (Index j = 0; j < m; ++j) x(i, j) /= a(i, i);
    }
    if (right_) {
      Matrix y(m, n);
      turn(x, y, alpha_);
      put(run, 0, number * b_.each(), y);
    } else {
      for (double& v : x.data) v *= alpha_;
      put(run, 0, number * b_.each(), x);
    }
    return true;
  }

 private:
  // The transpose of a matrix, times a number.
  static void turn(const Matrix& from, Matrix& to, double factor) {
    for (Index i = 0; i < to.rows; ++i)
      for (Index j = 0; j < to.columns; ++j) to(i, j) = factor * from(j, i);
  }

  Sizes b_;
  bool transpose_, right_, lower_;
  double alpha_;
};

// A = L Q by reflections of the rows, with LAPACK's signs.
class Gelqf : public OfMatrices {
 public:
  explicit Gelqf(const Call& call) : OfMatrices(call) {
    const Sizes &a = a_, l(call.out[1]);
    want(call.out.size() == 2 && a.rows <= a.columns && l.rows == a.rows && l.columns == a.rows && l.count == a.count);
    want_shape(call.out[0], call.in[0].shape);
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number);
    const Index m = a.rows, n = a.columns;
    for (double x : a.data)  // squares have to be numbers
      if (x != 0 && !(std::abs(x) > 1e-140 && std::abs(x) < 1e140)) return false;
    std::vector<double> scales(static_cast<std::size_t>(m));  // of the reflections 1 - scale v v^T, v(i) = 1
    for (Index i = 0; i < m; ++i) {
      double* v = a.row(i);
      const double rest = dot(v + i + 1, v + i + 1, n - i - 1), own = v[i];
      if (rest == 0) continue;
      const double end = own > 0 || (own == 0 && !std::signbit(own)) ? -std::sqrt(own * own + rest) : std::sqrt(own * own + rest);
      scales[i] = (end - own) / end;
      for (Index j = i + 1; j < n; ++j) v[j] /= own - end;
      v[i] = end;
      for (Index k = i + 1; k < m; ++k) reflect(v, scales[i], a.row(k), i, n);
    }
    Matrix lower(m), q(m, n);
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j <= i; ++j) lower(i, j) = a(i, j);
    put(run, 1, number * m * m, lower);
    for (Index i = 0; i < m; ++i) q(i, i) = 1;
    for (Index i = m; i-- > 0;)
      for (Index k = i; k < m; ++k) reflect(a.row(i), scales[i], q.row(k), i, n);
    put(run, 0, number * m * n, q);
    return true;
  }

 private:
  static void reflect(const double* v, double scale, double* x, Index i, Index n) {
    const double share = scale * (x[i] + dot(v + i + 1, x + i + 1, n - i - 1));
    x[i] -= share;
    subtract(x + i + 1, share, v + i + 1, n - i - 1);
  }
};

// X of A X = B; B may be vectors.
class Solve : public OfMatrices {
 public:
  explicit Solve(const Call& call) : OfMatrices(call) {
    square();
    const Tensor &a = call.in[0], &b = call.in[1];
    want_shape(call.out[0], b.shape);
    want(b.rank() == a.rank() || b.rank() == a.rank() - 1);
    columns_ = b.rank() == a.rank() ? b.shape[b.rank() - 1] : 1;
    want_size(b, times(a_.count, a_.rows, columns_));
  }
  bool one(const Run& run, Index number) const override {
    Matrix a = first(run, number), b(a.rows, columns_), x(a.rows, columns_);
    std::vector<Index> order;
    if (!factor(a, order)) return false;
    get(run, 1, number * a.rows * columns_, b);
    solve(a, order, b, x);
    put(run, 0, number * a.rows * columns_, x);
    return true;
  }

 private:
  Index columns_;
};

// The inverse of a tensor as a map from its last axes to its first ones.
std::unique_ptr<Kernel> inverse_of_map(const Call& call) {
  const Tensor& a = call.in[0];
  Index rows = 1;
  for (Index i = 0; i < std::min<Index>(call.attrs.integer("ind"), a.rank()); ++i) rows = times(rows, a.shape[i]);
  want(times(rows, rows) == a.size() && call.out[0].size() == a.size());
  Tensor flat = a;
  flat.shape = {rows, rows};
  return std::make_unique<Inverse>(Call{call.attrs, {flat}, {flat}, call.threads, call.precise});
}

// A triangle of matrices and its elements in a row: a lower one by rows, an upper one by columns.
class Packed : public Kernel {
 public:
  Packed(const Call& call, bool packs) : packs_(packs), dtype_(call.in[0].dtype) {
    const Sizes square(call.in.size() && packs ? call.in[0] : call.out[0]);
    const Tensor& row = packs ? call.out[0] : call.in[0];
    const Index offset = call.attrs.integer("offset"), n = square.rows;
    const bool lower = offset < 0 || (offset == 0 && call.attrs.flag("lower"));
    call.attrs.ignore("lower");
    want(square.columns == n && offset > -n && offset < n && call.in[0].dtype == call.out[0].dtype);
    const Index side = n - std::abs(offset);
    for (Index i = 0; i < side; ++i)
      for (Index j = 0; j <= i; ++j) {
        const Index down = i + std::abs(offset);
        places_.push_back(lower ? down * n + j : j * n + down);
      }
    count_ = square.count, each_ = n * n;
    want_size(row, times(count_, static_cast<Index>(places_.size())));
    how = "triangles";
  }
  void run(const Run& run) const override {
    by_size(dtype_, [&](auto t) { move<decltype(t)>(run); });
  }

 private:
  template <class T>
  void move(const Run& run) const {
    const auto packed = static_cast<Index>(places_.size());
    run.ranges(count_, grain_of(each_ * static_cast<Index>(sizeof(T))), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        if (packs_) {
          for (Index j = 0; j < packed; ++j) run.output<T>()[i * packed + j] = run.input<T>(0)[i * each_ + places_[j]];
        } else {
          T* y = run.output<T>() + i * each_;
          std::fill(y, y + each_, T{0});
          for (Index j = 0; j < packed; ++j) y[places_[j]] = run.input<T>(0)[i * packed + j];
        }
      }
    });
  }

  bool packs_;
  DType dtype_;
  std::vector<Index> places_;
  Index count_, each_;
};

}  // namespace

std::unique_ptr<Kernel> bind_inverse(const Call& call) { return std::make_unique<Inverse>(call); }
std::unique_ptr<Kernel> bind_slogdet(const Call& call) { return std::make_unique<SlogDet>(call); }
std::unique_ptr<Kernel> bind_det(const Call& call) {
  call.attrs.ignore("given");
  return std::make_unique<Det>(call);
}
std::unique_ptr<Kernel> bind_potrf(const Call& call) { return std::make_unique<Cholesky>(call); }
std::unique_ptr<Kernel> bind_trsm(const Call& call) { return std::make_unique<Trsm>(call); }
std::unique_ptr<Kernel> bind_gelqf(const Call& call) { return std::make_unique<Gelqf>(call); }
std::unique_ptr<Kernel> bind_solve(const Call& call) { return std::make_unique<Solve>(call); }
std::unique_ptr<Kernel> bind_tensorinv(const Call& call) {
  want(call.out[0].dtype == call.in[0].dtype);
  return inverse_of_map(call);
}
std::unique_ptr<Kernel> bind_extracttrian(const Call& call) { return std::make_unique<Packed>(call, true); }
std::unique_ptr<Kernel> bind_maketrian(const Call& call) { return std::make_unique<Packed>(call, false); }

}  // namespace gluonnx
