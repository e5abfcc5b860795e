// What a number that is put at a place makes of the one that is there.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "../../base/kernel.h"

namespace gluonnx {

enum class Update { replace, add, multiply, largest, smallest };

inline std::optional<Update> update_named(const std::string& name) {
  if (name == "none") return Update::replace;
  if (name == "add") return Update::add;
  if (name == "mul") return Update::multiply;
  if (name == "max") return Update::largest;
  if (name == "min") return Update::smallest;
  return {};
}

// What updates do to the numbers at so many places, one after the other: for the j-th, rows of `row` numbers each at to + at[j] *
// row and from + j * row, of which those in [first, last) are its part.
using Apply = void (*)(void* to, const void* from, const std::int64_t* at, std::int64_t count, std::int64_t row, std::int64_t first,
                       std::int64_t last);

// For numbers of a dtype, and for replacing, of its size. Null where there is none.
Apply apply_of(Update kind, DType dtype);

// The result begins as a copy of the data that it updates, or as zeros.
inline void begin_with(const Run& run, const std::byte* data, std::byte* to, std::int64_t bytes) {
  run.ranges(bytes, 64 << 10, [&](std::int64_t begin, std::int64_t end, int) {
    if (data) std::memcpy(to + begin, data + begin, static_cast<std::size_t>(end - begin));
    else std::memset(to + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace gluonnx
