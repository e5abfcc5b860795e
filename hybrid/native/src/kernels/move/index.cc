#include "index.h"

#include <limits>

#include "../../base/half.h"

namespace gluonnx {
namespace {

struct Bfloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};
float number_of(Bfloat16 x) { return bfloat16_value(x.bits); }
float number_of(Float16 x) { return float16_value(x.bits); }
template <class T>
T number_of(T x) {
  return x;
}

template <class T>
void copy(const void* given, std::int64_t first, std::int64_t count, std::int64_t* to) {
  const T* from = static_cast<const T*>(given) + first;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = number_of(from[i]);
    using X = std::remove_const_t<decltype(x)>;
    if constexpr (std::is_floating_point_v<X>) {
      constexpr X limit = static_cast<X>(9223372036854775808.0);
      to[i] = x > -limit && x < limit ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::min();
    } else {
      to[i] = static_cast<std::int64_t>(x);
    }
  }
}

using CopyIndices = void (*)(const void*, std::int64_t, std::int64_t, std::int64_t*);

CopyIndices copy_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return copy<float>;
    case DType::f64:
      return copy<double>;
    case DType::bf16:
      return copy<Bfloat16>;
    case DType::f16:
      return copy<Float16>;
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

void Positions::read_inside(const void* from, std::int64_t first, std::int64_t count, std::int64_t size, Outside outside,
                            std::int64_t* to) const {
  read(from, first, count, to);
  for (std::int64_t j = 0; j < count; ++j) to[j] = inside(to[j], size, outside);
}

bool Positions::all_inside(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size) const {
  std::int64_t found[128];
  bool inside = true;
  for (std::int64_t i = begin; i < end; i += 128) {
    const std::int64_t count = std::min<std::int64_t>(128, end - i);
    read(from, i, count, found);
    for (std::int64_t j = 0; j < count; ++j) inside &= found[j] >= 0 && found[j] < size;
  }
  return inside;
}

}  // namespace gluonnx
