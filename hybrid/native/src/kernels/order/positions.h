// Positions that are results: numbers of whatever dtype.
#pragma once

#include <type_traits>

#include "../../base/half.h"
#include "../../base/kernel.h"

namespace gluonnx {

template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

// An unsigned integer that is less where the number is; NaN comes last.
template <class T>
Word<T> ascending_word(T x) {
  using W = Word<T>;
  constexpr W sign = W{1} << (8 * sizeof(W) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~W{0};
    const W bits = bit_cast<W>(x + T{0});  // -0 equals 0
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<W>(static_cast<std::make_signed_t<W>>(x)) ^ sign;
  }
}

// Writes a position as the at-th element of a result, converted as NumPy does.
using PutPosition = void (*)(void* to, std::int64_t at, std::int64_t position);

template <class T>
void put_position(void* to, std::int64_t at, std::int64_t position) {
  static_cast<T*>(to)[at] = static_cast<T>(position);
}

inline PutPosition put_position_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return put_position<float>;
    case DType::f64:
      return put_position<double>;
    case DType::i8:
      return put_position<std::int8_t>;
    case DType::u8:
      return put_position<std::uint8_t>;
    case DType::i32:
      return put_position<std::int32_t>;
    case DType::i64:
      return put_position<std::int64_t>;
    case DType::b1:
      return put_position<bool>;
    case DType::f16:
      return [](void* to, std::int64_t at, std::int64_t position) {
        static_cast<std::uint16_t*>(to)[at] = as_float16(static_cast<float>(position));  // inf where float32 is not exact
      };
    default:
      throw Declined{};
  }
}

// What lies before, along and behind an axis; everything lies along none.
struct Along {
  std::int64_t outer = 1, size = 1, inner = 1;

  explicit Along(const Tensor& t) : size(t.size()) {}
  Along(const Tensor& t, std::int64_t along) {
    const std::int64_t axis = axis_in(along, std::max(1, t.rank()));
    for (std::int64_t i = 0; i < t.rank(); ++i) (i < axis ? outer : i == axis ? size : inner) *= t.shape[i];
  }
};

// By the attribute axis, which may be None.
inline Along along_axis(const Tensor& t, const Attrs& attrs) {
  if (attrs.has("axis")) return Along(t, attrs.integer("axis"));
  attrs.ignore("axis");
  return Along(t);
}

}  // namespace gluonnx
