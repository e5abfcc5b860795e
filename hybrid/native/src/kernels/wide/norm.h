// Softmax and layer normalization of float64.
#pragma once

#include "../norm/common.h"

namespace gluonnx::wide {

// Of data / divisor; with lengths, what the second operand, which is of that dtype, says of how many elements of a row count.
std::unique_ptr<Kernel> softmax(const AxisSplit& shape, bool logarithm, double divisor, DType lengths, int threads);
std::unique_ptr<Kernel> layer_norm(const AxisSplit& shape, double eps, int threads);

}  // namespace gluonnx::wide
