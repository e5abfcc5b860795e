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
GX_INLINE Block fast_sigmoid(Block x) {
  return each(x, [](Reg v) __attribute__((always_inline)) { return inverse(1.f + exp(at_most(-v, splat_reg(86.f)))); });
}
GX_INLINE Block fast_tanh(Block x) {
  return each(x, [](Reg v) __attribute__((always_inline)) {
    const Reg e = expm1(at_least(abs(v) * -2.f, splat_reg(-20.f)));
    return with_sign(-e * inverse(2.f + e), v);
  });
}

GX_INLINE Block sum(const Cell& c, int gate) { return load(c.given + gate * c.apart) + load(c.recalled + gate * c.apart); }

GX_INLINE Block clipped(Block cell, const Clip& clip) {
  const Block low = splat(clip.low), shut = clip.keeps_nan ? at_least(cell, low) : at_least(low, cell);
  return at_most(shut, splat(clip.high));
}

void lstm(const Cell& c) {
  const Block enter = fast_sigmoid(sum(c, 0)), forget = fast_sigmoid(sum(c, 1));
  const Block fresh = fast_tanh(sum(c, 2)), leave = fast_sigmoid(sum(c, 3));
  const Block whole = fma(enter * fresh, forget, load(c.cell)), cell = c.clip ? clipped(whole, *c.clip) : whole;
  store(c.cell, cell);
  store_some(c.after, leave * fast_tanh(cell), c.count);
  if (!c.kept) return;
  store_some(c.kept, enter, c.count);
  store_some(c.kept + c.size, forget, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, leave, c.count);
  store_some(c.kept_cell, whole, c.count);
}

void gru(const Cell& c) {
  const Block reset = fast_sigmoid(sum(c, 0)), update = fast_sigmoid(sum(c, 1));
  const Block recalled = load(c.recalled + 2 * c.apart) + load(c.new_bias);
  const Block fresh = fast_tanh(fma(load(c.given + 2 * c.apart), reset, recalled));
  store_some(c.after, fma((splat(1) - update) * fresh, update, load_some(c.before, c.count)), c.count);
  if (!c.kept) return;
  store_some(c.kept, reset, c.count);
  store_some(c.kept + c.size, update, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, recalled, c.count);
}

void plain_tanh(const Cell& c) { store_some(c.after, fast_tanh(sum(c, 0)), c.count); }
void plain_relu(const Cell& c) { store_some(c.after, at_least(sum(c, 0), zero()), c.count); }

// The gradient of the state after the step; what is not in it is 0.
GX_INLINE Block state_gradient(const BackCell& c) { return load(c.through) + load_some(c.dy, c.count); }

void lstm_back(const BackCell& c) {
  auto kept = [&](int gate) { return load_some(c.kept + gate * c.size, c.count); };
  auto give = [&](int gate, Block v) { store_some(c.given + gate * c.size, v, c.count); };
  const Block enter = kept(0), forget = kept(1), fresh = kept(2), leave = kept(3), one = splat(1);
  const Block dh = state_gradient(c), hidden = fast_tanh(load_some(c.cell, c.count));
  const Block dcell = fma(load(c.direct), dh * leave, one - hidden * hidden);
  give(0, dcell * fresh * enter * (one - enter));
  give(1, dcell * load_some(c.cell_before, c.count) * forget * (one - forget));
  give(2, dcell * enter * (one - fresh * fresh));
  give(3, dh * hidden * leave * (one - leave));
  store(c.direct, dcell * forget);
}

void gru_back(const BackCell& c) {
  auto kept = [&](int gate) { return load_some(c.kept + gate * c.size, c.count); };
  auto give = [&](float* to, int gate, Block v) { store_some(to + gate * c.size, v, c.count); };
  const Block reset = kept(0), update = kept(1), fresh = kept(2), recalled = kept(3), one = splat(1);
  const Block dh = state_gradient(c) + load(c.direct);
  const Block dfresh = dh * (one - update) * (one - fresh * fresh);
  const Block dreset = dfresh * recalled * reset * (one - reset);
  const Block dupdate = dh * (load_some(c.before, c.count) - fresh) * update * (one - update);
  for (float* to : {c.given, c.recalled}) {
    give(to, 0, dreset);
    give(to, 1, dupdate);
    give(to, 2, to == c.given ? dfresh : dfresh * reset);
  }
  store(c.direct, dh * update);
}

void tanh_back(const BackCell& c) {
  const Block y = load_some(c.after, c.count);
  store_some(c.given, state_gradient(c) * (splat(1) - y * y), c.count);
}

void relu_back(const BackCell& c) {
  const Block y = load_some(c.after, c.count);
  Block slope;
#pragma GCC unroll 4
  GX_EACH slope.r[i] = y.r[i] > 0.f ? splat_reg(1.f) : splat_reg(0.f);
  store_some(c.given, state_gradient(c) * slope, c.count);
}

}  // namespace

BackCellFunction back_cell_function_of(Mode mode) {
  switch (mode) {
    case Mode::lstm:
      return lstm_back;
    case Mode::gru:
      return gru_back;
    case Mode::tanh:
      return tanh_back;
    default:
      return relu_back;
  }
}

CellFunction cell_function_of(Mode mode) {
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
