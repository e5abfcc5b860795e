// Vectors of any number type, the ends of arrays that do not fill one, and what is left when one is added up.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "math.h"

namespace gluonnx {

// as many T as a register holds
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(LANES * 4)));
  typedef T loose __attribute__((vector_size(LANES * 4), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int WIDTH = LANES * 4 / sizeof(T);

template <class T>
GX_INLINE Vector<T> get(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::loose*>(p);
}
template <class T>
GX_INLINE void put(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::loose*>(p) = v;
}

// Whether a comparison of vectors held anywhere.
template <class Mask>
GX_INLINE bool any(Mask mask) {
  typedef long long Words __attribute__((vector_size(LANES * 4)));
  const Words words = reinterpret_cast<Words>(mask);
  long long found = 0;
  for (std::size_t i = 0; i < LANES * 4 / sizeof(long long); ++i) found |= words[i];
  return found != 0;
}

// the first n of a vector's elements, 0 < n < WIDTH<T>; zeros follow
template <class T>
GX_INLINE Vector<T> get_some(const T* p, std::int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return reinterpret_cast<Vector<T>>(_mm512_maskz_loadu_epi32((1u << n) - 1, p));
#endif
  Vector<T> v = {};
  std::memcpy(&v, p, n * sizeof(T));
  return v;
}
template <class T>
GX_INLINE void put_some(T* p, Vector<T> v, std::int64_t n) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return _mm512_mask_storeu_epi32(p, (1u << n) - 1, reinterpret_cast<__m512i>(v));
#endif
  std::memcpy(p, &v, n * sizeof(T));
}

// A count of lanes that is all of them; where the count is another type, it is fewer.
using AllLanes = std::integral_constant<std::int64_t, LANES>;

GX_INLINE Reg get(const float* p, AllLanes) { return get(p); }
GX_INLINE Reg get(const float* p, std::int64_t n) { return get_some(p, n); }
GX_INLINE void put(float* p, Reg v, AllLanes) { put(p, v); }
GX_INLINE void put(float* p, Reg v, std::int64_t n) { put_some(p, v, n); }

template <std::size_t... I>
constexpr RegI counted(std::index_sequence<I...>) {
  return RegI{static_cast<std::int32_t>(I)...};
}
// v with its lanes from n on replaced
GX_INLINE Reg first(Reg v, AllLanes, float) { return v; }
GX_INLINE Reg first(Reg v, std::int64_t n, float others) {
  return counted(std::make_index_sequence<LANES>{}) < static_cast<std::int32_t>(n) ? v : splat_reg(others);
}

// f(i, count) for the vectors of an array of n: count is AllLanes but for the last one
template <class F>
GX_INLINE void each_vector(std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + LANES <= n; i += LANES) f(i, AllLanes{});
  if (i < n) f(i, n - i);
}

template <int BY, std::size_t... I>
GX_INLINE Reg rotated(Reg v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, ((I + BY) % LANES)...);
}
template <int BY = LANES / 2>
GX_INLINE float sum(Reg v) {
  if constexpr (BY == 0) return v[0];
  else return sum<BY / 2>(v + rotated<BY>(v, std::make_index_sequence<LANES>{}));
}
// the largest; a NaN may be passed over
template <int BY = LANES / 2>
GX_INLINE float largest(Reg v) {
  if constexpr (BY == 0) return v[0];
  else return largest<BY / 2>(at_least(v, rotated<BY>(v, std::make_index_sequence<LANES>{})));
}

}  // namespace gluonnx
