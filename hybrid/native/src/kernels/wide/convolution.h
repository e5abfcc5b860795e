// Convolutions of float64 data, as products of the weights and what windows see.
#pragma once

#include "../backward/windows.h"

namespace gluonnx::wide {

// bias: which input, -1: none.
std::unique_ptr<Kernel> convolution(const backward::Shape& shape, int bias, const Call& call);

}  // namespace gluonnx::wide
