// Memory for arenas and results. What is given back is kept for whoever wants as much next: fresh memory costs a page fault
// for every 4 KB, which is more than most operators take to fill them. No more is kept than was in use lately.
#pragma once

#include <cstddef>

#include "../base/tensor.h"

namespace gluonnx {

// `size` bytes aligned to ALIGNMENT, contents undefined; null when there is none left. Give it back with the same size.
std::byte* allocate(std::size_t size);
void release(std::byte* memory, std::size_t size);

struct MemoryStats {
  std::size_t allocated;     // bytes that are in use
  std::size_t cached;        // bytes that were given back and are kept
  std::size_t peak;          // the most bytes that were in use at once
  std::size_t bound;         // as many bytes are kept at most
  std::size_t hits, misses;  // how often memory that was kept could be used again, and how often it could not
};
MemoryStats memory_stats();

// Keep no more than so many bytes from now on.
void set_memory_bound(std::size_t bytes);
// Give back to the system what is kept; how many bytes.
std::size_t release_memory();

}  // namespace gluonnx
