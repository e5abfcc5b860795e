// Loops over a piece of a few arrays, one per word of the chain's language.
#pragma once

#include <cmath>

#include "../../base/lanes.h"

namespace gluonnx::chain {

// An operand, register by register: how many bytes it is from one to the next, which is nothing where one number stands for all.
struct Operand {
  const std::byte* p = nullptr;
  std::int64_t step = 0;
};
// An instruction on so many whole registers.
using Registers = void (*)(void* d, Operand a, Operand b, Operand c, std::int64_t count);

// An instruction on n numbers: d[i] = word(a[i], b[i], c[i]); d may be one of the operands whose elements have its size. Bit i of
// `singles` says that operand i is one number, which stands for all.
using Loop = void (*)(Registers instruction, void* d, const void* a, const void* b, const void* c, int singles, std::int64_t n);

// F(a), F(a, b) or F(a, b, c) on vectors: compiled once for each word, whatever its operands are. F is a lambda that holds nothing,
// of which there is an object wherever one is wanted.
template <class T, class F, int ARITY>
void registers(void* d, Operand a, Operand b, Operand c, std::int64_t count) {
  struct Nothing {};
  static_assert(std::is_empty_v<F>);
  const F f = __builtin_bit_cast(F, Nothing{});
  T* to = static_cast<T*>(d);
  const auto vector = [](const Operand& from) GX_LAMBDA { return get(reinterpret_cast<const T*>(from.p)); };
  for (; count > 0; --count, to += WIDTH<T>) {
    if constexpr (ARITY == 1) put(to, f(vector(a)));
    else if constexpr (ARITY == 2) put(to, f(vector(a), vector(b)));
    else put(to, f(vector(a), vector(b), vector(c)));
    a.p += a.step;
    if constexpr (ARITY > 1) b.p += b.step;
    if constexpr (ARITY > 2) c.p += c.step;
  }
}

// The loop of a word: a register of each operand that is one number, and one of what is left at the end. W is any type of the numbers'
// size: they are only moved.
template <class W, int ARITY>
void loop(Registers instruction, void* d, const void* a, const void* b, const void* c, int singles, std::int64_t n) {
  const W* const from[3] = {static_cast<const W*>(a), static_cast<const W*>(b), static_cast<const W*>(c)};
  W* const to = static_cast<W*>(d);
  constexpr std::int64_t BYTES = LANES * 4;
  alignas(64) W kept[3][WIDTH<W>];
  Operand operands[3];
  for (int i = 0; i < ARITY; ++i) {
    operands[i] = {reinterpret_cast<const std::byte*>(from[i]), BYTES};
    if (!(singles >> i & 1)) continue;
    put(kept[i], *from[i] + Vector<W>{});
    operands[i] = {reinterpret_cast<const std::byte*>(kept[i]), 0};
  }
  const std::int64_t rest = n % WIDTH<W>;
  if (n >= WIDTH<W>) instruction(to, operands[0], operands[1], operands[2], n / WIDTH<W>);
  if (!rest) return;
  for (int i = 0; i < ARITY; ++i) {
    if (!operands[i].step) continue;
    put(kept[i], get_some(from[i] + (n - rest), rest));
    operands[i].p = reinterpret_cast<const std::byte*>(kept[i]);
  }
  alignas(64) W made[WIDTH<W>];
  instruction(made, operands[0], operands[1], operands[2], 1);
  put_some(to + (n - rest), get(made), rest);
}

// F(a) in another type.
template <class To, class From, auto F>
void between(Registers, void* to, const void* from, const void*, const void*, int singles, std::int64_t n) {
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
