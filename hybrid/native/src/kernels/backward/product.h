// The two products of a convolution that give images: data and weight to output, and output and weight to data.
#pragma once

#include "columns.h"

namespace gluonnx::backward {

class Product : public Kernel {
 public:
  // to_data: from the side of `out` to that of `in`. Operands by number; bias -1: none.
  __attribute__((cold)) Product(const Shape& shape, bool to_data, int images, int weight, int bias, int threads);
  void run(const Run& run) const override;

 private:
  // Windows that go with the same taps: all of them, or with strides on the way back those that leave one rest.
  struct Phase {
    Windows windows;
    Three taps{1, 1, 1}, first{}, every{1, 1, 1};  // of the kernel along each axis: how many, which, and how far apart
    bool whole = true;                             // all taps of the kernel
    Index layers = 1;                              // depths of the kernel, where they are gone through one after the other
    std::vector<Index> offsets;                    // of the taps, in the layout
    Index start = 0;                               // of the first window's result in its plane
    Lattice results;                               // of its windows
    Index slice = 0, slices = 0;                   // channels that are treated at a time
    bool shared = false;  // panels are built once for all threads, which share out the rows; or each its own
    Index columns = 0;    // of a chunk
    Index group_chunks = 1;

    Index layer() const { return static_cast<Index>(offsets.size()) / layers; }  // taps at a time
  };
  // What is summed over at a time.
  struct Part {
    Index layer, channel, channels;
  };
  Part part(const Phase& phase, Index slice) const;
  __attribute__((cold)) Phase phase_of(const Three& begin, const Three& every) const;
  __attribute__((cold)) void plan(Phase& phase, int threads);
  Factor factor(const Phase& phase, const float* weight, Index group, Index row, const Part& part) const;
  void panels(const Phase& phase, const Columns& columns, Index count, const Part& part, const float* from, float* to) const;
  void multiply(const Factor& first, const float* panels, const Columns& results, Index count, Index rows, const float* bias,
                bool fresh, float* out) const;
  void run_shared(const Run& run, const Phase& phase, const float* from, float* panels, Index windows, float* out) const;
  void run_apart(const Run& run, const Phase& phase, const float* from, float* panels, Index windows, float* out) const;

  Shape shape_;
  bool to_data_;
  int images_, weight_, bias_;
  Index channels_, rows_;  // of a group: summed over, and of the result
  Index from_channels_, to_channels_;
  Index to_plane_;
  Index together_;  // images at a time
  Layout layout_;
  std::vector<Phase> phases_;
  Index panels_ = 0;  // floats of a thread's panels, or of all when they are shared
  std::size_t panels_at_ = 0;
};

}  // namespace gluonnx::backward
