// The functions that bind kernels (kernels.inc). Each runs once for a graph's node and a shape; cold, what they hold is made
// small, and the compiler's time and the library's bytes go to what they give.
#pragma once

#include "../base/kernel.h"

namespace gluonnx {

#ifdef GLUONNX_PARTIAL  // a developer's build of some families only: what is not there is null
#define DECLARED __attribute__((cold, weak))
#else
#define DECLARED __attribute__((cold))
#endif
#define KERNEL(op, dtype, bind) DECLARED std::unique_ptr<Kernel> bind(const Call&);
#include "kernels.inc"
#undef KERNEL
#undef KERNEL_ANY
#undef KERNEL_NUMBERS
#undef DECLARED

}  // namespace gluonnx
