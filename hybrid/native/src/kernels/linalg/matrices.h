// Factorizations of small matrices, in float64, whatever the dtype of the operands.
#pragma once

#include <cmath>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx::linalg {

using Index = std::int64_t;

// A matrix, by rows.
struct Matrix {
  explicit Matrix(Index rows, Index columns = -1)
      : rows(rows), columns(columns < 0 ? rows : columns), data(static_cast<std::size_t>(this->rows * this->columns)) {}
  double& operator()(Index i, Index j) { return data[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(Index i, Index j) const { return data[static_cast<std::size_t>(i * columns + j)]; }
  double* row(Index i) { return data.data() + i * columns; }
  const double* row(Index i) const { return data.data() + i * columns; }

  Index rows, columns;
  std::vector<double> data;
};

template <class T>
void read(const T* from, Matrix& to) {
  for (std::size_t i = 0; i < to.data.size(); ++i) to.data[i] = static_cast<double>(from[i]);
}
template <class T>
void write(const Matrix& from, T* to) {
  for (std::size_t i = 0; i < from.data.size(); ++i) to[i] = static_cast<T>(from.data[i]);
}

// y -= factor * x, of n numbers
inline void subtract(double* y, double factor, const double* x, Index n) {
  for (Index i = 0; i < n; ++i) y[i] -= factor * x[i];
}
inline double dot(const double* x, const double* y, Index n) {
  constexpr Index WIDE = 8;
  double lanes[WIDE] = {}, sum = 0;
  Index i = 0;
  for (; i + WIDE <= n; i += WIDE)
    for (Index j = 0; j < WIDE; ++j) lanes[j] += x[i + j] * y[i + j];
  for (; i < n; ++i) sum += x[i] * y[i];
  for (double lane : lanes) sum += lane;
  return sum;
}

// a = P L U with pivots by columns, in its place; `order` is where rows came from. Gives the sign of P, 0 where a pivot is 0 (what
// follows it is not computed then).
inline int factor(Matrix& a, std::vector<Index>& order) {
  const Index n = a.rows;
  int sign = 1;
  order.resize(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) order[i] = i;
  for (Index k = 0; k < n; ++k) {
    Index best = k;
    for (Index i = k + 1; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    if (a(best, k) == 0) return 0;
    if (best != k) {
      for (Index j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
      std::swap(order[k], order[best]);
      sign = -sign;
    }
    for (Index i = k + 1; i < n; ++i) {
      const double ratio = a(i, k) /= a(k, k);
      if (ratio != 0) subtract(a.row(i) + k + 1, ratio, a.row(k) + k + 1, n - k - 1);
    }
  }
  return sign;
}

// The rows of b become those of the solution of a x = b, where factor has made lu and order of a.
inline void solve(const Matrix& lu, const std::vector<Index>& order, const Matrix& b, Matrix& x) {
  const Index n = lu.rows, m = b.columns;
  for (Index i = 0; i < n; ++i) {
    std::copy(b.row(order[i]), b.row(order[i]) + m, x.row(i));
    for (Index j = 0; j < i; ++j)
      if (lu(i, j) != 0) subtract(x.row(i), lu(i, j), x.row(j), m);
  }
  for (Index i = n; i-- > 0;) {
    for (Index j = i + 1; j < n; ++j)
      if (lu(i, j) != 0) subtract(x.row(i), lu(i, j), x.row(j), m);
    for (Index j = 0; j < m; ++j) x(i, j) /= lu(i, i);
  }
}

}  // namespace gluonnx::linalg
