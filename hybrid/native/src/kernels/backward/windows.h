// Where the windows of a convolution lie, in up to three dimensions, and how what they see is brought into panels.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "../../base/kernel.h"
#include "tile.h"

namespace gluonnx::backward {

using Three = std::array<Index, 3>;  // depth, height, width

constexpr Index COPIES = Index{8} << 20;  // elements of copied images at a time
constexpr double WORTH = 4e6;             // flops that are worth handing over

inline Index volume(const Three& sizes) { return sizes[0] * sizes[1] * sizes[2]; }
inline Index ceiling(Index a, Index b) { return (a + b - 1) / b; }
// A convolution from `in` to `out` elements per channel, whichever operator it comes from. It may stop before the end of the
// data and reach past it, as in the transposed ones; what it finds there is zero.
struct Shape {
  Index batch = 1, channels = 1, filters = 1, groups = 1;
  Three in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilate{1, 1, 1}, pad{0, 0, 0};

  Index taps() const { return volume(kernel); }
  Index group_channels() const { return channels / groups; }
  Index group_filters() const { return filters / groups; }
  double flops() const { return 2.0 * batch * filters * volume(out) * group_channels() * taps(); }
  bool empty() const { return !(batch && channels && filters && volume(in) && volume(out)); }

  // Of tensors (N, C, *in) and (N, O, *out) and the operator's attributes; false where data come channels last.
  __attribute__((cold)) bool read(const Attrs& attrs, const Tensor& data, const Tensor& result, bool transposed, DType dtype = DType::f32);
  // That a tensor holds the weights, in either order.
  void want_weight(const Tensor& weight, DType dtype = DType::f32) const;
};

// One product over windows: window w is at w * step, and tap t looks at at[t] from there, which may lie outside the data.
struct Windows {
  Three count{1, 1, 1}, step{1, 1, 1};
  std::vector<Three> at;
};

// Where windows of several images lie, as distances in elements.
struct Lattice {
  Index image, z, y, x;
};

// Planes of data as windows read them: with zeros around, and with columns that stride apart side by side, so that neighbouring
// windows read neighbouring elements. Where neither is needed the data are read in place.
struct Layout {
  Three size{}, before{}, whole{};
  Index split = 1;  // columns x, x + split, x + 2 split ... are together
  Index width = 0;  // how many of them there are
  bool copied = false;

  Layout() = default;
  __attribute__((cold)) Layout(const Three& size, const std::vector<Windows>& readers);  // readers have the same step along the width

  Index row() const { return split * width; }
  Index plane() const { return whole[0] * whole[1] * row(); }
  Lattice lattice(const Windows& w, Index channels) const {
    return {channels * plane(), w.step[0] * whole[1] * row(), w.step[1] * row(), copied ? 1 : w.step[2]};
  }
  Index tap(const Three& at) const;
  void copy(const float* plane, float* to) const;
};

}  // namespace gluonnx::backward
