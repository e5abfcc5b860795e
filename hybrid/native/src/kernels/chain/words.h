// The words of _fused_chain (CODE in hybrid/ops/fused.py): how many operands each takes, and its loops.
#pragma once

#include <string>

#include "loops.h"

namespace gluonnx::chain {

template <class T>
struct Word {
  const char* name = nullptr;
  int arity = 0;
  float cost = 0;         // nanoseconds per element, about
  Loop<T> loops[8] = {};  // by which operands are single numbers: bit i for operand i
};

// null when there is no such word for T
template <class T>
const Word<T>* find_word(const std::string& name);

}  // namespace gluonnx::chain
