// The microkernels of products over windows: one factor is read where the operator's caller left it, the other comes in panels.
#pragma once

#include <cstdint>

#include "../../base/vec.h"

namespace gluonnx::backward {

using Index = std::int64_t;

#if defined(__AVX512F__)
constexpr int ROWS = 6, BLOCKS = 4;  // 24 sums, 4 registers of the panel and a broadcast
#elif defined(__AVX__) || defined(__aarch64__)
constexpr int ROWS = 6, BLOCKS = 1;
#else
constexpr int ROWS = 2, BLOCKS = 1;
#endif
constexpr Index WIDTH = 16 * BLOCKS;  // columns of a panel; the last one may have fewer blocks

// The factor that is not packed: element (row, i, j) at data[row * row_step + i * outer_step + j * inner_step], summed over i and j.
// Weights and gradients are read in place this way: in training they are others at every step, and packing them would move
// more memory than the product itself where images are small.
struct Factor {
  const float* data;
  Index row_step, outer_step, inner_step;
  Index outer, inner;
};

// sums[row][blocks * 16] of `rows` rows of the factor times a panel of outer * inner rows of blocks * 16 floats.
using Micro = void (*)(const Factor& factor, const float* panel, float* sums);
Micro micro(int rows, int blocks);

}  // namespace gluonnx::backward
