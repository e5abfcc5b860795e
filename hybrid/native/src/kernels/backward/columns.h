// Windows as columns of a panel: bringing together what they see, and putting apart what was computed for them.
#pragma once

#include "windows.h"

namespace gluonnx::backward {

// A run of windows: where each of them is, and how many at a time are neighbours.
struct Columns {
  static constexpr Index MOST = 256;
  alignas(64) std::int32_t at[MOST];
  Index count;
  int unit[MOST / 16];  // of sixteen columns: 16, 8 or 4 of them are neighbours, or 1

  // windows [begin, end) of all images; end - begin at most MOST
  void fill(const Three& windows, const Lattice& lattice, Index begin, Index end);
  int unit_of(Index block, Index blocks) const { return *std::min_element(unit + block, unit + block + blocks); }
};

// Rows of a panel: for each channel and each tap what `blocks` blocks of columns see.
void build(const Columns& columns, Index block, Index blocks, const float* data, Index channels, Index plane, const Index* taps,
           Index count, float* panel);

// The same transposed: a row for every column, with what it sees of blocks * 16 elements, which are `elements` away from where
// a column is. Rows are made by sixteens.
void build_transposed(const Columns& columns, const float* data, const Index* elements, Index blocks, float* panel);

// Sums of `rows` rows of blocks * 16 columns, to where the columns from `block` on are in each row's plane: added to what is
// there, or, when fresh, to the row's `starts` (null: 0).
void put(const Columns& columns, Index block, Index blocks, int rows, const float* sums, bool fresh, const float* starts,
         float* const* planes);

}  // namespace gluonnx::backward
