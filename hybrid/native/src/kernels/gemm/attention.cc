// Attention on interleaved projections: within a head the parts (queries, keys, values) lie side by side.
#include <cmath>

#include "many.h"

namespace gluonnx {
namespace {

using namespace gemm;

// Of (T, N, heads * parts * D), one part as N * heads matrices (T, D).
struct Interleaved {
  int input;
  Index steps, batch, heads, parts, size;

  Interleaved(const Call& call, int input, Index heads, Index parts)
      : input(input),
        steps(call.in[input].shape[0]),
        batch(call.in[input].shape[1]),
        heads(heads),
        parts(parts),
        size(heads < 1 ? 0 : call.in[input].shape[2] / times(heads, parts)) {
    want(size > 0 && call.in[input].rank() == 3 && call.in[input].shape[2] == heads * parts * size);
    want_products(call, times(batch, heads));
  }

  Layout part(Index which, bool transposed) const {
    Layout l{input, gemm::steps(batch * heads, parts * size), batch * heads * parts * size, transposed};
    for (Index& at : l.begin) at += which * size;
    return l;
  }
};

std::unique_ptr<Kernel> scores(const Call& call, const Interleaved& queries, const Interleaved& keys, Index key) {
  want(keys.batch == queries.batch && keys.size == queries.size);
  Products p;
  p.sizes = {queries.steps, keys.steps, queries.size};
  p.a = queries.part(0, false);
  p.b = keys.part(key, true);
  p.c = steps(queries.batch * queries.heads, queries.steps * keys.steps);
  p.ldc = keys.steps;
  p.alpha = static_cast<float>(1 / std::sqrt(static_cast<double>(queries.size)));
  return make(std::move(p), call);
}

std::unique_ptr<Kernel> mixed(const Call& call, const Interleaved& values, Index value) {
  const Index rows = call.in[1].shape[1], all = values.batch * values.heads;
  want_shape(call.in[1], {all, rows, values.steps});
  Products p;
  p.sizes = {rows, values.size, values.steps};
  p.a = {1, steps(all, rows * values.steps), values.steps, false};
  p.b = values.part(value, false);
  p.c = steps(all, values.size);
  p.ldc = all * values.size;
  return make(std::move(p), call);
}

}  // namespace

std::unique_ptr<Kernel> bind_selfatt_qk(const Call& call) {
  const Interleaved all(call, 0, call.attrs.integer("heads"), 3);
  return scores(call, all, all, 1);
}

std::unique_ptr<Kernel> bind_selfatt_valatt(const Call& call) {
  return mixed(call, {call, 0, call.attrs.integer("heads"), 3}, 2);
}

std::unique_ptr<Kernel> bind_encdec_qk(const Call& call) {
  const Index heads = call.attrs.integer("heads");
  return scores(call, {call, 0, heads, 1}, {call, 1, heads, 2}, 0);
}

std::unique_ptr<Kernel> bind_encdec_valatt(const Call& call) {
  return mixed(call, {call, 0, call.attrs.integer("heads"), 2}, 1);
}

}  // namespace gluonnx
