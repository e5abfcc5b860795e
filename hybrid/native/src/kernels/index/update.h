// What a number that is put at a place makes of the one that is there.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "../../base/numbers.h"

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

// f(std::integral_constant<Update, ...>, T{}): T is the type of the dtype's numbers, for replacing one of their size. Null where
// there is none.
template <class F>
std::unique_ptr<Kernel> by_update(Update kind, DType dtype, F&& f) {
  if (kind == Update::replace)
    switch (size_of(dtype)) {
      case 1:
        return f(std::integral_constant<Update, Update::replace>{}, std::uint8_t{});
      case 2:
        return f(std::integral_constant<Update, Update::replace>{}, std::uint16_t{});
      case 4:
        return f(std::integral_constant<Update, Update::replace>{}, std::uint32_t{});
      default:
        return f(std::integral_constant<Update, Update::replace>{}, std::uint64_t{});
    }
  if (dtype == DType::b1 && kind == Update::add) return nullptr;
  return by_number(dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    switch (kind) {
      case Update::add:
        return f(std::integral_constant<Update, Update::add>{}, t);
      case Update::multiply:
        return f(std::integral_constant<Update, Update::multiply>{}, t);
      case Update::largest:
        return f(std::integral_constant<Update, Update::largest>{}, t);
      default:
        return f(std::integral_constant<Update, Update::smallest>{}, t);
    }
  });
}

// The result begins as a copy of the data that it updates, or as zeros.
inline void begin_with(const Run& run, const std::byte* data, std::byte* to, std::int64_t bytes) {
  run.ranges(bytes, 64 << 10, [&](std::int64_t begin, std::int64_t end, int) {
    if (data) std::memcpy(to + begin, data + begin, static_cast<std::size_t>(end - begin));
    else std::memset(to + begin, 0, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace gluonnx
