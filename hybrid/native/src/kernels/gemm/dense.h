// The kernel of a single product, for all operators that come down to one.
#pragma once

#include "gemm.h"

namespace gluonnx::gemm {

// Which operands of a call are what. Both matrices are C-contiguous.
struct Plan {
  Sizes sizes{};
  int a = 0, b = 1, bias = -1, residual = -1;  // positions among the inputs, -1: there is none
  bool a_transposed = false, b_transposed = false;
  double alpha = 1, beta = 1;  // in the place of the epilogue's
  Epilogue epilogue;
};

// Declines operands that are neither float32 nor float64, or that have other sizes than the plan says. The attribute `weights` says
// as what a constant b is packed.
std::unique_ptr<Kernel> make(const Plan& plan, const Call& call);

}  // namespace gluonnx::gemm
