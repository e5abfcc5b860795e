// Copying between two strided pictures of memory, whatever the strides: what transposing, slicing, repeating, reversing and
// joining have in common.
#pragma once

#include <vector>

#include "move.h"

namespace gluonnx {

// An axis of a copy: how many elements, and how far apart they are on either side. from may be negative, or 0 to repeat.
struct Axis {
  std::int64_t size, from, to;
};

// The axes of a C-contiguous array, and its strides in elements.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape);

class StridedCopy {
 public:
  // Axes in any order. `to` is positive, and no two elements go to one place.
  StridedCopy(std::vector<Axis> axes, std::size_t element);

  void run(const Run& run, const std::byte* from, std::byte* to) const;
  std::int64_t size() const { return size_; }
  const char* how() const;

 private:
  enum class Mode { rows, transposed, repeated, elements };
  template <class T>
  void copy(const Run& run, const T* from, T* to) const;
  template <class T>
  void transpose(const Run& run, const T* from, T* to) const;
  template <class T>
  void row(const T* from, T* to, std::int64_t begin, std::int64_t end) const;

  std::vector<Axis> outer_;  // the last one moves fastest
  Axis inner_{1, 1, 1};
  Axis across_{1, 1, 1};  // transposed: contiguous in the source. repeated: of the elements that are repeated
  std::int64_t size_ = 1, row_ = 1;
  std::size_t element_;
  Mode mode_ = Mode::rows;
};

// A part of what a kernel copies. Parts are copied one after the other.
struct Part {
  enum Source { input, output, value } source;
  int in = 0, out = 0;            // which input and output
  std::int64_t from = 0, to = 0;  // elements before the first one
  std::vector<Axis> axes;
};

// A list of copies: to all outputs from any inputs, from the first output itself, or of one value.
class Copies : public Kernel {
 public:
  // Declines parts that reach beyond an operand, that mix elements of different sizes, or that leave some of an output unwritten.
  Copies(const std::vector<Part>& parts, const Call& call, std::uint64_t value = 0);
  void run(const Run& run) const override;

 private:
  struct BoundCopy {
    Part part;
    StridedCopy copy;
  };
  std::vector<BoundCopy> steps_;
  std::int64_t element_;
  std::uint64_t value_;
};

}  // namespace gluonnx
