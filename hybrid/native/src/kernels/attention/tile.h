// Products within attention: few rows, of which the left operand is read as it lies, with panels of 16 columns.
#pragma once

#include "../../base/kernel.h"
#include "../../base/lanes.h"

namespace gluonnx::attention {

using Index = std::int64_t;

// 16 columns of the right operand, k rows `ld` apart; the next panel begins `step` further.
struct Panels {
  const float* data;
  Index ld, step;
};

// c (rows x 16 * panels, rows ldc apart) = a (rows x k, rows lda apart) times b, chains of additions as in lanes.h; `add`: c += it.
void multiply(Index rows, Index k, const float* a, Index lda, Panels b, Index panels, float* c, Index ldc, bool add);

}  // namespace gluonnx::attention
