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

// A loop over elements that are `step` apart.
struct Loop {
  Index count, step;
};

// The factor that is not packed: a row is summed over three loops, the last one innermost. Weights and gradients are read in
// place this way: in training they are others at every step, and packing them would move more memory than the product itself
// where images are small.
struct Factor {
  const float* data;
  Index row_step;
  Loop loops[3];

  Index depth() const { return loops[0].count * loops[1].count * loops[2].count; }
};

// sums[row][blocks * 16] of `rows` rows of the factor times a panel of depth() rows of blocks * 16 floats.
using Micro = void (*)(const Factor& factor, const float* panel, float* sums);
Micro micro(int rows, int blocks);

// Asks for what so many rows will read.
void prefetch(const Factor& factor, Index rows);

}  // namespace gluonnx::backward
