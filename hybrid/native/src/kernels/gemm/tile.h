// The microkernels: tiles of C that stay in registers along K.
#pragma once

#include "gemm.h"

namespace gluonnx::gemm {

#if defined(__AVX512F__)
// 28 sums, 2 registers of B and a broadcast. 6 x 4, which takes fewer loads, reads B twice as often, from the second cache.
constexpr int HEIGHT = 14;
#elif defined(__AVX__)
constexpr int HEIGHT = 6;
#elif defined(__aarch64__)
constexpr int HEIGHT = 6;
#else
constexpr int HEIGHT = 3;
#endif
// Rows of a tile that widens B, whose numbers want registers too.
constexpr int FEW_HEIGHT = HEIGHT < 4 ? 2 : static_cast<int>(FEW_ROWS);

// One tile: `rows` (at most HEIGHT) of packed A, k * rows floats; B in rows of `ldb` numbers, blocks * 16 of which are read.
struct Tile {
  Index k;
  const float* a;
  const void* b;  // floats, or what the kernel is for
  Index ldb;
  float* c;
  Index ldc;
  Index columns;  // that exist, at most blocks * 16
  const Epilogue* epilogue;
  const float* bias;      // of the first column
  const float* residual;  // of the first element
  const float* scales = nullptr;  // factors of the sums, from the first column on, for all blocks * 16
  // What is fetched meanwhile, a line at a time, `step` bytes further for each row of B: part of the next panel.
  const char* ahead = nullptr;
  Index step = 0;
  Index apart = 16;  // numbers from a block's to the next one's, of panels that are read side by side
};

// Up to 16 sums of a row, finished and stored to c; bias and residual as in Tile.
void store_row(const float* sums, Index count, const Epilogue& epilogue, float* c, const float* bias, const float* residual);

// The kernel for tiles of so many rows and blocks of columns; there are those of fewer bits than float32's for FEW_ROWS.
using Micro = void (*)(const Tile&);
// again: see Product.
Micro micro(int rows, int blocks, Precision precision = Precision::f32, bool again = false);

// How many panels a row reads side by side where B is larger than the caches: memory gives more when it is read in several places
// at once (1.4 times with 4 of them on Zen 3). 1: a panel is wide enough.
constexpr Index ABREAST = BLOCKS > 1 ? 1 : 8 / REGISTERS;
constexpr Index BEYOND_CACHES = 1 << 20;  // bytes
Micro micro_abreast(int panels, Precision precision);

}  // namespace gluonnx::gemm
