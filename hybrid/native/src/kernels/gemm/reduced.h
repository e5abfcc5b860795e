// Constant matrices in fewer bits: packed once, in the order of pack_b, and widened in registers, or panel by panel where many
// rows read them. Sums are float32.
#pragma once

#include <cstdint>

#include "../../base/floats.h"
#include "../../base/kernel.h"

namespace gluonnx::gemm {

using Index = std::int64_t;

// So many columns with those that fill the last sixteen.
constexpr Index rounded(Index columns) { return (columns + 15) / 16 * 16; }

// The matrix at data, rows `ld` elements apart; with `transposed`, the operand is the transpose of that matrix.
struct Operand {
  const float* data = nullptr;
  Index ld = 0;
  bool transposed = false;

  const float* at(Index row, Index column) const { return transposed ? data + column * ld + row : data + row * ld + column; }
};

// bf16: rounded to the nearest, ties to even. i8: in each column whole numbers from -127 to 127, rounded likewise, times a
// scale, which is the column's largest size over 127.
enum class Precision : std::uint8_t { f32, bf16, i8 };

// The one that the attribute `weights` names; float32 where a step has none.
Precision precision_of(const Attrs& attrs);
const char* name_of(Precision precision);

// Rows of A for which B is read once and as it is: where it lies, or packed in fewer bits. For more it is packed, or widened, first.
constexpr Index FEW_ROWS = 4;

class Reduced {
 public:
  Reduced() = default;
  explicit Reduced(Precision precision) : precision_(precision) {}

  // Packs b (k x n), in parallel when there is a pool. False, and nothing is held, where a weight is not finite, or would not be.
  bool pack(const Operand& b, Index n, Index k, Pool* pool);
  void drop() { memory_ = scales_ = Floats(); }
  explicit operator bool() const { return static_cast<bool>(memory_); }

  Precision precision() const { return precision_; }
  // The element at so many elements behind the first, in the order of pack_b.
  const void* at(Index element) const {
    const auto* first = reinterpret_cast<const std::byte*>(memory_.data());
    return first + element * (precision_ == Precision::i8 ? 1 : 2);
  }
  // Of the columns from this one on; null for bfloat16, which has none.
  const float* scales(Index column) const { return precision_ == Precision::i8 ? scales_.data() + column : nullptr; }
  // k rows of `width` columns (16, or a panel's), of which this column is the first and which begin at that element, as floats.
  void widen(Index element, Index column, Index k, Index width, float* to) const;

 private:
  Precision precision_ = Precision::f32;
  Floats memory_, scales_;
};

}  // namespace gluonnx::gemm
