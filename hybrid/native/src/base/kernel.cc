#include "kernel.h"

namespace gluonnx {

Kernel::~Kernel() = default;

}  // namespace gluonnx
