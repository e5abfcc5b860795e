// The words of _fused_chain (OPCODES in hybrid/ops/fused.py): how many operands each takes, and its loop.
#pragma once

#include <string>

#include "../../base/tensor.h"
#include "loops.h"

namespace gluonnx::chain {

struct Word {
  const char* name = nullptr;
  int arity = 0;
  float cost = 0;      // nanoseconds per element, about
  bool exact = false;  // of halves that are given as float32 it makes numbers that are halves
  Loop loop = nullptr;
  Registers instruction = nullptr;  // of what the loop is made, if it is told
};

// What numbers of a dtype are computed in: halves are float32 that were rounded, truth is a byte.
constexpr DType computed_in(DType t) {
  return t == DType::f16 || t == DType::bf16 ? DType::f32 : t == DType::b1 ? DType::u8 : t;
}

// null when there is no such word for the dtype
const Word* find_word(const std::string& name, DType dtype);
// What makes numbers of one dtype of those of another; null where they are the same as they are computed in. By way of float32
// where neither is one and the second is a half: `via` is what comes first then, else null.
const Word* find_cast(DType from, DType to, const Word** via);

}  // namespace gluonnx::chain
