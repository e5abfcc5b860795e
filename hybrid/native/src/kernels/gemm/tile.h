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

// One tile: `rows` (at most HEIGHT) of packed A, k * rows floats; B in rows of `ldb` floats, blocks * 16 of which are read.
struct Tile {
  Index k;
  const float* a;
  const float* b;
  Index ldb;
  float* c;
  Index ldc;
  Index columns;  // that exist, at most blocks * 16
  const Epilogue* epilogue;
  const float* bias;      // of the first column
  const float* residual;  // of the first element
};

// Up to 16 sums of a row, finished and stored to c; bias and residual as in Tile.
void store_row(const float* sums, Index count, const Epilogue& epilogue, float* c, const float* bias, const float* residual);

// The kernel for tiles of so many rows and blocks of columns.
using Micro = void (*)(const Tile&);
Micro micro(int rows, int blocks);

}  // namespace gluonnx::gemm
