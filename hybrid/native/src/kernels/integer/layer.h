// What MXNet's fused quantised layers have beside their product: where the operands are, and what becomes of the sums; see
// hybrid/ops/quantized_products.py, whose float32 arithmetic this is.
#pragma once

#include <optional>

#include "sums.h"

namespace gluonnx::integer {

struct Layer {
  static constexpr int WEIGHT_SCALE = 2;

  int bias = -1, ranges = -1, other = -1, reach = -1;  // inputs by position; other's range follows it
  bool whole = false, bias_whole = false, data_signed = false, other_signed = false;
  Index filters = 0, scales = 1;
  std::optional<float> low, high;  // the calibrated range
  Act act, late;
  DType type = DType::i8;

  // Reads the attributes, and checks all operands but data, weight and result.
  static Layer of(const Call& call, Index filters);

  // Sets the epilogue for a run. addends, factors: memory for a number of each filter.
  void set(const Run& run, Epilogue& f, float* addends, float* factors) const;
  void give_range(const Run& run) const;
};

}  // namespace gluonnx::integer
