// The library of kernels in use: one of those that were compiled, for one CPU level.
#pragma once

#include <string>
#include <memory>
#include <utility>
#include <vector>

#include "../base/kernel.h"

namespace gluonnx {

// Use the kernels of the library in this file from now on. Throws std::runtime_error when it cannot be loaded.
void load_library(const std::string& path);
// Every (operator, dtype) with a kernel.
std::vector<std::pair<std::string, std::string>> kernel_names();
// The kernel for an application of an operator, or null; attributes that it did not read throw std::logic_error.
std::unique_ptr<Kernel> bind_kernel(const std::string& op, const Call& call);

const char* name_of(DType dtype);
DType dtype_named(const std::string& name);  // throws std::invalid_argument

}  // namespace gluonnx
