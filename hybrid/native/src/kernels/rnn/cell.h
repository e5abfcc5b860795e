// What a recurrent layer does with the sums of a step: gates, memory cells and the new state.
#pragma once

#include "../../base/math.h"
#include "../../base/tensor.h"

namespace gluonnx::rnn {

enum class Mode { relu, tanh, lstm, gru };

constexpr std::int64_t gates_of(Mode m) { return m == Mode::lstm ? 4 : m == Mode::gru ? 3 : 1; }
// What a step leaves for its gradient, in units: i f g o and the cell of an LSTM; r, z, n and what n gets from the state of
// a GRU.
constexpr std::int64_t kept_of(Mode m) { return m == Mode::lstm ? 5 : m == Mode::gru ? 4 : 0; }

// Bounds of an LSTM's cell; what is no number becomes the lower one where it is not kept.
struct Clip {
  float low, high;
  bool keeps_nan;
};

// One step of up to 16 units of one sequence. All gates are 16 floats, `apart` from one another.
struct Cell {
  const float* given;     // what the input gives to the gates, biases included
  const float* recalled;  // what the state gives
  std::int64_t apart;
  const float* new_bias;  // of what n recalls, GRU only
  const float* before;    // the state before, GRU only
  float* cell;            // 16 floats, LSTM only: the cell before, and after
  float* after;           // the new state
  int count;              // units that exist
  const struct Clip* clip;  // of an LSTM's cell, null for none
  // for the gradient, null when there will be none
  float* kept;  // gates, `size` from one another
  float* kept_cell;
  std::int64_t size;
};

// The gradient of one step of up to 16 units of one sequence.
struct BackCell {
  const float* kept;         // as Cell left them, gates `size` from one another
  const float* cell;         // kept too
  const float* cell_before;  // LSTM only
  const float* before;       // the state before, GRU only
  const float* after;        // the state after, plain cells only
  const float* dy;           // the gradient of the output
  const float* through;      // 16 floats: the gradient of the state through the gates of the step that follows it
  float* direct;             // 16 floats: what comes past these gates, and what goes on: of an LSTM's cell or a GRU's state
  float* given;              // the gradient of what the input gives to the gates, `size` from one another
  float* recalled;           // the same of what the state gives, GRU only
  std::int64_t size;
  int count;
};

using CellFunction = void (*)(const Cell&);
CellFunction cell_function_of(Mode mode);
using BackCellFunction = void (*)(const BackCell&);
BackCellFunction back_cell_function_of(Mode mode);

}  // namespace gluonnx::rnn
