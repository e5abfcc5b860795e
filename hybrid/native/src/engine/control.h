// Control flow as a step of a program. Bodies are programs themselves, which run here one step after the other: no word to
// Python, states change places between two pieces of memory, slices are read and rows are written where they lie.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "program.h"

namespace gluonnx {

// What stands in the place of a step's kernel.
class Control : public Kernel {
 public:
  // Throws std::invalid_argument where bodies and operands of these sizes do not fit each other.
  virtual void check(const Tensors& in, const Tensors& out) = 0;
  // As Kernel::run. host: who does the steps of bodies without a kernel. False for what is left to the operator's own rule, to say
  // what is wrong with it; outputs hold anything then.
  virtual bool run(const Run& run, Host* host) const = 0;
  // Whether there are kernels of all steps of bodies.
  virtual bool complete() const = 0;
  void run(const Run&) const final { throw std::logic_error("control flow runs in a program"); }
};

// What an input of a body holds.
struct Source {
  enum Kind {
    whole,    // an input of the step
    slice,    // a piece of one, another for each time round
    state,    // what the time before has left
    counter,  // how many times it has run
    flag      // the condition
  } kind;
  int number;             // of the input or of the state
  bool backward = false;  // the last slice first
};

// Where a result of a body goes.
struct Target {
  enum Kind {
    whole,  // an output of the step
    row,    // a piece of one, another for each time round
    state,
    flag
  } kind;
  int number;
  bool backward = false;
  DType dtype = DType::b1;  // of a flag
  // where it is found: what the body writes (arena: the next of its outputs),
  // or, where it only hands it on, one of its inputs, its constants or the outputs before
  Place from;
};

// A body, or a condition with a program of its own.
struct Body {
  std::shared_ptr<Program> program;
  std::vector<Source> inputs;
  std::vector<Target> results;
  std::vector<int> constants;  // which inputs of the step the program's constants are
  std::vector<bool> read;      // which of these its runs read where they are; known once they are packed
};

// A state: which input of the step it begins as, and which output it ends as.
struct State {
  int input, output;
};

struct LoopSpec {
  Body body;
  std::vector<Body> condition;  // asked each time before the body runs, if there is one
  std::vector<State> states;
  std::int64_t count = -1;     // times round that slices and rows have room for, 1 at least; -1: there are none
  std::int64_t budget = -1;    // more times round than these are an error; -1: any number
  std::int64_t examples = 1;   // the first axis of all that is a state, sliced or stacked; each is gone through for itself
  int limit = -1;              // the input with the most times round, if there is one
  int begin = -1;              // the input that says whether to begin, if there is one
  int lengths = -1;            // the input with the times round of each example, if there is one
  bool some = false;           // to go round not once is an error
  bool exact = false;          // to go round less often than there are rows is one
  int told = -1;               // the output that gets the times round, or -1 where there is no room for them all
  std::vector<int> kept = {};  // inputs that the operator's own rule would read
};

struct BranchSpec {
  std::vector<Body> condition;  // a program that says which, or none
  int chosen = -1;              // the input that says which where there is none
  Body bodies[2];               // where the condition holds, and where not
  std::vector<int> kept = {};
};

std::shared_ptr<Control> make_loop(LoopSpec spec);
std::shared_ptr<Control> make_branch(BranchSpec spec);

}  // namespace gluonnx
