// Products of few rows with a matrix whose rows lie along K: each weight is read once, where it is, and packed nowhere.
#pragma once

#include "gemm.h"

namespace gluonnx::gemm {

bool dots_fit(const Product& p);
// Columns [begin, end) of C.
void dots(const Product& p, Index begin, Index end);

}  // namespace gluonnx::gemm
