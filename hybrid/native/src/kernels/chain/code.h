// The code of a chain, parsed into instructions between values that are named by numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "words.h"

namespace gluonnx::chain {

struct Value {
  enum Kind { input, number, result } kind;
  DType dtype;
  int input_index = -1;                   // of an input
  alignas(8) std::byte constant[8] = {};  // of a number, as it is computed in
};

struct Instruction {
  const Word* word;
  int operands[3];
  int result;
};

struct Code {
  std::vector<Value> values;
  std::vector<Instruction> instructions;  // the last one gives the chain's result
  int words = 0;                          // as they were written
  DType dtype = DType::f32;               // of the result
};

// Nothing when a word is unknown or the code is not well formed. Equal expressions are computed once, and frequent successions
// of words become one.
std::optional<Code> parse(const std::string& text, const std::vector<DType>& inputs);

}  // namespace gluonnx::chain
