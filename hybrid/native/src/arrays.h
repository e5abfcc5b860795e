// NumPy arrays over the memory of engine/memory.h.
#pragma once

#include <nanobind/nanobind.h>

namespace gluonnx {

void bind_arrays(nanobind::module_& m);

}  // namespace gluonnx
