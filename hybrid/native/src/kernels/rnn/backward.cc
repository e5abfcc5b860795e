// The gradient of RNN: backpropagation through time. Step by step goes only what depends on the gradient of the state; the
// gradients of weights and of the input are products over all steps.
#include <cstring>

#include "layers.h"

namespace gluonnx {
namespace rnn {
namespace {

using gemm::Floats;
using gemm::Operand;

// Which inputs and outputs are what. Heads come first: the gradients of the output, and of the states at the end.
struct Operands {
  int dy = 0, dstate = -1, dcell = -1;  // -1: zeros
  int data, parameters, state, cell = -1, output, memory;
};

class Backward : public Kernel {
 public:
  __attribute__((cold)) Backward(const Geometry& g, const Operands& operands, int threads)
      : g_(g), in_(operands), places_(places_of(g)), threads_(threads) {
    const Index D = g.directions, rows = g.gate_rows();
    Room room;
    given_ = room.take(D * g.rows() * rows);
    recalled_ = g.mode == Mode::gru ? room.take(D * g.rows() * rows) : given_;
    between_ = room.take(std::min<Index>(g.layers - 1, 2) * g.rows() * g.width());
    direct_ = room.take(D * g.batch * padded());
    packed_size_ = divided_up(gemm::packed_size(g.size, rows), 16) * 16;
    packed_ = room.take(D * packed_size_);
    own_size_ = divided_up(g.batch * (gemm::WIDTH + rows), 16) * 16;
    own_ = room.take(threads * own_size_);
    product_ = room.used();
    std::size_t product = 0;
    for (const Place& place : places_) {
      for (const gemm::Sizes& s : {gemm::Sizes{rows, place.features, g.rows()}, gemm::Sizes{rows, g.size, g.rows()},
                                   gemm::Sizes{g.rows(), place.features, rows}})
        product = std::max(product, gemm::scratch_bytes(s, false, threads));
      flops += 4.0 * g.rows() * rows * (place.features + g.size);
    }
    scratch = room.used() * sizeof(float) + product;
    how = std::to_string(g.layers) + " layers of " + std::to_string(g.size);
  }

  void run(const Run& run) const override {
    const float* memory = run.input<float>(in_.memory);
    Floats again;  // out of training nothing was kept
    if (!memory[g_.memory_count() - 1]) {
      again.resize(g_.memory_count());
      keep(run, again.data());
      memory = again.data();
    }
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const float* dy = run.input<float>(in_.dy);
    for (Index layer = g_.layers - 1; layer >= 0; --layer) {
      Layer l;
      l.number = layer;
      l.memory = memory;
      l.x = layer ? memory + (layer - 1) * g_.rows() * g_.width() : run.input<float>(in_.data);
      l.y = layer + 1 < g_.layers ? memory + layer * g_.rows() * g_.width() : run.input<float>(in_.output);
      l.dy = dy;
      l.dx = layer ? scratch + between_ + (layer - 1) % 2 * g_.rows() * g_.width() : run.output<float>(0);
      backward(run, l);
      dy = l.dx;
    }
  }

 private:
  struct Layer {
    Index number;
    const float *memory, *x, *y, *dy;
    float* dx;
  };

  Index groups() const { return divided_up(g_.size, gemm::WIDTH); }
  Index padded() const { return groups() * gemm::WIDTH; }
  Index place_of(const Layer& l, Index d) const { return l.number * g_.directions + d; }

  // Goes forward again, for the memory.
  void keep(const Run& run, float* memory) const {
    auto forward = make_forward(g_, false, false, true, false, threads_);
    Floats room, out;
    room.resize(forward->scratch / sizeof(float) + 1);
    out.resize(g_.rows() * g_.width());
    const void* in[] = {run.in[in_.data], run.in[in_.parameters], run.in[in_.state], in_.cell < 0 ? nullptr : run.in[in_.cell]};
    void* results[] = {out.data(), memory};
    forward->run({in, results, reinterpret_cast<std::byte*>(room.data()), run.pool});
  }

  void backward(const Run& run, const Layer& l) const {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const float* parameters = run.input<float>(in_.parameters);
    const Index rows = g_.gate_rows();
    for (Index d = 0; d < g_.directions; ++d) {
      const Operand recurrent{parameters + places_[place_of(l, d)].h2h, g_.size, false};
      gemm::pack_b(recurrent, g_.size, rows, scratch + packed_ + d * packed_size_, run.pool);
      begin(run, l, d);
    }
    each_step(run, g_, g_.steps + 1, groups(), rows * g_.size, [&](const Part& part) { step(run, l, part); });
    for (Index d = 0; d < g_.directions; ++d) {
      if (g_.mode == Mode::lstm) {
        const float* direct = scratch + direct_ + d * g_.batch * padded();
        float* to = run.output<float>(3) + place_of(l, d) * g_.batch * g_.size;
        for (Index n = 0; n < g_.batch; ++n) std::memcpy(to + n * g_.size, direct + n * padded(), g_.size * sizeof(float));
      }
      parameters_and_input(run, l, d);
    }
  }

  // What comes past the gates of the last step: the gradient of an LSTM's last cell.
  void begin(const Run& run, const Layer& l, Index d) const {
    float* direct = reinterpret_cast<float*>(run.scratch) + direct_ + d * g_.batch * padded();
    std::memset(direct, 0, g_.batch * padded() * sizeof(float));
    if (in_.dcell < 0) return;
    const float* from = run.input<float>(in_.dcell) + place_of(l, d) * g_.batch * g_.size;
    for (Index n = 0; n < g_.batch; ++n) std::memcpy(direct + n * padded(), from + n * g_.size, g_.size * sizeof(float));
  }

  // Step s goes through time T - 1 - s (s in the reverse direction); the one after the last leaves the gradient of the state
  // at the beginning.
  void step(const Run& run, const Layer& l, const Part& part) const {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const Index d = part.direction, size = g_.size, rows = g_.gate_rows(), count = part.row_end - part.row;
    const Index time = d ? part.step : g_.steps - 1 - part.step, earlier = d ? time + 1 : time - 1;
    const Index state_at = place_of(l, d) * g_.batch * size;
    const bool first = earlier < 0 || earlier >= g_.steps;  // this step begins with the initial state
    float* own = scratch + own_ + part.thread * own_size_;
    gemm::Product p;
    const float* packed_a = nullptr;
    if (part.step > 0) {
      const Index later = d ? time - 1 : time + 1;
      p.sizes = {count, size, rows};
      p.a = {scratch + recalled_ + ((d * g_.steps + later) * g_.batch + part.row) * rows, rows, false};
      p.packed = scratch + packed_ + d * packed_size_;
      p.c = own;
      p.ldc = gemm::WIDTH;
      if (count != 1) {
        gemm::pack_a(p.a, count, rows, own + count * gemm::WIDTH);
        packed_a = own + count * gemm::WIDTH;
      }
    }
    const BackCellFunction gates = back_cell_function_of(g_.mode);
    const float* kept = l.memory + g_.kept_at(l.number, d);
    const float* cells = kept + g_.rows() * 4 * size;
    for (Index i = part.group; i < part.group_end; ++i) {
      const Index begin = part.nth(i) * gemm::WIDTH, end = std::min(begin + gemm::WIDTH, size);
      if (part.step > 0) gemm::multiply_packed(p, packed_a, begin, end);
      else last_state(run, state_at, part, begin, end, own);
      for (Index r = 0; r < count; ++r) {
        const Index n = part.row + r, at = time * g_.batch + n, before = earlier * g_.batch + n;
        for (Index unit = begin; unit < end; unit += 16) {
          BackCell c;
          c.count = static_cast<int>(std::min<Index>(16, end - unit));
          c.through = own + r * gemm::WIDTH + unit - begin;
          c.direct = scratch + direct_ + (d * g_.batch + n) * padded() + unit;
          if (part.step == g_.steps) {
            float* to = run.output<float>(2) + state_at + n * size + unit;
            for (int j = 0; j < c.count; ++j) to[j] = c.through[j] + (g_.mode == Mode::gru ? c.direct[j] : 0);
            continue;
          }
          c.kept = kept + at * 4 * size + unit;
          c.cell = cells + at * size + unit;
          c.cell_before = nullptr;
          if (in_.cell >= 0)
            c.cell_before = first ? run.input<float>(in_.cell) + state_at + n * size + unit : cells + before * size + unit;
          c.before =
              first ? run.input<float>(in_.state) + state_at + n * size + unit : l.y + before * g_.width() + d * size + unit;
          c.after = l.y + at * g_.width() + d * size + unit;
          c.dy = l.dy + at * g_.width() + d * size + unit;
          c.given = scratch + given_ + (d * g_.rows() + at) * rows + unit;
          c.recalled = scratch + recalled_ + (d * g_.rows() + at) * rows + unit;
          c.size = size;
          gates(c);
        }
      }
    }
  }

  // The gradient of the states at the end, as the product gives it for other steps.
  void last_state(const Run& run, Index state_at, const Part& part, Index begin, Index end, float* to) const {
    for (Index n = part.row; n < part.row_end; ++n, to += gemm::WIDTH) {
      std::memset(to, 0, gemm::WIDTH * sizeof(float));
      if (in_.dstate >= 0)
        std::memcpy(to, run.input<float>(in_.dstate) + state_at + n * g_.size + begin, (end - begin) * sizeof(float));
    }
  }

  void parameters_and_input(const Run& run, const Layer& l, Index d) const {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const Place& place = places_[place_of(l, d)];
    const Index rows = g_.gate_rows(), all = g_.rows(), N = g_.batch;
    const float *given = scratch + given_ + d * all * rows, *recalled = scratch + recalled_ + d * all * rows;
    const float* parameters = run.input<float>(in_.parameters);
    float* out = run.output<float>(1);
    Run inner = run;
    inner.scratch = reinterpret_cast<std::byte*>(scratch + product_);
    auto multiply = [&](const gemm::Sizes& sizes, const Operand& a, const Operand& b, float* c, bool adds) {
      gemm::Product p;
      p.sizes = sizes;
      p.a = a;
      p.b = b;
      p.c = c;
      p.ldc = sizes.n;
      p.epilogue.accumulate = adds;
      gemm::multiply(p, inner);
    };
    multiply({rows, place.features, all}, {given, rows, true}, {l.x, place.features, false}, out + place.i2h, false);
    // the states that steps began with: the initial one, then the outputs but for the last
    const Index first = d ? all - N : 0, rest = std::max<Index>(0, all - N);
    const float* initial = run.input<float>(in_.state) + place_of(l, d) * N * g_.size;
    multiply({rows, g_.size, g_.steps ? N : 0}, {recalled + std::max<Index>(0, first) * rows, rows, true},
             {initial, g_.size, false}, out + place.h2h, false);
    if (rest)
      multiply({rows, g_.size, rest}, {recalled + (d ? 0 : N) * rows, rows, true},
               {l.y + (d ? N * g_.width() : 0) + d * g_.size, g_.width(), false}, out + place.h2h, true);
    add_up(run, given, out + place.i2h_bias);
    if (recalled == given) std::memcpy(out + place.h2h_bias, out + place.i2h_bias, rows * sizeof(float));
    else add_up(run, recalled, out + place.h2h_bias);
    multiply({all, place.features, rows}, {given, rows, false}, {parameters + place.i2h, place.features, false}, l.dx, d > 0);
  }

  // The sum over all steps and sequences.
  void add_up(const Run& run, const float* from, float* to) const {
    const Index rows = g_.gate_rows();
    run.ranges(rows, 1 + (1 << 16) / (g_.rows() + 1), [&](Index begin, Index end, int) {
      std::memset(to + begin, 0, (end - begin) * sizeof(float));
      for (Index i = 0; i < g_.rows(); ++i)
        for (Index j = begin; j < end; ++j) to[j] += from[i * rows + j];
    });
  }

  Geometry g_;
  Operands in_;
  std::vector<Place> places_;
  int threads_;
  // parts of the scratch, in floats
  Index given_, recalled_, between_, direct_, packed_, packed_size_, own_, own_size_, product_;
};

}  // namespace
}  // namespace rnn

std::unique_ptr<Kernel> bind_backward_RNN(const Call& call) {
  rnn::Operands in;
  const bool lstm = call.attrs.text("mode") == "lstm";
  int next = 1;
  if (call.attrs.flag("state_outputs")) {
    in.dstate = next++;
    if (lstm) in.dcell = next++;
  }
  in.data = next++;
  in.parameters = next++;
  in.state = next++;
  if (lstm) in.cell = next++;
  in.output = next++;
  in.memory = next++;
  rnn::Geometry g;
  if (static_cast<int>(call.in.size()) != next || !rnn::read(call, in.data, &g)) return nullptr;  // with dropout, or lengths
  if (g.clips) return nullptr;
  call.attrs.ignore("p");
  want_size(call.in[in.dy], g.rows() * g.width());
  want_size(call.in[in.output], g.rows() * g.width());
  want_size(call.in[in.memory], g.memory_count());
  for (int i : {in.dstate, in.dcell})
    if (i >= 0) want_size(call.in[i], g.state_count());
  want_floats(call.out);
  want_size(call.out[0], call.in[in.data].size());
  want_size(call.out[1], call.in[in.parameters].size());
  for (rnn::Index i = 0; i < g.states(); ++i) want_size(call.out[2 + i], g.state_count());
  return std::make_unique<rnn::Backward>(g, in, call.threads);
}

}  // namespace gluonnx
