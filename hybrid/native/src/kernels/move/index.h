// Positions that are data: indices and lengths, of whatever dtype.
#pragma once

#include <cmath>
#include <limits>

#include "move.h"

namespace gluonnx {

enum class Outside { clip, wrap };

// Reads positions as hybrid/ops/indexing.py does: fractions are cut off, and what is no number or too large is the least one.
class Positions {
 public:
  explicit Positions(DType dtype) : dtype_(dtype) {}

  static bool can(DType dtype) {
    switch (dtype) {
      case DType::f32:
      case DType::f64:
      case DType::i32:
      case DType::i64:
      case DType::i8:
      case DType::u8:
      case DType::b1:
        return true;
      default:
        return false;
    }
  }

  void read(const void* from, std::int64_t first, std::int64_t count, std::int64_t* to) const {
    switch (dtype_) {
      case DType::f32:
        return copy(static_cast<const float*>(from) + first, count, to);
      case DType::f64:
        return copy(static_cast<const double*>(from) + first, count, to);
      case DType::i32:
        return copy(static_cast<const std::int32_t*>(from) + first, count, to);
      case DType::i64:
        return copy(static_cast<const std::int64_t*>(from) + first, count, to);
      case DType::i8:
        return copy(static_cast<const std::int8_t*>(from) + first, count, to);
      default:
        return copy(static_cast<const std::uint8_t*>(from) + first, count, to);
    }
  }

  // f(number, position) for positions [begin, end), moved inside an axis of `size`; `ahead` is told of those to come
  template <class F, class G>
  void each(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size, Outside outside, F&& f,
            G&& ahead) const {
    constexpr std::int64_t many = 128, distance = 4;
    std::int64_t where[many];
    for (std::int64_t i = begin; i < end; i += many) {
      const std::int64_t count = std::min(many, end - i);
      read(from, i, count, where);
      for (std::int64_t j = 0; j < count; ++j) where[j] = inside(where[j], size, outside);
      for (std::int64_t j = 0; j < count; ++j) {
        ahead(where[std::min(j + distance, count - 1)]);
        f(i + j, where[j]);
      }
    }
  }
  template <class F>
  void each(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size, Outside outside, F&& f) const {
    each(from, begin, end, size, outside, f, [](std::int64_t) {});
  }

  static std::int64_t inside(std::int64_t where, std::int64_t size, Outside outside) {
    if (outside == Outside::clip) return std::clamp<std::int64_t>(where, 0, size - 1);
    const std::int64_t rest = where % size;
    return rest < 0 ? rest + size : rest;
  }

 private:
  template <class T>
  static void copy(const T* from, std::int64_t count, std::int64_t* to) {
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>) {
        constexpr T limit = static_cast<T>(9223372036854775808.0);
        to[i] =
            from[i] > -limit && from[i] < limit ? static_cast<std::int64_t>(from[i]) : std::numeric_limits<std::int64_t>::min();
      } else {
        to[i] = static_cast<std::int64_t>(from[i]);
      }
    }
  }

  DType dtype_;
};

}  // namespace gluonnx
