// Kernels that are the same for every dtype of numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "kernel.h"

namespace gluonnx {

// f(T{}) with T the type of a dtype's numbers, bools as the bytes 0 and 1; null for what is computed in another dtype.
template <class F>
std::invoke_result_t<F&, float> by_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
    case DType::b1:
      return f(std::uint8_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    default:
      return {};
  }
}

}  // namespace gluonnx
