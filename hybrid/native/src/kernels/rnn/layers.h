// What RNN and its gradient share: where parameters and memories lie, and how steps are shared out.
#pragma once

#include <vector>

#include "../gemm/gemm.h"
#include "cell.h"

namespace gluonnx::rnn {

using gemm::Index;

inline Index divided_up(Index a, Index b) { return (a + b - 1) / b; }

struct Geometry {
  Mode mode;
  Index steps, batch, features, size, layers, directions;
  bool ends = false;  // sequences have lengths of their own: the input after the states
  bool clips = false;  // an LSTM's cell is clipped
  Clip clip = {};

  Index gates() const { return gates_of(mode); }
  Index gate_rows() const { return gates() * size; }  // of a weight
  Index width() const { return directions * size; }   // of a layer's output
  Index rows() const { return steps * batch; }
  Index states() const { return mode == Mode::lstm ? 2 : 1; }
  Index state_count() const { return layers * directions * batch * size; }

  // The memory: outputs of all layers but the last, then what steps keep by layer and direction, then whether that is there.
  Index memory_count() const { return kept_at(layers, 0) + 1; }
  Index kept_at(Index layer, Index direction) const {
    return rows() * ((layers - 1) * width() + (layer * directions + direction) * kept_of(mode) * size);
  }
};

// One layer in one direction: where its parameters lie in the vector that holds all.
struct Place {
  Index features, i2h, h2h, i2h_bias, h2h_bias;
};

// By layer and direction; all weights come first, then all biases.
std::vector<Place> places_of(const Geometry& g);

// Hands out parts of a block of floats.
class Room {
 public:
  Index take(Index count) {
    const Index at = used_;
    used_ += divided_up(count, 16) * 16;
    return at;
  }
  Index used() const { return used_; }

 private:
  Index used_ = 0;
};

// What one thread does of a step.
struct Part {
  Index direction, step;
  Index group, group_end;  // of units
  Index row, row_end;      // of the batch
  int thread;

  // To and fro: what the second cache holds at the end of a step is what the next one begins with.
  Index nth(Index i) const { return step % 2 ? group_end - 1 - (i - group) : i; }
};

// f(part) for all steps, each after the one before, each cut into parts: by sequences where a thread has enough with some of
// them (no waiting for one another), else by groups of units. A step of one direction reads `weights` floats.
template <class F>
void each_step(const Run& run, const Geometry& g, Index steps, Index groups, Index weights, const F& f) {
  const double bytes = 4.0 * weights, seconds = std::max(2.0 * g.batch * weights / 150e9, bytes / 100e9);
  const int threads = run.threads();
  const Index D = g.directions;
  if (threads == 1 || seconds * steps * D < 20e-6) {
    for (Index s = 0; s < steps; ++s)
      for (Index d = 0; d < D; ++d) f(Part{d, s, 0, groups, 0, g.batch, 0});
    return;
  }
  const Index sequences = bytes > 1e6 ? 1 : std::clamp<Index>(g.batch / 4, 1, divided_up(2 * threads, D));
  if (sequences * D >= threads) {
    run.parallel(sequences * D, [&](Index chunk, int thread) {
      const Index d = chunk / sequences, i = chunk % sequences;
      for (Index s = 0; s < steps; ++s)
        f(Part{d, s, 0, groups, g.batch * i / sequences, g.batch * (i + 1) / sequences, thread});
    });
    return;
  }
  // two chunks a thread, of at least some microseconds each
  const Index all = D * groups;
  const Index pieces = std::clamp<Index>(std::min<Index>(2 * threads, static_cast<Index>(seconds * D / 3e-6)), 1, all);
  for (Index s = 0; s < steps; ++s)
    run.parallel(pieces, [&](Index chunk, int thread) {
      // a thread's two chunks change places from step to step, as the groups in them do
      const Index piece = s % 2 && (chunk ^ 1) < pieces ? chunk ^ 1 : chunk;
      const Index begin = all * piece / pieces, end = all * (piece + 1) / pieces;
      for (Index d = 0; d < D; ++d) {
        const Index from = std::max(begin, d * groups), to = std::min(end, (d + 1) * groups);
        if (from < to) f(Part{d, s, from - d * groups, to - d * groups, 0, g.batch, thread});
      }
    });
}

// The layers forward. Inputs: data, parameters, state, state_cell, lengths, of that dtype; outputs as RNN's.
std::unique_ptr<Kernel> make_forward(const Geometry& g, bool constant, bool states, bool training, bool seeded, int threads,
                                     DType lengths = DType::i64);

// What a call says of its layers; the input with the data is the first of RNN's inputs. False when there is no kernel for it.
__attribute__((cold)) bool read(const Call& call, int data, Geometry* g);

}  // namespace gluonnx::rnn
