#include "memory.h"

#include <cstdlib>

namespace gluonnx {

std::byte* allocate(std::size_t size) {
  return static_cast<std::byte*>(std::aligned_alloc(64, (size + 63) / 64 * 64));
}
void release(std::byte* memory, std::size_t) { std::free(memory); }

}  // namespace gluonnx
