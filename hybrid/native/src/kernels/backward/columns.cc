#include "columns.h"

#include "../move/tile.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace gluonnx::backward {

void Columns::fill(const Three& n, const Lattice& lattice, Index begin, Index end) {
  count = end - begin;
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
    int found = i + 16 <= count ? 16 : 1;  // positions grow: where the last of some is that far away, all are neighbours
    auto neighbours = [&](int n) {
      for (Index k = i; k < i + 16; k += n)
        if (at[k + n - 1] - at[k] != n - 1) return false;
      return true;
    };
    while (found >= 4 && !neighbours(found)) found /= 2;
    unit[i / 16] = found >= 4 ? found : 1;
  }
}

namespace {

template <int N>
struct Few {
  typedef float Type __attribute__((vector_size(N * 4), aligned(4), may_alias));
};

// What sixteen columns find at `from`, where the tap looks from position 0.
template <int UNIT>
GX_INLINE Block seen(const std::int32_t* at, const float* from) {
  if constexpr (UNIT == 16) return load(from + at[0]);
#if defined(__AVX512F__)
  Block b;
  if constexpr (UNIT == 8) {
    const __m512 low = _mm512_castps256_ps512(_mm256_loadu_ps(from + at[0]));
    b.r[0] = reinterpret_cast<Reg>(_mm512_insertf32x8(low, _mm256_loadu_ps(from + at[8]), 1));
  } else if constexpr (UNIT == 4) {
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(from + at[0]));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + at[4]), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(from + at[8]), 2);
    b.r[0] = reinterpret_cast<Reg>(_mm512_insertf32x4(v, _mm_loadu_ps(from + at[12]), 3));
  } else {
    b.r[0] = reinterpret_cast<Reg>(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, _mm512_load_si512(at), from, 4));
  }
  return b;
#else
  alignas(64) float values[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += UNIT) std::memcpy(values + i, from + at[i], UNIT * sizeof(float));
  return load(values);
#endif
}

template <int UNIT>
void build_units(const std::int32_t* at, Index blocks, const float* data, Index channels, Index plane, const Index* taps,
                 Index count, float* panel) {
  for (Index c = 0; c < channels; ++c, data += plane)
    for (Index t = 0; t < count; ++t, panel += 16 * blocks) {
      const float* from = data + taps[t];
      if constexpr (UNIT == 1)
        for (Index b = 0; b < blocks; ++b) store(panel + 16 * b, seen<1>(at + 16 * b, from));
      else
#pragma GCC unroll 4
        for (Index i = 0; i < 16 * blocks; i += UNIT) std::memcpy(panel + i, from + at[i], UNIT * sizeof(float));
    }
}

template <int UNIT>
GX_INLINE void transposed(const std::int32_t* at, const float* data, const Index* elements, float* to, Index row) {
#if defined(__AVX512F__)
  typename TileRow<std::uint32_t>::Type r[16];
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k)
    r[k] = reinterpret_cast<typename TileRow<std::uint32_t>::Type>(seen<UNIT>(at, data + elements[k]).r[0]);
  transpose_registers<std::uint32_t>(r);
#pragma GCC unroll 16
  for (int k = 0; k < 16; ++k) std::memcpy(to + k * row, &r[k], sizeof r[k]);
#else
  alignas(64) float values[16][16];
  for (int k = 0; k < 16; ++k) store(values[k], seen<UNIT>(at, data + elements[k]));
  transpose_plane(reinterpret_cast<const std::uint32_t*>(values[0]), 16, reinterpret_cast<std::uint32_t*>(to), row, 16, 16);
#endif
}

template <int UNIT>
void put_units(const std::int32_t* at, int rows, Index step, const float* sums, bool fresh, const float* starts,
               float* const* planes) {
  using Part = typename Few<UNIT>::Type;
  for (int r = 0; r < rows; ++r, sums += step) {
    const float start = starts ? starts[r] : 0.f;
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += UNIT) {
      Part* to = reinterpret_cast<Part*>(planes[r] + at[i]);
      *to = (fresh ? Part{} + start : *to) + *reinterpret_cast<const Part*>(sums + i);
    }
  }
}

void put_one_by_one(const std::int32_t* at, Index count, int rows, Index step, const float* sums, bool fresh,
                    const float* starts, float* const* planes) {
  for (int r = 0; r < rows; ++r, sums += step) {
    const float start = starts ? starts[r] : 0.f;
#if defined(__AVX512F__)
    const __mmask16 mask = static_cast<__mmask16>(count < 16 ? (1 << count) - 1 : 0xFFFF);
    const __m512i where = _mm512_load_si512(at);
    __m512 before = _mm512_set1_ps(start);
    if (!fresh) before = _mm512_mask_i32gather_ps(before, mask, where, planes[r], 4);
    _mm512_mask_i32scatter_ps(planes[r], mask, where, _mm512_add_ps(before, _mm512_loadu_ps(sums)), 4);
#else
    for (Index i = 0; i < count; ++i) planes[r][at[i]] = (fresh ? start : planes[r][at[i]]) + sums[i];
#endif
  }
}

}  // namespace

void build(const Columns& columns, Index block, Index blocks, const float* data, Index channels, Index plane, const Index* taps,
           Index count, float* panel) {
  const std::int32_t* at = columns.at + 16 * block;
  const int unit = columns.unit_of(block, blocks);
  auto* go = unit == 16 ? build_units<16> : unit == 8 ? build_units<8> : unit == 4 ? build_units<4> : build_units<1>;
  go(at, blocks, data, channels, plane, taps, count, panel);
}

void build_transposed(const Columns& columns, const float* data, const Index* elements, Index blocks, float* panel) {
  const Index row = 16 * blocks;
  for (Index p = 0; p < columns.count; p += 16, panel += 16 * row) {
    const std::int32_t* at = columns.at + p;
    const int unit = columns.unit[p / 16];
    for (Index b = 0; b < blocks; ++b) {
      const Index* some = elements + 16 * b;
      float* to = panel + 16 * b;
      if (unit == 16) transposed<16>(at, data, some, to, row);
      else if (unit == 8) transposed<8>(at, data, some, to, row);
      else if (unit == 4) transposed<4>(at, data, some, to, row);
      else transposed<1>(at, data, some, to, row);
    }
  }
}

void put(const Columns& columns, Index block, Index blocks, int rows, const float* sums, bool fresh, const float* starts,
         float* const* planes) {
  const Index step = 16 * blocks;
  for (Index b = 0; b < blocks; ++b, sums += 16) {
    const std::int32_t* at = columns.at + 16 * (block + b);
    const int unit = columns.unit[block + b];
    if (unit == 16) put_units<16>(at, rows, step, sums, fresh, starts, planes);
    else if (unit == 8) put_units<8>(at, rows, step, sums, fresh, starts, planes);
    else if (unit == 4) put_units<4>(at, rows, step, sums, fresh, starts, planes);
    else put_one_by_one(at, std::min<Index>(16, columns.count - 16 * (block + b)), rows, step, sums, fresh, starts, planes);
  }
}

}  // namespace gluonnx::backward
