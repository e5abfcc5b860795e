// The product of a convolution that gives weights: data and output, summed over images and windows.
#pragma once

#include "columns.h"

namespace gluonnx::backward {

class Correlation : public Kernel {
 public:
  // Operands by number: the side of Shape::in and that of Shape::out.
  __attribute__((cold)) Correlation(const Shape& shape, int in, int out, int threads);
  void run(const Run& run) const override;

 private:
  void compute(const Factor& step, const float* panel, Index columns, bool fresh, float* to) const;

  Shape shape_;
  int in_, out_;
  Index rows_, elements_;  // filters of a group; channels of a group times taps: a matrix of weights
  Index windows_;          // of an image
  Index chunk_, images_;   // windows of an image, or whole images, that are summed over at a time
  Index pieces_;           // chunks of an image
  Index together_;         // images that are copied at a time
  Index panels_, parts_;   // parts: of the images, each with sums of its own, added in order at the end
  Windows windows_at_;
  Layout layout_;
  std::vector<Index> offsets_;  // of the elements in the layout, repeated at the end
  Index panel_size_ = 0;
  std::size_t sums_at_ = 0, panels_at_ = 0;
};

}  // namespace gluonnx::backward
