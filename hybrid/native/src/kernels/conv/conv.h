// Convolution in two dimensions: what the operators that need one share (the fused one, the plain one, gradients of data).
//
// How to use it from another family: fill a Shape; describe the memory of input and output as Views (blocked NCHW16c, or plain
// NCHW for the input, see `Direct`); make a `Direct` when the kernel is bound and add Direct::scratch() to Kernel::scratch;
// pack the weights with Direct::pack into Direct::weight_size() floats (64-byte aligned; once in prepare() when they are
// constant, else in run(), into scratch); then call Direct::run. The gradient with respect to data is a Direct on dy whose
// Weights are read transposed and backwards (negative strides), with pad = dilate * (kernel - 1) - pad, which may be negative;
// for strides above one, one such convolution per phase, writing every stride-th pixel (View::row and View::pixel of dx).
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "../../base/kept.h"
#include "../../base/kernel.h"
#include "../../base/vec.h"

namespace gluonnx::conv {

using Index = std::int64_t;

inline Index blocks_of(Index channels) { return (channels + BLOCK - 1) / BLOCK; }

// Sizes of a convolution. Pads may be negative, and the output may reach past the padded input on the far side: it reads zeros.
struct Shape {
  Index batch = 1, channels = 1, height = 1, width = 1;
  Index filters = 1, out_height = 1, out_width = 1;
  Index kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilate_h = 1, dilate_w = 1, pad_h = 0, pad_w = 0;
  Index groups = 1;

  Index group_channels() const { return channels / groups; }
  Index group_filters() const { return filters / groups; }
  Index pixels() const { return out_height * out_width; }
  double flops() const { return 2.0 * batch * filters * pixels() * group_channels() * kernel_h * kernel_w; }
  // rows and columns of zeros that are read before and after the input
  Index top() const { return std::max<Index>(pad_h, 0); }
  Index left() const { return std::max<Index>(pad_w, 0); }
  Index bottom() const {
    return std::max<Index>((out_height - 1) * stride_h + (kernel_h - 1) * dilate_h - pad_h - height + 1, 0);
  }
  Index right() const { return std::max<Index>((out_width - 1) * stride_w + (kernel_w - 1) * dilate_w - pad_w - width + 1, 0); }
};

// Where data lies: distances in elements between images, planes (blocks of channels, or channels of plain data), rows and
// pixels. Pointers that go with it point to the first element inside the halo.
struct View {
  Index batch = 0, plane = 0, row = 0, pixel = BLOCK;
  Index halo_h = 0, halo_w = 0;
};

View view_of(const Tensor& tensor);  // blocked, or plain (N, C, H, W)

// Where weight (g, filter of the group, channel of the group, y, x) lies, as distances in elements; they may be negative.
struct Weights {
  const float* data = nullptr;
  Index group = 0, filter = 0, channel = 0, row = 0, column = 0;
};

Weights weights_of(const Shape& shape, const float* data);  // (filters, channels / groups, kernel_h, kernel_w)

// What happens to a sum before it is stored, after bias and residual were added.
struct Epilogue {
  bool leaky = false, floor = false, ceiling = false;
  float slope = 0, low = 0, high = 0;
};

GX_INLINE Reg load_part(const float* p) { return *reinterpret_cast<const RegU*>(p); }
GX_INLINE void store_part(float* p, Reg v) { *reinterpret_cast<RegU*>(p) = v; }

GX_INLINE Reg apply_epilogue(Reg v, const Epilogue& f) {
  if (f.leaky) v = v < 0 ? v * f.slope : v;
  if (f.floor) v = f.low > v ? Reg{} + f.low : v;  // NaN stays
  if (f.ceiling) v = f.high < v ? Reg{} + f.high : v;
  return v;
}
GX_INLINE Block apply_epilogue(Block v, const Epilogue& f) {
#pragma GCC unroll 4
  GX_EACH v.r[i] = apply_epilogue(v.r[i], f);
  return v;
}

// Sizes of a fused convolution as its operands and attributes say them; filters and groups are left to the caller.
Shape shape_of(const Call& call);

// That a tensor holds images of these sizes, blocked or plain.
void want_images(const Tensor& t, Index batch, Index channels, Index height, Index width);
// That the operands of a call have the sizes of the convolution; bias, residual: which inputs, 0 for none.
void want_operands(const Call& call, const Shape& shape, const Tensor& data, int weight, int bias, int residual);

// The epilogue that attributes say; which: what the names of the attributes begin with.
Epilogue epilogue_of(const Attrs& attrs, const std::string& which = "");

// The arrays of a run. bias: null, or as many as the blocks have lanes; residual: null, or of the output's shape.
struct Operands {
  const float* in = nullptr;
  const float* weights = nullptr;  // packed
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* out = nullptr;
};

// Weights and bias of a convolution: packed once where they are constant, else in each run, into its scratch.
class Stored {
 public:
  Stored() = default;
  // weight, bias: which inputs (bias 0: none). Takes what it wants of the scratch from its end on.
  Stored(const Call& call, int weight, int bias, Index size, const Shape& shape, std::size_t& scratch)
      : shape_(shape), weight_(weight), bias_(bias), size_(size), constant_(call.in[weight].constant) {
    constant_bias_ = bias > 0 && call.in[bias].constant;
    auto take = [&](Index floats) { return std::exchange(scratch, scratch + aligned(floats * sizeof(float))); };
    if (!constant_) weight_at_ = take(size);
    if (bias > 0 && !constant_bias_ && shape.filters % BLOCK) bias_at_ = take(lanes());
  }

  // Whether the input is packed once, and read then only.
  bool packs(int input) const {
    return (constant_ && input == weight_) || (constant_bias_ && bias_ > 0 && input == bias_);
  }

  template <class Algorithm>
  void prepare(const void* const* in, Pool* pool, const Algorithm& algorithm) {
    if (constant_ && in[weight_]) {
      packed_.resize(size_);
      const Run only{nullptr, nullptr, nullptr, pool};
      algorithm.pack(weights_of(shape_, static_cast<const float*>(in[weight_])), packed_.data(), only);
    }
    if (constant_bias_ && in[bias_]) {
      packed_bias_.resize(lanes());
      widen(static_cast<const float*>(in[bias_]), packed_bias_.data());
    }
  }

  // Takes over what another has packed, the algorithms packing alike.
  bool take(const Stored& from) {
    if (constant_ != from.constant_ || constant_bias_ != from.constant_bias_ || size_ != from.size_ || lanes() != from.lanes())
      return false;
    packed_ = from.packed_, packed_bias_ = from.packed_bias_;
    return true;
  }

  // Adds what it packs; form: how the algorithm does.
  void keep(const std::string& form, std::vector<Kept>& kept) {
    if (constant_) kept.push_back({&packed_, size_, form});
    if (constant_bias_) kept.push_back({&packed_bias_, lanes(), "lanes"});
  }

  // Fills in operands.weights and operands.bias.
  template <class Algorithm>
  void lend(const Run& run, const Algorithm& algorithm, Operands& operands) const {
    operands.weights = packed_.data();
    operands.bias = packed_bias_.data();
    if (!constant_) {
      float* packed = reinterpret_cast<float*>(run.scratch + weight_at_);
      algorithm.pack(weights_of(shape_, run.input<float>(weight_)), packed, run);
      operands.weights = packed;
    }
    if (bias_ > 0 && !constant_bias_) {
      operands.bias = run.input<float>(bias_);
      if (shape_.filters % BLOCK) {
        float* wide = reinterpret_cast<float*>(run.scratch + bias_at_);
        widen(operands.bias, wide);
        operands.bias = wide;
      }
    }
  }

 private:
  Index lanes() const { return blocks_of(shape_.filters) * BLOCK; }
  void widen(const float* from, float* to) const {
    std::memcpy(to, from, shape_.filters * sizeof(float));
    std::memset(to + shape_.filters, 0, (lanes() - shape_.filters) * sizeof(float));
  }

  Shape shape_;
  int weight_ = 0, bias_ = 0;
  Index size_ = 0;
  bool constant_ = false, constant_bias_ = false;
  Floats packed_, packed_bias_;
  std::size_t weight_at_ = 0, bias_at_ = 0;
};

// How many chunks work of so many flops is cut into: one when handing over costs more than it gains.
Index chunks_for(double flops, Index units, int threads);

// Copies planes into the middle of zeros. width: elements of a pixel (16, or 1 for plain data).
struct Padding {
  Index planes, height, width;            // of an image
  Index top, left, bottom, right, pixel;  // pixel: elements
  Index row() const { return (left + width + right) * pixel; }
  Index plane() const { return (top + height + bottom) * row(); }
  Index image() const { return planes * plane(); }
  void copy(const Run& run, Index images, const float* from, const View& view, float* to) const;
};

// Memory to fetch into the second-level cache while a sum is computed, because what is needed next and lies beyond comes at the
// pace at which it is asked for. Four streams, of which each plane of input fetches one on: `step` elements for each weight
// vector, and `jump` more between planes. A microkernel moves the streams on.
struct Ahead {
  const float* at[4];
  Index step, jump;
};

struct Walk;
using Micro = void (*)(const Walk&, const float* in, const float* weights, const float* bias, const float* residual, float* out,
                       Ahead& ahead);

// How a microkernel goes through its operands. Distances in elements.
struct Walk {
  Index planes, plane;    // of input
  Index rows, row;        // of the kernel
  Index columns, column;  // of the kernel
  Index inner, last;      // elements side by side that are summed over, in all planes but the last and in the last
  Index chain;            // so many are added up before registers are emptied: link()
  Index pixel;            // between the inputs of neighbouring outputs
  Index down;             // between the inputs of outputs below each other
  Index out_block, out_row, out_pixel, residual_block, residual_row, residual_pixel;
  Epilogue epilogue;

  Index depth() const { return columns * rows * ((planes - 1) * inner + last); }
  void link(Index most = CHAIN) { chain = chain_of(depth(), most); }  // when all the rest is known
};

// Output blocks that are computed together, and pixels: their product, and what it takes to feed them, fills the registers. All
// keep the multipliers busy; the more square a tile is, the fewer loads it takes, which matters on a core that another
// thread has a part of.
#if defined(__AVX512F__)
constexpr int MOST_BLOCKS = 4, MOST_PIXELS = 14;
constexpr int pixels_for(int blocks) { return blocks == 4 ? 6 : blocks == 3 ? 9 : MOST_PIXELS; }
#elif defined(__AVX__) || defined(__aarch64__)
constexpr int MOST_BLOCKS = 1, MOST_PIXELS = 6;
constexpr int pixels_for(int) { return MOST_PIXELS; }
#else
constexpr int MOST_BLOCKS = 1, MOST_PIXELS = 2;
constexpr int pixels_for(int) { return MOST_PIXELS; }
#endif

// The microkernel for so many output blocks, rows and pixels. Null when there is none of these rows and pixels; one row always has
// all up to widest(blocks, step), which is 0 where there are none of these blocks; step: elements between input pixels.
Micro micro_for(int blocks, int rows, int pixels);
int widest(int blocks, Index step);
// How many of so many output blocks to compute together over rows of so many pixels.
int group_for(Index blocks, Index width, Index step);

// Convolution by sums in registers: a few blocks of filters times some pixels at a time, over all channels and the kernel.
// Groups of channels and of filters have to be multiples of 16 when there is more than one and the input is blocked; plain
// input wants one group. The output is blocked.
class Direct {
 public:
  // blocked: whether the input is. The views are those of the runs.
  // group: how many output blocks to compute together, 0 to choose; the order of packed weights follows from it.
  Direct(const Shape& shape, bool blocked, const View& in, const View& out, const View& residual, const Epilogue& epilogue,
         int threads, int group = 0);

  static bool can(const Shape& shape, bool blocked);

  Index weight_size() const { return weight_size_; }
  void pack(const Weights& weights, float* packed, const Run& run) const;
  std::size_t scratch() const { return scratch_; }
  void run(const Run& run, const Operands& operands, std::byte* scratch) const;
  // All of it by one thread, of an uncopied input. before, after: whether output rows there are above the first and below the last.
  void alone(const Operands& operands, bool before, bool after) const {
    compute(operands, 0, strips_.size(), 0, tiles_, before, after);
  }
  int group() const { return group_; }
  bool packs_as(const Direct& other) const { return group_ == other.group_; }
  std::string form() const { return "direct " + std::to_string(group_); }
  std::string how() const;
  // The bare sums of one pixel and block of an uncopied input, slowly.
  Block sums(const Operands& operands, Index n, Index block, Index y, Index x) const;

 private:
  struct Strip {       // filters that are computed together
    Index block;       // first output block
    int blocks;        // how many
    Index in, weight;  // offsets
  };
  struct Piece {  // of a row of output
    Index at;
    Micro tall[MOST_BLOCKS], flat[MOST_BLOCKS];  // by blocks - 1: two rows at once, one row
  };
  struct Place {  // of a tile
    const float *from, *more;
    float* to;
    Micro micro;
  };
  struct Slice {  // of the planes of input
    Walk walk;
    Index in, weight;  // of its first plane, and of its weights in those of a block
  };
  void compute(const Operands& operands, Index strip0, Index strip1, Index tile0, Index tile1, bool before = false,
               bool after = false) const;
  void zero_halo(float* out, Index strip0, Index strip1, Index tile0, Index tile1, bool before, bool after) const;
  void sum_slice(const Operands& operands, const Slice& slice, Index s, bool first, bool last, Index block, Index end) const;
  Index plan_rows();
  void plan_tiles(Index width);
  void plan_order(int threads);
  void plan_slices();

  Shape shape_;
  bool blocked_, copies_ = false;
  View given_, in_, out_, residual_;  // given: the input as it comes, in: as it is read, which may be a copy
  Walk walk_{};
  Index chain_;  // of additions, at most
  std::vector<Slice> slices_;  // of walk_
  Padding padding_{};
  std::vector<Strip> strips_;
  std::vector<Piece> pieces_;
  int group_;                // output blocks of most strips
  Index height_, rows_ = 1;  // output rows, and rows of a tile
  Index tiles_ = 0;          // of an image
  Index weight_size_ = 0;
  Index tile_block_ = 1;                                  // tiles whose input stays in cache while strips pass
  Index strip_chunks_ = 1, tile_chunks_ = 1, round_ = 1;  // round: images at a time
  std::size_t scratch_ = 0;
};

// Convolution of each lane for itself: depthwise, and groups of any size, whose channels are first brought to the lanes of the
// filters that want them. Blocked input and output.
class Lanewise {
 public:
  // parts: into how many a plane is cut, 0 to choose.
  Lanewise(const Shape& shape, const View& in, const View& out, const View& residual, const Epilogue& epilogue, int threads,
           Index parts = 0);

  Index weight_size() const { return blocks_of(shape_.filters) * taps() * BLOCK; }
  void pack(const Weights& weights, float* packed, const Run& run) const;
  std::size_t scratch() const { return scratch_; }
  void run(const Run& run, const Operands& operands, std::byte* scratch) const;
  std::string how() const;

  bool packs_as(const Lanewise&) const { return true; }
  std::string form() const { return "lanewise"; }

  // Elements that one thread wants to itself.
  Index thread_size() const { return thread_size_; }
  // Rows of one block of output, by one thread with so much memory of its own; to, more: where row y0 goes, and its residual.
  void rows(const Operands& operands, Index n, Index block, Index y0, Index y1, float* own, const float* more, float* to) const;

  struct Walk;
  using Micro = void (*)(const Walk&, const float* in, const float* weights, const float* bias, const float* residual,
                         float* out);

 private:
  struct Piece {
    Index at;
    Micro micro;
  };
  Index taps() const { return shape_.group_channels() * shape_.kernel_h * shape_.kernel_w; }
  void gather(const float* image, Index block, Index first, Index rows, float* to) const;

  Shape shape_;
  bool copies_, moves_;  // into padded scratch; to other lanes
  View in_, out_, residual_;
  Epilogue epilogue_;
  std::vector<Piece> pieces_;
  Index parts_ = 1;        // of a plane
  Index row_ = 0;          // of scratch, in elements
  Index thread_size_ = 0;  // scratch of a thread, in elements
  Index chunks_ = 1;
  std::size_t scratch_ = 0;
};

// Convolution 3x3 of stride 1 by Winograd's minimal filtering: each tile of SIZE x SIZE outputs takes (SIZE + 2)^2 products per
// channel and filter instead of 9 SIZE^2. Blocked input and output, constant weights, one group.
class Winograd {
 public:
  Winograd(int size, const Shape& shape, const View& in, const View& out, const View& residual, const Epilogue& epilogue,
           int threads);

  // The tile size which is fastest, 0 when that is none: direct convolution.
  static int best(const Shape& shape);

  Index weight_size() const { return spectrum_size_ + direct_.weight_size(); }
  void pack(const Weights& weights, float* packed, const Run& run) const;
  std::size_t scratch() const { return scratch_; }
  void run(const Run& run, const Operands& operands, std::byte* scratch) const;
  bool packs_as(const Winograd& other) const {
    return size_ == other.size_ && group_ == other.group_ && together_ == other.together_ && spectrum_size_ == other.spectrum_size_ &&
           direct_.packs_as(other.direct_);
  }
  std::string form() const {
    return "winograd " + std::to_string(size_) + (together_ ? " together " : " apart ") + std::to_string(group_) + " " +
           std::to_string(spectrum_size_) + ", " + direct_.form();
  }
  std::string how() const;

 private:
  template <int SIZE>
  void transform_weights(const Weights& weights, Index block, float* packed) const;
  template <int SIZE>
  void transform_input(const Operands& operands, Index tile0, Index count, Index block0, Index block1, float* spectra) const;
  void multiply(const float* weights, const float* spectra, Index count, Index point, Index strip, float* products) const;
  template <int SIZE>
  void transform_output(const Operands& operands, Index tile0, Index count, Index block, const float* products,
                        Index stride) const;
  template <int SIZE>
  void run_size(const Run& run, const Operands& operands, float* scratch) const;
  Index weights_at(Index strip, Index point) const;  // in packed weights, in the order of their use
  Index spectrum_stride(Index count) const;          // of input, between points
  Index product_stride(Index blocks, Index count) const;

  int size_, points_, group_;
  Shape shape_;
  View in_, out_, residual_;
  Epilogue epilogue_;
  Direct direct_;  // for tiles in which something is not finite
  Index blocks_, filter_blocks_, strips_, tiles_h_, tiles_w_, tiles_;
  Index spectrum_size_;
  bool together_;       // all threads work on one part of the tiles at a time, else each on its own
  Index part_, parts_;  // tiles of a part, and how many parts
  Index thread_size_ = 0;
  std::size_t scratch_ = 0;
};

}  // namespace gluonnx::conv
