#include "update.h"

#include "../../base/numbers.h"
#include "../move/move.h"

namespace gluonnx {
namespace {

// Whole numbers wrap round; NaN is larger, and smaller, than any number.
template <Update KIND, class T>
T updated(T had, T given) {
  if constexpr (KIND == Update::replace) {
    return given;
  } else if constexpr (KIND == Update::largest) {
    return had > given || had != had ? had : given;
  } else if constexpr (KIND == Update::smallest) {
    return had < given || had != had ? had : given;
  } else if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<std::uint64_t>(had), b = static_cast<std::uint64_t>(given);
    return static_cast<T>(KIND == Update::add ? a + b : a * b);
  } else {
    return KIND == Update::add ? had + given : had * given;
  }
}

template <Update KIND, class T>
void apply(void* result, const void* updates, const std::int64_t* at, std::int64_t count, std::int64_t row, std::int64_t first,
           std::int64_t last) {
  T* to = static_cast<T*>(result);
  const T* from = static_cast<const T*>(updates);
  if (row == 1 && last - first == 1) {
    for (std::int64_t j = 0; j < count; ++j) to[at[j]] = updated<KIND>(to[at[j]], from[j]);
    return;
  }
  for (std::int64_t j = 0; j < count; ++j) {
    const T* more = from + j * row;
    T* had = to + at[j] * row;
    for (std::int64_t i = first; i < last; ++i) had[i] = updated<KIND>(had[i], more[i]);
  }
}

template <class T>
Apply of_number(Update kind) {
  switch (kind) {
    case Update::add:
      return apply<Update::add, T>;
    case Update::multiply:
      return apply<Update::multiply, T>;
    case Update::largest:
      return apply<Update::largest, T>;
    default:
      return apply<Update::smallest, T>;
  }
}

}  // namespace

Apply apply_of(Update kind, DType dtype) {
  if (kind == Update::replace) return by_size(dtype, [](auto t) -> Apply { return apply<Update::replace, decltype(t)>; });
  if (dtype == DType::b1 && kind == Update::add) return nullptr;
  return by_number(dtype, [&](auto t) -> Apply { return of_number<decltype(t)>(kind); });
}

}  // namespace gluonnx
