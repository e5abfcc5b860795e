// What kernels that only move elements share: they work by the size of an element, whatever it means.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "../../base/kernel.h"

namespace gluonnx {

// A chunk of work is worth handing to another thread from so many bytes on, about 10 us.
constexpr std::int64_t WORTH = 64 << 10;

// How many units of so many bytes make a chunk.
inline std::int64_t grain_of(std::int64_t bytes) { return std::max<std::int64_t>(1, WORTH / std::max<std::int64_t>(1, bytes)); }

// f(T{}) with T the unsigned integer of an element's size
template <class F>
auto by_size(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace gluonnx
