#include "cell.h"

#include <cstring>

namespace gluonnx::rnn {
namespace {

GX_INLINE Block load_some(const float* p, int count) {
  if (count == 16) return load(p);
  float all[16] = {};
  std::memcpy(all, p, count * sizeof(float));
  return load(all);
}

GX_INLINE void store_some(float* p, Block v, int count) {
  if (count == 16) return store(p, v);
  float all[16];
  store(all, v);
  std::memcpy(p, all, count * sizeof(float));
}

// 1 / b within 2 units in the last place, for b from 1 to 2**126: a division takes as long as all else that a gate needs.
GX_INLINE Reg inverse(Reg b) {
#if defined(__AVX512F__)
  const Reg r = _mm512_maskz_rcp14_ps(0xffff, b);
  return r + r * (1.f - b * r);
#else
  return 1.f / b;
#endif
}

// As sigmoid and tanh of math.h, but that sigmoid is not less than its value at -86.
GX_INLINE Block gate(Block x) {
  return each(x, [](Reg v) __attribute__((always_inline)) { return inverse(1.f + exp(at_most(-v, splat_reg(86.f)))); });
}
GX_INLINE Block curve(Block x) {
  return each(x, [](Reg v) __attribute__((always_inline)) {
    const Reg e = expm1(at_least(abs(v) * -2.f, splat_reg(-20.f)));
    return with_sign(-e * inverse(2.f + e), v);
  });
}

GX_INLINE Block sum(const Cell& c, int gate) { return load(c.given + gate * c.apart) + load(c.recalled + gate * c.apart); }

void lstm(const Cell& c) {
  const Block enter = gate(sum(c, 0)), forget = gate(sum(c, 1)), fresh = curve(sum(c, 2)), leave = gate(sum(c, 3));
  const Block cell = fma(enter * fresh, forget, load(c.cell));
  store(c.cell, cell);
  store_some(c.after, leave * curve(cell), c.count);
  if (!c.kept) return;
  store_some(c.kept, enter, c.count);
  store_some(c.kept + c.size, forget, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, leave, c.count);
  store_some(c.kept_cell, cell, c.count);
}

void gru(const Cell& c) {
  const Block reset = gate(sum(c, 0)), update = gate(sum(c, 1));
  const Block recalled = load(c.recalled + 2 * c.apart) + load(c.new_bias);
  const Block fresh = curve(fma(load(c.given + 2 * c.apart), reset, recalled));
  store_some(c.after, fma((splat(1) - update) * fresh, update, load_some(c.before, c.count)), c.count);
  if (!c.kept) return;
  store_some(c.kept, reset, c.count);
  store_some(c.kept + c.size, update, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, recalled, c.count);
}

void plain_tanh(const Cell& c) { store_some(c.after, curve(sum(c, 0)), c.count); }
void plain_relu(const Cell& c) { store_some(c.after, at_least(sum(c, 0), zero()), c.count); }

}  // namespace

Step step_of(Mode mode) {
  switch (mode) {
    case Mode::lstm:
      return lstm;
    case Mode::gru:
      return gru;
    case Mode::tanh:
      return plain_tanh;
    default:
      return plain_relu;
  }
}

}  // namespace gluonnx::rnn
