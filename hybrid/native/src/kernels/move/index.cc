#include "index.h"

#include <limits>

namespace gluonnx {
namespace {

template <class T>
void copy(const void* given, std::int64_t first, std::int64_t count, std::int64_t* to) {
  const T* from = static_cast<const T*>(given) + first;
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

using Copy = void (*)(const void*, std::int64_t, std::int64_t, std::int64_t*);

Copy copy_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return copy<float>;
    case DType::f64:
      return copy<double>;
    case DType::i32:
      return copy<std::int32_t>;
    case DType::i64:
      return copy<std::int64_t>;
    case DType::i8:
      return copy<std::int8_t>;
    case DType::u8:
    case DType::b1:
      return copy<std::uint8_t>;
    default:
      return nullptr;
  }
}

}  // namespace

bool Positions::can(DType dtype) { return copy_of(dtype) != nullptr; }

void Positions::read(const void* from, std::int64_t first, std::int64_t count, std::int64_t* to) const {
  copy_of(dtype_)(from, first, count, to);
}

}  // namespace gluonnx
