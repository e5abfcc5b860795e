// Products of float64 matrices. B is cut into panels of PANEL columns, in which a row lies in one piece; tiles of C, a few rows of a
// panel, stay in registers while they go along K.
#pragma once

#include "../../base/kernel.h"
#include "../../base/lanes.h"
#include "../gemm/dense.h"
#include "../gemm/many.h"

namespace gluonnx::wide {

using Index = std::int64_t;

constexpr Index PANEL = 16;

// Element (i, j) is data[i * row + j * column].
struct Matrix {
  const double* data;
  Index row, column;
};

// What becomes of a sum before it is stored: alpha * sum + bias + beta * residual.
struct Epilogue {
  double alpha = 1, beta = 1;
  const double* bias = nullptr;      // of columns, as many as C has from here on,
  const double* row_bias = nullptr;  // or of rows
  const double* residual = nullptr;  // lies as C does
};

// `columns` columns of b, up to PANEL, k rows of PANEL numbers; zeros beyond.
void pack_panel(const Matrix& b, Index k, Index columns, double* to);
// C (m x columns) of A (m x k) and a panel.
void multiply_panel(const Matrix& a, const double* panel, Index m, Index k, Index columns, double* c, Index ldc,
                    const Epilogue& epilogue);

// Kernels of what gemm plans for float32, of float64.
std::unique_ptr<Kernel> make(const gemm::Plan& plan, const Call& call);
std::unique_ptr<Kernel> make(gemm::Products products, const Call& call);

// That all operands and results are plain float64.
inline void want_doubles(const Call& call) {
  for (const Tensors* all : {&call.in, &call.out})
    for (const Tensor& t : *all) want(t.dtype == DType::f64 && !t.blocked);
}

}  // namespace gluonnx::wide
