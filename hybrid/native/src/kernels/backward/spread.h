// The gradient of data by spreading: each output's gradient, times the weights, is added to the data that its window saw. With
// few channels of data this is less work than gathering (Product), which brings every gradient once per tap.
#pragma once

#include "columns.h"

namespace gluonnx::backward {

class Spread : public Kernel {
 public:
  // Operands by number; bias -1: none.
  Spread(const Shape& shape, int images, int weight, int bias, int threads);
  void run(const Run& run) const override;

  // Whether it takes less time than a Product.
  static bool better(const Shape& shape);

 private:
  Shape shape_;
  int images_, weight_, bias_;
  Three whole_{};  // data with what windows see around them
  Index plane_, from_plane_;
  Index together_;              // images of a chunk
  Index parts_;                 // of the channels of a group
  Index slice_;                 // filters that are summed over at a time
  std::vector<Index> offsets_;  // of the taps in a plane
  Lattice lattice_{}, results_{};
  Index panels_, planes_;  // floats of a thread
};

}  // namespace gluonnx::backward
