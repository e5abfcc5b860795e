#include "tile.h"

namespace gluonnx::attention {
namespace {

// Rows and panels of a tile: enough sums under way to hide the latency of fma, as many as there are registers for.
#if defined(__AVX512F__)
constexpr int HEIGHT = 8, ACROSS = 2, WIDEST = 4;
#elif defined(__AVX__) || defined(__aarch64__)
constexpr int HEIGHT = 6, ACROSS = 1, WIDEST = 4;
#else
constexpr int HEIGHT = 2, ACROSS = 1, WIDEST = 2;  // a panel fills four of sixteen registers
#endif
// Panels that a tile of fewer rows takes at a time.
constexpr int across(int rows) { return rows == 1 ? WIDEST : rows == 2 ? WIDEST / 2 : ACROSS; }

template <int R, int P>
void tile(Index k, const float* a, Index lda, Panels b, float* c, Index ldc, bool add) {
  Block sum[R][P];
  const float* row[R];
  const float* panel[P];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    row[r] = a + r * lda;
#pragma GCC unroll 4
    for (int j = 0; j < P; ++j) sum[r][j] = zero();
  }
#pragma GCC unroll 4
  for (int j = 0; j < P; ++j) panel[j] = b.data + j * b.step;
  for (Index i = 0; i < k; ++i) {
    Block v[P];
#pragma GCC unroll 4
    for (int j = 0; j < P; ++j) {
      v[j] = load(panel[j]);
      panel[j] += b.ld;
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int j = 0; j < P; ++j) sum[r][j] = fma(sum[r][j], v[j], row[r][i]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int j = 0; j < P; ++j) {
      float* to = c + r * ldc + 16 * j;
      store(to, add ? load(to) + sum[r][j] : sum[r][j]);
    }
}

// The rows of one tile by all panels.
template <int R>
void strip(Index k, const float* a, Index lda, Panels b, Index panels, float* c, Index ldc, bool add) {
  constexpr int P = across(R);
  Index j = 0;
  auto at = [&] { return Panels{b.data + j * b.step, b.ld, b.step}; };
  for (; j + P <= panels; j += P) tile<R, P>(k, a, lda, at(), c + 16 * j, ldc, add);
  if constexpr (P > 1)
    for (; j < panels; ++j) tile<R, 1>(k, a, lda, at(), c + 16 * j, ldc, add);
}

using Strip = void (*)(Index, const float*, Index, Panels, Index, float*, Index, bool);
template <int... R>
constexpr auto strips(std::integer_sequence<int, R...>) {
  struct All {
    Strip of[HEIGHT];
  };
  return All{{strip<R + 1>...}};
}
constexpr auto STRIPS = strips(std::make_integer_sequence<int, HEIGHT>{});

}  // namespace

void multiply(Index rows, Index k, const float* a, Index lda, Panels b, Index panels, float* c, Index ldc, bool add) {
  const Index height = (rows + HEIGHT - 1) / HEIGHT;  // strips of about equal height
  const Index chain = chain_of(k), group = height > 1 ? ACROSS : panels;  // panels that stay in the first cache for all strips
  for (Index begin = 0; begin < k || begin == 0; begin += std::max<Index>(chain, 1)) {
    const Index length = std::min(chain, k - begin);
    for (Index j = 0; j < panels; j += group) {
      const Panels some{b.data + j * b.step + begin * b.ld, b.ld, b.step};
      for (Index i = 0; i < height; ++i) {
        const Index from = rows * i / height, to = rows * (i + 1) / height;
        STRIPS.of[to - from - 1](length, a + from * lda + begin, lda, some, std::min(group, panels - j),
                                 c + from * ldc + 16 * j, ldc, add || begin > 0);
      }
    }
  }
}

}  // namespace gluonnx::attention
