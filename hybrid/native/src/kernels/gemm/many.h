// The kernel of many products of one size: batch_dot and its kin, attention.
#pragma once

#include <vector>

#include "gemm.h"

namespace gluonnx::gemm {

// How the matrices of one operand lie: where each begins, in elements, and how far apart its rows are.
struct Layout {
  int input;
  std::vector<Index> begin;  // one for each product
  Index ld;
  bool transposed = false;
};

struct Products {
  Sizes sizes{};
  Layout a, b;
  std::vector<Index> c;  // where each result begins
  Index ldc;
  double alpha = 1;
  int residual = -1;  // an input that lies as the results do, added after it is scaled
  double beta = 1;
};

// Declines operands that are neither float32 nor float64, and matrices that do not lie inside them.
std::unique_ptr<Kernel> make(Products products, const Call& call);

// {0, step, 2 * step ...}, `count` of them
std::vector<Index> steps(Index count, Index step);

// That a list of so many products may be made: each gives some of the result, unless there are few.
void want_products(const Call& call, Index count);

}  // namespace gluonnx::gemm
