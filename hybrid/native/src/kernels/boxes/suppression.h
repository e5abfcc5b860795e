// ONNX's non-maximum suppression, of whose result only values decide the size: first how many rows there are, then the rows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gluonnx {

struct Suppression {
  std::int64_t batch, classes, boxes;
  bool centred;         // boxes are (x, y, width, height) of the middle, else two corners (y, x) each
  std::int64_t most;    // of a class
  float overlap;        // beyond which a box goes
  bool some = false;    // only scores above
  float least = 0;      // this one count

  // Bytes of memory that choose wants, and rows that it may find at most.
  std::size_t memory() const;
  std::int64_t rows() const;
  // Writes a row (batch, class, box) for each that stays, in memory that rows() of them fit in, or none where rows is null; gives
  // how many there are.
  std::int64_t choose(const float* boxes, const float* scores, std::byte* memory, std::int64_t* rows) const;
};

}  // namespace gluonnx
