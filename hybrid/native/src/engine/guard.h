// Zones around the memory of a run that nobody may write to: what tests look at, and what the address sanitizer watches.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace gluonnx::guard {

constexpr std::size_t ZONE = 512;  // bytes, a multiple of what memory is aligned to
constexpr unsigned char MARK = 0xA5;
constexpr unsigned char FRESH = 0xFF;  // what memory holds before anything is written to it: NaN, and -1

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer ends the process at the first touch.
inline void close(std::byte* zone, std::size_t size) { __asan_poison_memory_region(zone, size); }
inline void open(std::byte* zone, std::size_t size) { __asan_unpoison_memory_region(zone, size); }
inline bool untouched(const std::byte*, std::size_t) { return true; }
#else
inline void close(std::byte* zone, std::size_t size) { std::memset(zone, MARK, size); }
inline void open(std::byte* zone, std::size_t size) { std::memset(zone, FRESH, size); }
inline bool untouched(const std::byte* zone, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (zone[i] != std::byte{MARK}) return false;
  return true;
}
#endif

}  // namespace gluonnx::guard
