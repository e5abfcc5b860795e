// Which CPU levels this machine has.
#pragma once

#include <string>
#include <vector>

namespace gluonnx {

// The best first; "plain" last, which is what was compiled for any machine of the architecture.
std::vector<std::string> cpu_levels();

}  // namespace gluonnx
