#include "reduced.h"

#include <atomic>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../../base/half.h"
#include "gemm.h"
#include "pack.h"
#include "widen.h"

namespace gluonnx::gemm {
namespace {

constexpr float LARGEST = 127;  // of the whole numbers; -128 would have no counterpart
constexpr Index LITTLE = 1 << 16;  // elements that one thread packs as soon

// The size of a number as a whole number that grows with it; those of infinities and NaN are the largest.
GX_INLINE std::int32_t size_of(float x) { return bit_cast<std::int32_t>(x) & 0x7fffffff; }

// The largest size in each of so many columns, of k rows.
void largest(const Operand& b, Index k, Index column, Index columns, float* to) {
  std::int32_t sizes[WIDTH] = {};
  if (b.transposed) {
    for (Index j = 0; j < columns; ++j) {
      const float* row = b.at(0, column + j);
      std::int32_t most = 0;
      for (Index i = 0; i < k; ++i) most = std::max(most, size_of(row[i]));
      sizes[j] = most;
    }
  } else {
    for (Index i = 0; i < k; ++i) {
      const float* row = b.at(i, column);
      for (Index j = 0; j < columns; ++j) sizes[j] = std::max(sizes[j], size_of(row[j]));
    }
  }
  for (Index j = 0; j < columns; ++j) to[j] = bit_cast<float>(sizes[j]);
}

}  // namespace

Precision precision_of(const Attrs& attrs) {
  const std::string name = attrs.text("weights", "float32");
  for (Precision p : {Precision::f32, Precision::bf16, Precision::i8})
    if (name == name_of(p)) return p;
  throw std::logic_error("a product's weights as " + name + ", which they cannot be");
}

const char* name_of(Precision precision) {
  return precision == Precision::f32 ? "float32" : precision == Precision::bf16 ? "bfloat16" : "int8";
}

bool Reduced::pack(const Operand& b, Index n, Index k, Pool* pool) {
  const bool bytes = precision_ == Precision::i8;
  const Index size = packed_size(n, k), panels = (n + WIDTH - 1) / WIDTH;
  memory_.resize((size * (bytes ? 1 : 2) + 3) / 4);
  if (bytes) scales_.resize(rounded(n));
  std::atomic<bool> finite = true;
  auto pack = [&](Index panel, float* room) {
    const Index column = panel * WIDTH, columns = std::min(WIDTH, n - column), width = 16 * blocks_for(columns);
    float scales[WIDTH];
    if (bytes) {
      largest(b, k, column, columns, scales);
      for (Index j = 0; j < columns; ++j) {
        if (!(scales[j] <= std::numeric_limits<float>::max())) finite = false;
        scales[j] = std::max(scales[j] / LARGEST, std::numeric_limits<float>::min());  // a column of zeros has one too
      }
      std::fill(scales + columns, scales + width, 1.f);
      std::memcpy(scales_.data() + column, scales, width * sizeof(float));
      if (!finite) return;
    }
    each_slice(k, [&](Index begin, Index depth) {
      pack_panel(b, begin, depth, column, columns, width, room, width);
      void* to = const_cast<void*>(at(begin * rounded(n) + column * depth));
      if (bytes) {
        auto* whole = static_cast<std::int8_t*>(to);
        for (Index i = 0; i < depth; ++i, whole += width)
          for (Index j = 0; j < width; ++j)
            whole[j] = static_cast<std::int8_t>(__builtin_rintf(room[i * width + j] / scales[j]));
        return;
      }
      auto* halves = static_cast<std::uint16_t*>(to);
      int most = 0;  // of the exponents
      for (Index i = 0; i < depth * width; ++i) {
        halves[i] = as_bfloat16(room[i]);
        most = std::max(most, halves[i] & 0x7f80);
      }
      if (most == 0x7f80) finite = false;
    });
  };
  const Index most = std::max<Index>(1, std::min<Index>(k, SLICE));
  Run run{nullptr, nullptr, nullptr, pool};
  if (!pool || n * k < LITTLE) {
    std::vector<float> room(most * WIDTH);
    for (Index i = 0; i < panels; ++i) pack(i, room.data());
  } else {
    run.ranges(panels, 1, [&](Index begin, Index end, int) {
      std::vector<float> room(most * WIDTH);
      for (Index i = begin; i < end; ++i) pack(i, room.data());
    });
  }
  if (!finite) drop();
  return finite;
}

void Reduced::widen(Index element, Index column, Index k, Index width, float* to) const {
  if (precision_ == Precision::bf16) {
    const auto* from = static_cast<const Half*>(at(element));
    for (Index i = 0; i < k * width; i += 16) store(to + i, load(from + i));
    return;
  }
  const auto* from = static_cast<const std::int8_t*>(at(element));
  const float* scales = scales_.data() + column;
  for (Index j = 0; j < width; j += 16) {
    const Block scale = load(scales + j);
    for (Index i = 0; i < k; ++i) store(to + i * width + j, load(from + i * width + j) * scale);
  }
}

}  // namespace gluonnx::gemm
