// What a kernel is told of its operands when it is bound. No values: those come with each run.
#pragma once

#include <cstdint>
#include <cstddef>
#include <string>
#include <vector>

#include "check.h"

namespace gluonnx {

// The last four are other dtypes by their size: no kernel computes with them, but they can be moved.
enum class DType : std::uint8_t { f32, f64, f16, bf16, i8, u8, i32, i64, b1, other1, other2, other4, other8 };

constexpr std::size_t size_of(DType t) {
  switch (t) {
    case DType::f64:
    case DType::other8:
    case DType::i64: return 8;
    case DType::f32:
    case DType::other4:
    case DType::i32: return 4;
    case DType::f16:
    case DType::other2:
    case DType::bf16: return 2;
    default: return 1;
  }
}

constexpr std::size_t ALIGNMENT = 64;  // a cache line, and the widest vector register

// So many bytes and what is needed for the next array to be aligned.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

// Width of a channel block. A blocked tensor has the shape (N, ceil(C/16), H, W, 16).
constexpr std::int64_t BLOCK = 16;

// An operand. Plain tensors are C-contiguous, whatever their shape (0-d and zero-size included).
//
// A blocked tensor may have `halo_h` rows and `halo_w` columns of zeros around each plane, which are part of its memory, so
// that padded convolutions read without looking where they are; the executor writes the zeros, kernels write the inside
// only, unless they say otherwise (Kernel::zeroes). Images may lie further apart than they are large (`batch_stride`), when the tensor is a part of a concatenation.
// The data pointer of a run points to the first element INSIDE the halo.
// Lanes of the last block beyond the true number of channels hold anything: whoever mixes channels does not read them.
struct Tensor {
  DType dtype = DType::f32;
  Checked<std::int64_t> shape;  // none is negative, and as many bytes can be counted: Program sees to that
  bool blocked = false;
  int halo_h = 0, halo_w = 0;
  std::int64_t batch_stride = 0;  // elements between images, blocked tensors only
  bool constant = false;          // the values stay from run to run, and arrive with Kernel::prepare

  std::int64_t size() const {
    std::int64_t n = 1;
    for (auto d : shape) n *= d;
    return n;
  }
  int rank() const { return static_cast<int>(shape.size()); }
  std::int64_t row_stride() const { return (shape[3] + 2 * halo_w) * BLOCK; }            // elements, blocked only
  std::int64_t block_stride() const { return (shape[2] + 2 * halo_h) * row_stride(); }   // elements, blocked only
};

using Tensors = Checked<Tensor>;

// That a tensor has so many elements, or that shape.
inline void want_size(const Tensor& t, std::int64_t count) { want(t.size() == count); }
inline void want_shape(const Tensor& t, const std::vector<std::int64_t>& shape) { want(t.shape == shape); }
// That all operands are plain float32.
inline void want_floats(const Tensors& all) {
  for (const Tensor& t : all) want(t.dtype == DType::f32 && !t.blocked);
}

}  // namespace gluonnx
