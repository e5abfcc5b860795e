#include "windows.h"

#include "../move/tile.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace gluonnx::backward {

bool Shape::read(const Attrs& attrs, const Tensor& data, const Tensor& result, bool transposed) {
  attrs.ignore("workspace", "cudnn_tune", "cudnn_off", "no_bias", "num_filter");  // the shapes say the last two
  const std::string layout = attrs.text("layout", "");
  const auto& sizes = attrs.ints("kernel");
  const std::size_t rank = sizes.size();
  const auto strides = attrs.ints("stride", std::vector<Index>(rank, 1)),
             dilates = attrs.ints("dilate", std::vector<Index>(rank, 1));
  const auto pads = attrs.ints("pad", std::vector<Index>(rank, 0));
  groups = attrs.integer("num_group", 1);
  if (transposed) attrs.ignore("adj", "target_shape");  // the result's shape says it
  if (!layout.empty() && layout.back() == 'C') return false;
  const Tensor& x = transposed ? result : data;
  const Tensor& y = transposed ? data : result;
  batch = x.shape[0], channels = x.shape[1], filters = y.shape[1];
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t to = 3 - rank + i;
    in[to] = x.shape[2 + i], out[to] = y.shape[2 + i];
    kernel[to] = sizes[i], stride[to] = strides[i], dilate[to] = dilates[i], pad[to] = pads[i];
  }
  if (transposed && attrs.has("target_shape")) {
    const auto target = attrs.ints("target_shape", {});
    bool any = false;
    for (auto t : target) any |= t != 0;
    if (any)
      for (std::size_t i = 3 - rank; i < 3; ++i)
        pad[i] = ((out[i] - 1) * stride[i] + dilate[i] * (kernel[i] - 1) + 1 - in[i] + 1) / 2;
  }
  return true;
}

Layout::Layout(const Three& size, const std::vector<Windows>& readers) : size(size), whole(size) {
  Three least{}, most{};
  for (const auto& w : readers)
    for (const auto& t : w.at)
      for (int i = 0; i < 3; ++i) {
        least[i] = std::min(least[i], t[i]);
        most[i] = std::max(most[i], t[i] + (w.count[i] - 1) * w.step[i] + 1 - size[i]);
      }
  for (int i = 0; i < 3; ++i) {
    before[i] = -least[i];
    whole[i] = before[i] + size[i] + most[i];
    copied |= whole[i] != size[i];
  }
  const Index step = readers.empty() ? 1 : readers[0].step[2];
  copied |= step > 1;
  if (copied) split = step;
  width = ceiling(whole[2], split);
}

Index Layout::tap(const Three& at) const {
  const Index x = at[2] + before[2];
  return ((at[0] + before[0]) * whole[1] + at[1] + before[1]) * row() + x % split * width + x / split;
}

void Layout::copy(const float* plane, float* to) const {
  std::memset(to, 0, this->plane() * sizeof(float));
  for (Index z = 0; z < size[0]; ++z)
    for (Index y = 0; y < size[1]; ++y) {
      const float* from = plane + (z * size[1] + y) * size[2];
      float* line = to + ((z + before[0]) * whole[1] + y + before[1]) * row();
      if (split == 1) {
        std::memcpy(line + before[2], from, size[2] * sizeof(float));
        continue;
      }
      for (Index rest = 0; rest < split; ++rest) {
        const Index first = rest >= before[2] % split ? rest - before[2] % split : rest + split - before[2] % split;
        float* column = line + rest * width + (first + before[2]) / split;
        for (Index x = first; x < size[2]; x += split) *column++ = from[x];
      }
    }
}

void Columns::fill(const Three& n, const Lattice& lattice, Index begin, Index end) {
  const Index count = end - begin;
  Index x = begin % n[2], y = begin / n[2] % n[1], z = begin / (n[2] * n[1]) % n[0], image = begin / volume(n);
  for (Index i = 0; i < count; x = 0) {
    const Index base = image * lattice.image + z * lattice.z + y * lattice.y;
    for (; x < n[2] && i < count; ++x) at[i++] = static_cast<std::int32_t>(base + x * lattice.x);
    if (++y == n[1]) {
      y = 0;
      if (++z == n[0]) z = 0, ++image;
    }
  }
  // what is computed beyond the end is not kept, but has to be there to be read
  for (Index i = count; i % 16; ++i) at[i] = at[i - 1];
  for (Index i = 0; i < count; i += 16) {
    const bool whole = i + 16 <= count;
    side_by_side[i / 16] = whole && at[i + 15] - at[i] == 15;
    by_eight[i / 16] = whole && at[i + 7] - at[i] == 7 && at[i + 15] - at[i + 8] == 7;
  }
}

namespace {

// What columns 16 * block and on find at `from`, where the tap looks from position 0.
GX_INLINE Block seen(const Columns& columns, Index block, const float* from) {
  const std::int32_t* at = columns.at + 16 * block;
  if (columns.side_by_side[block]) return load(from + at[0]);
#if defined(__AVX512F__)
  Block b;
  b.r[0] = reinterpret_cast<Reg>(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, _mm512_load_si512(at), from, 4));
  return b;
#else
  alignas(64) float values[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) values[i] = from[at[i]];
  return load(values);
#endif
}

}  // namespace

void build(const Columns& columns, Index first_block, Index blocks, const float* data, Index channels, Index plane,
           const Index* taps, Index count, float* panel) {
  for (Index c = 0; c < channels; ++c, data += plane)
    for (Index t = 0; t < count; ++t) {
      for (Index b = 0; b < blocks; ++b) store(panel + 16 * b, seen(columns, first_block + b, data + taps[t]));
      panel += 16 * blocks;
    }
}

void build_transposed(const Columns& columns, Index count, const float* data, const Index* elements, Index blocks,
                      float* panel) {
  const Index row = 16 * blocks;
  alignas(64) float values[16][16];
  for (Index p = 0; p < count; p += 16, panel += 16 * row)
    for (Index b = 0; b < blocks; ++b) {
      for (int k = 0; k < 16; ++k) store(values[k], seen(columns, p / 16, data + elements[16 * b + k]));
      transpose_plane(reinterpret_cast<const std::uint32_t*>(values[0]), 16, reinterpret_cast<std::uint32_t*>(panel + 16 * b),
                      row, 16, 16);
    }
}

void put(const Columns& columns, Index block, Index count, const float* sums, bool fresh, float start, float* plane) {
  typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
  const std::int32_t* at = columns.at + 16 * block;
  if (columns.side_by_side[block]) {
    float* to = plane + at[0];
    store(to, (fresh ? splat(start) : load(to)) + load(sums));
  } else if (columns.by_eight[block]) {
    for (int half = 0; half < 16; half += 8) {
      Eight* to = reinterpret_cast<Eight*>(plane + at[half]);
      const Eight sum = *reinterpret_cast<const Eight*>(sums + half);
      *to = (fresh ? Eight{} + start : *to) + sum;
    }
#if defined(__AVX512F__)
  } else {
    const __mmask16 mask = static_cast<__mmask16>(count < 16 ? (1 << count) - 1 : 0xFFFF);
    const __m512i where = _mm512_load_si512(at);
    __m512 before = _mm512_set1_ps(start);
    if (!fresh) before = _mm512_mask_i32gather_ps(before, mask, where, plane, 4);
    _mm512_mask_i32scatter_ps(plane, mask, where, _mm512_add_ps(before, _mm512_loadu_ps(sums)), 4);
  }
#else
  } else {
    for (Index i = 0; i < count; ++i) plane[at[i]] = (fresh ? start : plane[at[i]]) + sums[i];
  }
#endif
}

}  // namespace gluonnx::backward
