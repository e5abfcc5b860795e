// Loops over a piece of a few arrays, one per word of the chain's language.
#pragma once

#include <cmath>

#include "../../base/lanes.h"

namespace gluonnx::chain {

// One instruction: d[i] = word(a[i], b[i], c[i]) for n elements; d may be one of the operands whose elements have its size. Bit i
// of `singles` says that operand i is one number, which stands for all.
using Loop = void (*)(void* d, const void* a, const void* b, const void* c, int singles, std::int64_t n);

// An operand, register by register: how far it is from one to the next is nothing where one number stands for all.
template <class T>
struct Operand {
  const T* p = nullptr;
  std::int64_t step = 0;
};
// An instruction on so many whole registers.
template <class T>
using Registers = void (*)(T* d, Operand<T> a, Operand<T> b, Operand<T> c, std::int64_t count);

// F(a), F(a, b) or F(a, b, c) on vectors: compiled once for each word, whatever its operands are.
template <class T, auto F, int ARITY>
void registers(T* d, Operand<T> a, Operand<T> b, Operand<T> c, std::int64_t count) {
  for (; count > 0; --count, d += WIDTH<T>) {
    if constexpr (ARITY == 1) put(d, F(get(a.p)));
    else if constexpr (ARITY == 2) put(d, F(get(a.p), get(b.p)));
    else put(d, F(get(a.p), get(b.p), get(c.p)));
    a.p += a.step;
    if constexpr (ARITY > 1) b.p += b.step;
    if constexpr (ARITY > 2) c.p += c.step;
  }
}

// An instruction on n numbers: a register of each operand that is one number, and one of what is left at the end.
template <class T, int ARITY>
__attribute__((noinline)) void whole(Registers<T> instruction, T* d, const T* const (&from)[3], int singles, std::int64_t n) {
  constexpr int W = WIDTH<T>;
  alignas(64) T kept[3][W];
  Operand<T> operands[3];
  for (int i = 0; i < ARITY; ++i) {
    operands[i] = {from[i], W};
    if (!(singles >> i & 1)) continue;
    put(kept[i], *from[i] - Vector<T>{});  // adding zeros would lose the sign of -0
    operands[i] = {kept[i], 0};
  }
  const std::int64_t rest = n % W;
  if (n >= W) instruction(d, operands[0], operands[1], operands[2], n / W);
  if (!rest) return;
  for (int i = 0; i < ARITY; ++i) {
    if (!operands[i].step) continue;
    put(kept[i], get_some(from[i] + (n - rest), rest));
    operands[i].p = kept[i];
  }
  alignas(64) T made[W];
  instruction(made, operands[0], operands[1], operands[2], 1);
  put_some(d + (n - rest), get(made), rest);
}
template <class T, auto F, int ARITY>
void loop(void* d, const void* a, const void* b, const void* c, int singles, std::int64_t n) {
  const T* const from[3] = {static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const T*>(c)};
  whole<T, ARITY>(registers<T, F, ARITY>, static_cast<T*>(d), from, singles, n);
}

// F(a) in another type.
template <class To, class From, auto F>
void between(void* to, const void* from, const void*, const void*, int singles, std::int64_t n) {
  To* __restrict d = static_cast<To*>(to);
  const From* __restrict a = static_cast<const From*>(from);
  if (singles) {
    const To all = F(*a);
    for (std::int64_t i = 0; i < n; ++i) d[i] = all;
  } else {
    for (std::int64_t i = 0; i < n; ++i) d[i] = F(a[i]);
  }
}

}  // namespace gluonnx::chain
