// Pooling of float64 data.
#pragma once

#include "../pool/windows.h"

namespace gluonnx::wide {

// Windows in three axes.
std::unique_ptr<Kernel> pooling(std::int64_t planes, std::vector<Windows> axes, const Pooling& pooling);

}  // namespace gluonnx::wide
