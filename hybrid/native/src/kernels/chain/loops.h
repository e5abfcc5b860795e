// Loops over a piece of a few arrays, one per word of the chain's language.
#pragma once

#include <cmath>

#include "../../base/lanes.h"

namespace gluonnx::chain {

// One instruction: d[i] = word(a[i], b[i], c[i]) for n elements; d may be one of the operands whose elements have its size.
using Loop = void (*)(void* d, const void* a, const void* b, const void* c, std::int64_t n);

// An operand: n numbers, or one that stands for all.
template <class T, bool SINGLE>
struct Operand {
  const T* p;
  Vector<T> all;
  GX_INLINE Operand of(const T* p) {
    if constexpr (SINGLE) return {p, *p - Vector<T>{}};  // adding zeros would lose the sign of -0
    else return {p, Vector<T>{}};
  }
  GX_INLINE Vector<T> at(const Operand& o, std::int64_t i) {
    if constexpr (SINGLE) return o.all;
    else return get(o.p + i);
  }
  GX_INLINE Vector<T> some(const Operand& o, std::int64_t i, std::int64_t n) {
    if constexpr (SINGLE) return o.all;
    else return get_some(o.p + i, n);
  }
};

// F(a), F(a, b) or F(a, b, c) on vectors; bit i of SINGLES says that operand i is one number.
template <class T, auto F, int ARITY, int SINGLES>
void loop(void* to, const void* pa, const void* pb, const void* pc, std::int64_t n) {
  using A = Operand<T, (SINGLES & 1) != 0>;
  using B = Operand < T, ARITY<2 || (SINGLES & 2) != 0>;
  using C = Operand < T, ARITY<3 || (SINGLES & 4) != 0>;
  constexpr int W = WIDTH<T>;
  T* d = static_cast<T*>(to);
  A a = A::of(static_cast<const T*>(pa));
  B b = B::of(static_cast<const T*>(ARITY < 2 ? pa : pb));
  C c = C::of(static_cast<const T*>(ARITY < 3 ? pa : pc));
  auto on = [](Vector<T> x, Vector<T> y, Vector<T> z) __attribute__((always_inline)) {
    if constexpr (ARITY == 1) return F(x);
    else if constexpr (ARITY == 2) return F(x, y);
    else return F(x, y, z);
  };
  std::int64_t i = 0;
  for (; i + W <= n; i += W) put(d + i, on(A::at(a, i), B::at(b, i), C::at(c, i)));
  if (std::int64_t rest = n - i) put_some(d + i, on(A::some(a, i, rest), B::some(b, i, rest), C::some(c, i, rest)), rest);
}

// F(a) in another type.
template <class To, class From, auto F, bool SINGLE>
void between(void* to, const void* from, const void*, const void*, std::int64_t n) {
  To* __restrict d = static_cast<To*>(to);
  const From* __restrict a = static_cast<const From*>(from);
  if constexpr (SINGLE) {
    const To all = F(*a);
    for (std::int64_t i = 0; i < n; ++i) d[i] = all;
  } else {
    for (std::int64_t i = 0; i < n; ++i) d[i] = F(a[i]);
  }
}

}  // namespace gluonnx::chain
