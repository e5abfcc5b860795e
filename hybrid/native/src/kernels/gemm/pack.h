// Packing: strips of A and panels of B, each one stream in the order in which the microkernels read it.
#pragma once

#include "tile.h"

namespace gluonnx::gemm {

// Rows [row, row + rows) and columns [column, column + k) of a, as (k, rows).
void pack_strip(const Operand& a, Index row, Index rows, Index column, Index k, float* to);

// Rows [row, row + k) and columns [column, column + columns) of b, as (k, width) with zeros beyond the columns, in rows that
// are `step` apart.
void pack_panel(const Operand& b, Index row, Index k, Index column, Index columns, Index width, float* to, Index step);

}  // namespace gluonnx::gemm
