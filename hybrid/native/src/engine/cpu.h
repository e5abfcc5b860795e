// Which CPU levels this machine has, and how many of its CPUs are ours.
#pragma once

#include <string>
#include <vector>

namespace gluonnx {

// The best first; "plain" last, which is what was compiled for any machine of the architecture.
std::vector<std::string> cpu_levels();

// CPUs that this process may keep busy: those it is bound to, and no more than the quota of its control group. At least 1.
int usable_cpus();

}  // namespace gluonnx
