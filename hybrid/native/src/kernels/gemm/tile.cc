#include "tile.h"

#include <array>
#include <utility>

#include "widen.h"

namespace gluonnx::gemm {
namespace {

GX_INLINE Block apply_epilogue(Block v, const Epilogue& f, const float* c, const float* bias, const float* residual) {
  if (f.alpha != 1) v = v * f.alpha;
  if (f.accumulate) v = v + load(c);
  if (bias) v = v + load(bias);
  if (residual) v = v + (f.beta == 1 ? load(residual) : load(residual) * f.beta);
  if (f.sloped) {
#pragma GCC unroll 4
    GX_EACH v.r[i] = v.r[i] < 0.f ? v.r[i] * f.slope : v.r[i];
  }
  if (f.low) v = at_least(v, splat(f.least));
  if (f.high) v = at_most(v, splat(f.most));
  return v;
}

// A block of sums of which `count` columns exist: nothing beyond them may be read or written.
void store_partial_row(const float* sums, Index count, const Epilogue& f, float* c, const float* bias, const float* residual) {
  float own[16] = {}, by[16] = {}, rest[16] = {}, result[16];
  if (f.accumulate) std::memcpy(own, c, count * sizeof(float));
  if (bias) std::memcpy(by, bias, count * sizeof(float));
  if (residual) std::memcpy(rest, residual, count * sizeof(float));
  store(result, apply_epilogue(load(sums), f, own, bias ? by : nullptr, residual ? rest : nullptr));
  std::memcpy(c, result, count * sizeof(float));
}

// Not in the microkernels, which would all have a copy of it.
void finish_tile(float* sums, int rows, int blocks, const Tile& t) {
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < blocks; ++j, sums += 16) {
      const Index left = t.columns - 16 * j;
      if (left <= 0) continue;
      if (t.scales) store(sums, load(sums) * load(t.scales + 16 * j));
      store_row(sums, std::min<Index>(left, 16), *t.epilogue, t.c + r * t.ldc + 16 * j, t.bias ? t.bias + 16 * j : nullptr,
                t.residual ? t.residual + r * t.epilogue->residual_ld + 16 * j : nullptr);
    }
}

// How many sums each element has, so that enough of them are under way to hide the latency of fma. The same for a panel of one
// block, of which there would have to be more: equal columns of B give equal columns of C, wherever they stand. A network
// of equal weights and huge activations (the light ones of onnx's suite) is even to the last digit then.
constexpr int ways(int rows) {
  int sums = rows * BLOCKS * REGISTERS, n = 1;
  while (n * sums < 8) n *= 2;
  return n;
}

// Adds up the sums of each element in the first.
template <int W, int R, int B>
GX_INLINE void halve(Block (*sum)[R][B]) {
  if constexpr (W > 1) {
#pragma GCC unroll 4
    for (int w = 0; w < W / 2; ++w)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int j = 0; j < B; ++j) sum[w][r][j] = sum[w][r][j] + sum[w + W / 2][r][j];
    halve<W / 2, R, B>(sum);
  }
}

template <int W, int R, int B>
GX_INLINE void clear(Block (*sum)[R][B]) {
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < B; ++j) sum[w][r][j] = zero();
}

// sums += totals
template <int R, int B>
GX_INLINE void add(Block (*sum)[B], const float* totals) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) sum[r][j] = sum[r][j] + load(totals + (r * B + j) * 16);
}

template <int R, int B>
GX_INLINE void keep(Block (*sum)[B], float* to) {
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < B; ++j) store(to + (r * B + j) * 16, sum[r][j]);
}

// Rows of B between two that prefetch: a line of memory.
template <class T, int B>
constexpr int APART = static_cast<int>(std::max<std::size_t>(1, 4 / sizeof(T) / B));

// Whether a panel is fetched ahead by all the strips that the panel before it meets, each a part, into the second cache: where a
// panel lies in the first one, what comes from beyond the caches would else have to come within the time of one strip.
template <class T, int R>
constexpr bool SHARED = LANES < 16 && sizeof(T) == 4 && R > 1;

// FETCHES: whether B is fetched ahead, see Product::again.
template <int R, int B, int W, class T = float, bool ABREAST_OF_OTHERS = false, bool FETCHES = true>
void run_tile(const Tile& t) {
  Block sum[W][R][B];
  clear<W, R, B>(sum);
  alignas(64) float memory[R * B * 16];
  float* sums = memory;              // of the chains before
  asm volatile("" : "+r"(sums));  // else GCC takes it apart into as many vectors, for which there are no registers
  const float* a = t.a;
  const T* b = static_cast<const T*>(t.b);
  const Index ldb = t.ldb, chain = chain_of(t.k / W) * W;
  const char* ahead = t.ahead;
  const Index apart = t.apart;
  bool begun = false;
  if (SHARED<T, R> && t.epilogue->accumulate)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) __builtin_prefetch(t.c + r * t.ldc, 1);
  for (Index left = t.k;;) {
    Index k = left < chain + W ? left : chain;
    left -= k;
    for (; k >= W; k -= W) {
      // without this GCC keeps an address for each row, more than there are registers
      asm volatile("" : "+r"(a), "+r"(b));
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) {
        Block row[B];
#pragma GCC unroll 4
        for (int j = 0; j < B; ++j) {
          row[j] = load(b + (ABREAST_OF_OTHERS ? j * apart : 16 * j));
          // 8 KB ahead: the panels lie one after the other
          if (FETCHES && !SHARED<T, R> && !ABREAST_OF_OTHERS && w % APART<T, B> == 0)
            __builtin_prefetch(b + 16 * j + 8192 / sizeof(T));
        }
        if constexpr (SHARED<T, R>) {
          __builtin_prefetch(ahead, 0, 2);
          ahead += t.step;
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
          for (int j = 0; j < B; ++j) sum[w][r][j] = fma(sum[w][r][j], row[j], a[w * R + r]);
        b += ldb;
      }
      a += W * R;
    }
    if constexpr (W > 1)
      for (; k > 0; --k, a += R, b += ldb)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
          for (int j = 0; j < B; ++j) sum[0][r][j] = fma(sum[0][r][j], load(b + 16 * j), a[r]);
    halve<W, R, B>(sum);
    if (begun) add<R, B>(sum[0], sums);
    if (!left) break;
    keep<R, B>(sum[0], sums);
    clear<W, R, B>(sum);
    begun = true;
  }
  if (t.columns == 16 * B && !t.scales && t.epilogue->plain()) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < B; ++j) store(t.c + r * t.ldc + 16 * j, sum[0][r][j]);
    return;
  }
  if (t.columns == 16 * B && !t.scales && t.epilogue->adds()) {
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < B; ++j) {
        float* c = t.c + r * t.ldc + 16 * j;
        Block v = sum[0][r][j];
        if (t.epilogue->accumulate) v = v + load(c);
        if (t.bias) v = v + load(t.bias + 16 * j);
        store(c, v);
      }
    return;
  }
  keep<R, B>(sum[0], sums);
  finish_tile(sums, R, B, t);
}

template <class T, int B, int... R>
constexpr std::array<Micro, sizeof...(R)> kernels(std::integer_sequence<int, R...>) {
  return {run_tile<R + 1, B, ways(R + 1), T>...};
}

template <class T, int ROWS, int... B>
constexpr std::array<std::array<Micro, ROWS>, BLOCKS> all(std::integer_sequence<int, B...>) {
  return {kernels<T, B + 1>(std::make_integer_sequence<int, ROWS>{})...};
}

template <class T, int... P>
constexpr std::array<Micro, sizeof...(P)> abreast(std::integer_sequence<int, P...>) {
  return {run_tile<1, P + 1, 1, T, true>...};
}

constexpr auto KERNELS = all<float, HEIGHT>(std::make_integer_sequence<int, BLOCKS>{});
constexpr auto OF_HALVES = all<Half, FEW_HEIGHT>(std::make_integer_sequence<int, BLOCKS>{});
constexpr auto OF_BYTES = all<std::int8_t, FEW_HEIGHT>(std::make_integer_sequence<int, BLOCKS>{});
template <int... B>
constexpr std::array<Micro, BLOCKS> again(std::integer_sequence<int, B...>) {
  return {run_tile<1, B + 1, ways(1), float, false, LANES != 16>...};
}
constexpr auto AGAIN = again(std::make_integer_sequence<int, BLOCKS>{});
using Panels = std::make_integer_sequence<int, ABREAST>;
constexpr auto ROWS = abreast<float>(Panels{}), ROWS_OF_HALVES = abreast<Half>(Panels{}),
               ROWS_OF_BYTES = abreast<std::int8_t>(Panels{});

}  // namespace

void store_row(const float* sums, Index count, const Epilogue& f, float* c, const float* bias, const float* residual) {
  if (count == 16) store(c, apply_epilogue(load(sums), f, c, bias, residual));
  else store_partial_row(sums, count, f, c, bias, residual);
}

Micro micro(int rows, int blocks, Precision precision, bool again) {
  if (again && rows == 1 && precision == Precision::f32) return AGAIN[blocks - 1];
  if (precision == Precision::f32) return KERNELS[blocks - 1][rows - 1];
  return (precision == Precision::i8 ? OF_BYTES : OF_HALVES)[blocks - 1][rows - 1];
}

Micro micro_abreast(int panels, Precision precision) {
  return (precision == Precision::f32 ? ROWS : precision == Precision::i8 ? ROWS_OF_BYTES : ROWS_OF_HALVES)[panels - 1];
}

}  // namespace gluonnx::gemm
