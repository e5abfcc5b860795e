// A number of an operator's attributes as an element of a dtype.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "../../base/half.h"
#include "../../base/tensor.h"

namespace gluonnx {

template <class T>
std::uint64_t bits_as(double value) {
  const T number = static_cast<T>(value);
  std::uint64_t out = 0;
  std::memcpy(&out, &number, sizeof number);
  return out;
}

// The bits of a number in a dtype, fractions cut off for integers; nothing when it may be none of theirs, or nobody knows how.
inline std::optional<std::uint64_t> bits_of(double value, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return bits_as<float>(value);
    case DType::f64:
      return bits_as<double>(value);
    case DType::f16:
      return as_float16(odd_float(value));
    case DType::bf16:
      return as_bfloat16(static_cast<float>(value));
    default:
      break;
  }
  if (value == 0) return 0;
  if (!(std::abs(value) < 128)) return {};
  switch (dtype) {
    case DType::i64:
      return bits_as<std::int64_t>(value);
    case DType::i32:
      return bits_as<std::int32_t>(value);
    case DType::i8:
      return bits_as<std::int8_t>(value);
    case DType::u8:
      return value <= -1 ? std::nullopt : std::optional(bits_as<std::uint8_t>(value));
    case DType::b1:
      return value != 0;
    default:
      return {};
  }
}

}  // namespace gluonnx
