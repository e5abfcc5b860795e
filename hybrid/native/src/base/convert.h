// One number in another dtype, with the rules of hybrid/ops/casting.py.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace gluonnx {

// Floats become integers by cutting off fractions; what is not in reach becomes the least number, as C compiled for x86 casts, in
// 64 bits where the integers have them, else in 32, which wrap round to fewer.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    using Wide = std::conditional_t<sizeof(To) == 8, std::int64_t, std::int32_t>;
    constexpr From limit = sizeof(To) == 8 ? static_cast<From>(9223372036854775808.0) : static_cast<From>(2147483648.0);
    constexpr From least = sizeof(To) < 8 && sizeof(From) == 8 ? -limit - 1 : -limit;
    const bool inside = x < limit && (sizeof(To) < 8 && sizeof(From) == 8 ? x > least : x >= least);
    const Wide whole = static_cast<Wide>(inside ? x : From{0});
    return static_cast<To>(inside ? whole : std::numeric_limits<Wide>::min());
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace gluonnx
