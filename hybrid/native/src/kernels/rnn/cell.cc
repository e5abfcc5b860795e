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

GX_INLINE Block sum(const Cell& c, int gate) { return load(c.given + gate * c.apart) + load(c.recalled + gate * c.apart); }

void lstm(const Cell& c) {
  const Block enter = sigmoid(sum(c, 0)), forget = sigmoid(sum(c, 1)), fresh = tanh(sum(c, 2)), leave = sigmoid(sum(c, 3));
  const Block cell = fma(enter * fresh, forget, load(c.cell));
  store(c.cell, cell);
  store_some(c.after, leave * tanh(cell), c.count);
  if (!c.kept) return;
  store_some(c.kept, enter, c.count);
  store_some(c.kept + c.size, forget, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, leave, c.count);
  store_some(c.kept_cell, cell, c.count);
}

void gru(const Cell& c) {
  const Block reset = sigmoid(sum(c, 0)), update = sigmoid(sum(c, 1));
  const Block recalled = load(c.recalled + 2 * c.apart) + load(c.new_bias);
  const Block fresh = tanh(fma(load(c.given + 2 * c.apart), reset, recalled));
  store_some(c.after, fma((splat(1) - update) * fresh, update, load_some(c.before, c.count)), c.count);
  if (!c.kept) return;
  store_some(c.kept, reset, c.count);
  store_some(c.kept + c.size, update, c.count);
  store_some(c.kept + 2 * c.size, fresh, c.count);
  store_some(c.kept + 3 * c.size, recalled, c.count);
}

void plain_tanh(const Cell& c) { store_some(c.after, tanh(sum(c, 0)), c.count); }
void plain_relu(const Cell& c) { store_some(c.after, at_least(sum(c, 0), zero()), c.count); }

}  // namespace

Step step_of(Mode mode) {
  switch (mode) {
    case Mode::lstm: return lstm;
    case Mode::gru: return gru;
    case Mode::tanh: return plain_tanh;
    default: return plain_relu;
  }
}

}  // namespace gluonnx::rnn
