// The thread pool.
#pragma once

#include <memory>

#include "../base/kernel.h"

namespace gluonnx {

// The process's pool of threads; made at first use, made anew in a forked child.
Pool& pool();
int threads();
void set_threads(int count);

}  // namespace gluonnx
