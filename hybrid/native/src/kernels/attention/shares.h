// A row of scores as shares: exp of what they are above the greatest, which are divided by their sum later.
#pragma once

#include <limits>

#include "../norm/common.h"

namespace gluonnx::attention {

// What becomes of the scores of a row before that.
struct Masks {
  const std::uint8_t* keep = nullptr;  // of the first key; others than those become `fill`
  const float* added = nullptr;
  bool keep_one = false, added_one = false;  // the same for all keys
  float scale = 1, softcap = 0, fill = 0;
};

GX_INLINE RegI kept(const std::uint8_t* p, std::int64_t n) {
  typedef std::uint8_t Bytes __attribute__((vector_size(LANES)));
  Bytes bytes = {};
  std::memcpy(&bytes, p, n);
  return __builtin_convertvector(bytes, RegI) != 0;
}

template <bool KEEP, bool ADDED>
GX_INLINE Reg masked(Reg x, const Masks& m, std::int64_t i, auto count) {
  if constexpr (KEEP) x = (m.keep_one ? RegI{} + (*m.keep ? -1 : 0) : kept(m.keep + i, count)) != 0 ? x : splat_reg(m.fill);
  if constexpr (ADDED) x += m.added_one ? splat_reg(*m.added) : get(m.added + i, count);
  return x;
}

template <bool KEEP, bool ADDED>
float greatest(float* s, std::int64_t n, const Masks& m) {
  const Reg least = splat_reg(-std::numeric_limits<float>::infinity());
  Reg a = least;
  each_vector(n, [&](std::int64_t i, auto count) {
    const Reg x = masked<KEEP, ADDED>(get(s + i, count) * m.scale, m, i, count);
    put(s + i, x, count);
    a = at_least(a, first(x, count, -std::numeric_limits<float>::infinity()));
  });
  return largest(a);
}

// What a row gives that has no score above -inf: NaN, as softmax has it, or zeros; or zeros where it has NaN or infinity too.
enum class Blind { nan, zeros, finite };

// s (n scores) becomes what the shares are multiples of. Gives the factor, 1 / their sum; 0 for a row of zeros.
inline float shares(float* s, std::int64_t n, Masks m, Blind rule) {
  if (n == 0) return rule == Blind::nan ? std::numeric_limits<float>::quiet_NaN() : 0.f;
  if (m.softcap != 0) {
    each_vector(n, [&](std::int64_t i, auto count) {
      put(s + i, tanh(get(s + i, count) * m.scale / m.softcap) * m.softcap, count);
    });
    m.scale = 1;
  }
  const float top = m.keep ? (m.added ? greatest<true, true>(s, n, m) : greatest<true, false>(s, n, m))
                           : (m.added ? greatest<false, true>(s, n, m) : greatest<false, false>(s, n, m));
  const bool none = top == -std::numeric_limits<float>::infinity();  // or NaN, which is passed over
  const float least = none && rule == Blind::zeros ? 0 : top;
  const double total = sum_over(n, [&](std::int64_t i, auto count) {
    const Reg e = exp_low(get(s + i, count) - least);
    put(s + i, e, count);
    return e;
  });
  if ((rule == Blind::zeros && total == 0) || (rule == Blind::finite && std::isnan(total))) return 0;
  return static_cast<float>(1 / total);
}

}  // namespace gluonnx::attention
