// The code of a chain, parsed into instructions between values that are named by numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "words.h"

namespace gluonnx::chain {

template <class T>
struct Value {
  enum Kind { input, number, result } kind;
  int input_index = -1;  // of an input
  T constant = 0;        // of a number
};

template <class T>
struct Instruction {
  const Word<T>* word;
  int operands[3];
  int result;
};

template <class T>
struct Code {
  std::vector<Value<T>> values;
  std::vector<Instruction<T>> instructions;  // the last one gives the chain's result
  int words = 0;                             // as they were written
};

// Nothing when a word is unknown or the code is not well formed. Equal expressions are computed once, and frequent successions
// of words become one.
template <class T>
std::optional<Code<T>> parse(const std::string& text, int inputs);

}  // namespace gluonnx::chain
