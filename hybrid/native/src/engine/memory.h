// Memory for arenas and results.
#pragma once

#include <cstddef>

namespace gluonnx {

// `size` bytes aligned to 64, contents undefined; null when there is none left. Give it back with the same size.
std::byte* allocate(std::size_t size);
void release(std::byte* memory, std::size_t size);

}  // namespace gluonnx
