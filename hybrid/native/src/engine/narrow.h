// Kernels for float16 and bfloat16: those for float32, with operands converted before and after.
#pragma once

#include <memory>

#include "../base/kernel.h"

namespace gluonnx {

// What computes in float32 for a call some operands of which are float16 or bfloat16, by `bind` for float32; `cast` binds the
// operator Cast. Null when either has no kernel for it, or when an operand is blocked.
std::unique_ptr<Kernel> bind_narrow(const Call& call, Bind bind, Bind cast);

}  // namespace gluonnx
