// The microkernel of direct convolution: sums stay in registers, one weight vector and one broadcast input at a time feed them.
#include <array>

#include "conv.h"

namespace gluonnx::conv {
namespace {

constexpr Index NEAR = 2048;  // floats of weights that are fetched into the first level before they are used: 8 KB

// f(sum, place in memory) for all sums
template <int BLOCKS, int ROWS, int WIDTH, class F>
GX_INLINE void each_sum(Block (*sum)[ROWS][WIDTH], F f) {
#pragma GCC unroll 4
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 14
      for (int p = 0; p < WIDTH; ++p) f(sum[b][r][p], ((b * ROWS + r) * WIDTH + p) * BLOCK);
}

template <int BLOCKS, int ROWS, int WIDTH, int STEP>
void micro(const Walk& walk, const float* in, const float* weights, const float* bias, const float* residual, float* out,
           Ahead& ahead) {
  Block sum[BLOCKS][ROWS][WIDTH];
  alignas(64) float memory[BLOCKS * ROWS * WIDTH * BLOCK];
  float* sums = memory;              // of the chains before
  asm volatile("" : "+r"(sums));  // else GCC takes it apart into as many vectors, for which there are no registers
  auto clear = [](Block& s, int) GX_LAMBDA { s = zero(); };
  auto add = [&](Block& s, int at) GX_LAMBDA { s = s + load(sums + at); };
  auto keep = [&](Block& s, int at) GX_LAMBDA { store(sums + at, s); };
  each_sum<BLOCKS, ROWS, WIDTH>(sum, clear);
  bool begun = false;
  Index room = walk.chain;
  const Index ahead_step = ahead.step;
  const Index step = STEP ? STEP : walk.pixel;
  for (Index c = 0; c < walk.planes; ++c) {
    const Index count = c + 1 < walk.planes ? walk.inner : walk.last;
    const float* line = in + c * walk.plane;
    const float* next = ahead.at[c % 4];
    for (Index y = 0; y < walk.rows; ++y, line += walk.row) {
      const float* at = line;
      for (Index x = 0; x < walk.columns; ++x, at += walk.column) {
        if (room <= 0) {
          if (begun) each_sum<BLOCKS, ROWS, WIDTH>(sum, add);
          each_sum<BLOCKS, ROWS, WIDTH>(sum, keep);
          each_sum<BLOCKS, ROWS, WIDTH>(sum, clear);
          begun = true;
          room = walk.chain;
        }
        room -= count;
        const float *from = at, *below = at + walk.down;
        for (Index i = count; i > 0; --i, ++from, ++below, weights += BLOCKS * BLOCK) {
          // keeps the loop as it is written: GCC has no registers for what it would move out of it
          asm volatile("" : "+r"(from), "+r"(weights)::"memory");
          if constexpr (ROWS > 1) asm volatile("" : "+r"(below));
          Block w[BLOCKS];
#pragma GCC unroll 4
          for (int b = 0; b < BLOCKS; ++b) {
            w[b] = load(weights + b * BLOCK);
            __builtin_prefetch(weights + b * BLOCK + NEAR, 0, 3);
          }
          __builtin_prefetch(next, 0, 2);
          next += ahead_step;
#pragma GCC unroll 4
          for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 14
            for (int p = 0; p < WIDTH; ++p) {
              const float s = (r ? below : from)[p * step];
#pragma GCC unroll 4
              for (int b = 0; b < BLOCKS; ++b) sum[b][r][p] = fma(sum[b][r][p], w[b], s);
            }
        }
      }
    }
    ahead.at[c % 4] = next + ahead.jump;
  }
  if (begun) each_sum<BLOCKS, ROWS, WIDTH>(sum, add);
  each_sum<BLOCKS, ROWS, WIDTH>(sum, keep);
  // from memory, as a loop: written out for each sum, this was two fifths of a kernel's code
  const float* v = sums;
#pragma GCC unroll 1
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 1
    for (int r = 0; r < ROWS; ++r) {
      const float* more = residual ? residual + b * walk.residual_block + r * walk.residual_row : nullptr;
      float* to = out + b * walk.out_block + r * walk.out_row;
      const Block shift = bias ? load(bias + b * BLOCK) : zero();
#pragma GCC unroll 1
      for (int p = 0; p < WIDTH; ++p, v += BLOCK, to += walk.out_pixel) {
        Block value = load(v);
        if (bias) value = value + shift;
        if (more) value = value + load(more + p * walk.residual_pixel);
        store(to, apply_epilogue(value, walk.epilogue));
      }
    }
}

template <int BLOCKS, int ROWS, int STEP, int... N>
Micro pick(int pixels, std::integer_sequence<int, N...>) {
  static constexpr Micro kernels[] = {micro<BLOCKS, ROWS, N + 1, STEP>...};
  return kernels[pixels - 1];
}

template <int BLOCKS, int STEP>
Micro pick_rows(int rows, int pixels) {
  constexpr int WIDEST = STEP ? pixels_for(BLOCKS) : std::min(MOST_PIXELS, 4);
  if (rows == 1) return pixels <= WIDEST ? pick<BLOCKS, 1, STEP>(pixels, std::make_integer_sequence<int, WIDEST>{}) : nullptr;
  if constexpr (MOST_PIXELS == 14 && BLOCKS <= 2 && (STEP == BLOCK || STEP == 2 * BLOCK)) {
    if (rows == 2 && pixels == 7) return micro<BLOCKS, 2, 7, STEP>;
  }
  return nullptr;
}

template <int BLOCKS>
Micro pick_step(int rows, int pixels, Index step) {
  if (step == BLOCK) return pick_rows<BLOCKS, BLOCK>(rows, pixels);
  if (step == 2 * BLOCK) return pick_rows<BLOCKS, 2 * BLOCK>(rows, pixels);
  if constexpr (BLOCKS <= 2) {
    if (step == 1) return pick_rows<BLOCKS, 1>(rows, pixels);
    if (step == 2) return pick_rows<BLOCKS, 2>(rows, pixels);
    if (step == 4) return pick_rows<BLOCKS, 4>(rows, pixels);  // the first convolution of AlexNet and its kin
    return pick_rows<BLOCKS, 0>(rows, pixels);
  }
  return nullptr;
}

}  // namespace

Micro micro_for(int blocks, int rows, int pixels, Index step) {
  if constexpr (MOST_BLOCKS == 4) {
    if (blocks == 4) return pick_step<4>(rows, pixels, step);
    if (blocks == 3) return pick_step<3>(rows, pixels, step);
    if (blocks == 2) return pick_step<2>(rows, pixels, step);
  }
  return pick_step<1>(rows, pixels, step);
}

int widest(int blocks, Index step) {
  if (step == BLOCK || step == 2 * BLOCK) return pixels_for(blocks);
  if (blocks > 2) return 0;
  return step == 1 || step == 2 || step == 4 ? pixels_for(blocks) : std::min(MOST_PIXELS, 4);
}

int group_for(Index blocks, Index width, Index step) {
  // Micro-operations of a step along the channels: products, broadcasts, weights with what fetches them ahead, the loop; no
  // fewer than go by until a sum can be added to again.
  auto cost = [&](Index b, Index w) { return w ? std::max<Index>(b * w + w + 2 * b + 5, 12) : 0; };
  int best = 1;
  Index least = 0;
  for (int group = 1; group <= std::min<Index>(MOST_BLOCKS, blocks); ++group) {
    const Index most = widest(group, step);
    if (!most) continue;
    const Index pieces = (width + most - 1) / most, wider = width % std::max<Index>(1, pieces);
    auto row = [&](Index b) {
      if (!b || !pieces) return Index{0};
      return wider * cost(b, width / pieces + 1) + (pieces - wider) * cost(b, width / pieces);
    };
    const Index total = blocks / group * row(group) + row(blocks % group);
    if (group == 1 || total < least) best = group, least = total;
  }
  return best;
}

}  // namespace gluonnx::conv
