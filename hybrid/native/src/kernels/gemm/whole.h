// Products of matrices of whole numbers, which wrap round, and of bools.
#pragma once

#include "many.h"

namespace gluonnx::whole {

bool is_whole(DType dtype);

// bias: which input holds n numbers to add to each row, -1 for none. Declines factors other than 1.
std::unique_ptr<Kernel> make(gemm::Products products, int bias, const Call& call);

}  // namespace gluonnx::whole
