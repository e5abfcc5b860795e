// Transposing in registers: the heart of every movement that changes which axis is innermost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "../../base/vec.h"

namespace gluonnx {

// Elements are moved by their size alone.
template <class T>
constexpr int TILE = sizeof(T) >= 4 ? static_cast<int>(LANES * 4 / sizeof(T)) : static_cast<int>(16 / sizeof(T));

template <class T>
struct TileRow {
  using Number = std::conditional_t<std::is_floating_point_v<T>, std::uint32_t, T>;
  typedef T Type __attribute__((vector_size(TILE<T> * sizeof(T))));
  typedef Number Order __attribute__((vector_size(TILE<T> * sizeof(T))));
};

// Elements of a and b by turns, of their first (HALF 0) or second halves.
template <class T, int HALF, std::size_t... I>
GX_INLINE typename TileRow<T>::Type alternate(typename TileRow<T>::Type a, typename TileRow<T>::Type b,
                                              std::index_sequence<I...>) {
  constexpr int n = TILE<T>;
#if defined(__clang__)
  return __builtin_shufflevector(a, b, (HALF * n / 2 + static_cast<int>(I) / 2 + (I % 2 ? n : 0))...);
#else
  return __builtin_shuffle(
      a, b, typename TileRow<T>::Order{static_cast<typename TileRow<T>::Number>(HALF * n / 2 + I / 2 + (I % 2 ? n : 0))...});
#endif
}

// TILE x TILE registers: shuffling rows i and i + TILE/2 into 2i and 2i + 1, log2(TILE) times, transposes.
template <class T>
GX_INLINE void transpose_registers(typename TileRow<T>::Type (&r)[TILE<T>]) {
  using Row = typename TileRow<T>::Type;
  constexpr int n = TILE<T>;
  constexpr auto order = std::make_index_sequence<n>();
#pragma GCC unroll 8
  for (int step = 1; step < n; step *= 2) {
    Row next[n];
#pragma GCC unroll 16
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = alternate<T, 0>(r[i], r[i + n / 2], order);
      next[2 * i + 1] = alternate<T, 1>(r[i], r[i + n / 2], order);
    }
#pragma GCC unroll 16
    for (int i = 0; i < n; ++i) r[i] = next[i];
  }
}

// to[c * to_row + r] = from[r * from_row + c] for one whole tile
template <class T>
GX_INLINE void transpose_tile(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  constexpr int n = TILE<T>;
  typename TileRow<T>::Type r[n];
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) std::memcpy(&r[i], from + i * from_row, sizeof r[i]);
  transpose_registers<T>(r);
#pragma GCC unroll 16
  for (int i = 0; i < n; ++i) std::memcpy(to + i * to_row, &r[i], sizeof r[i]);
}

// to[c * to_row + r] = from[r * from_row + c] for r in [0, rows), c in [0, columns); compiled for unsigned integers of all sizes
template <class T>
void transpose_plane(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows, std::int64_t columns);

}  // namespace gluonnx
