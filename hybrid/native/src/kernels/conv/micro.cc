// The microkernel of direct convolution: sums stay in registers, one weight vector and one broadcast input at a time feed them.
#include <array>

#include "conv.h"

namespace gluonnx::conv {
namespace {

constexpr Index NEAR = 2048;  // floats of weights that are fetched into the first level before they are used: 8 KB

// f(sum, place in memory) for all sums
template <int BLOCKS, int ROWS, int WIDTH, class F>
GX_INLINE void each_sum(Block (*sum)[BLOCKS][WIDTH], F f) {
#pragma GCC unroll 4
  for (int b = 0; b < BLOCKS; ++b)
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 14
      for (int p = 0; p < WIDTH; ++p) f(sum[r][b][p], ((b * ROWS + r) * WIDTH + p) * BLOCK);
}

// How far apart the inputs of neighbouring outputs are, in bytes, once, three and five times. An address is a register and 1, 2, 4 or 8
// times another one: with these three, and a second place to count from, every pixel is one instruction's operand, whatever the
// stride is.
struct Apart {
  Index one, three, five;
};

constexpr bool far(int p) { return p == 7 || p == 9 || p == 11 || p == 13; }

// The input of output pixel P; beyond: five pixels from `from`.
template <int P>
GX_INLINE float pixel(const float* from, const float* beyond, Apart apart) {
  constexpr int left = far(P) ? P - 5 : P;
  const Index bytes = left % 5 == 0 ? apart.five * (left / 5) : left % 3 == 0 ? apart.three * (left / 3) : apart.one * left;
  return *reinterpret_cast<const float*>(reinterpret_cast<const char*>(far(P) ? beyond : from) + bytes);
}

template <int BLOCKS, int WIDTH, int... P>
GX_INLINE void add_products(Block (&sum)[BLOCKS][WIDTH], const Block (&w)[BLOCKS], const float* from, const float* beyond, Apart apart,
                            std::integer_sequence<int, P...>) {
  const auto add = [&](int p, float s) GX_LAMBDA {
#pragma GCC unroll 4
    for (int b = 0; b < BLOCKS; ++b) sum[b][p] = fma(sum[b][p], w[b], s);
  };
  (add(P, pixel<P>(from, beyond, apart)), ...);
}

template <int BLOCKS, int ROWS, int WIDTH>
void micro(const Walk& walk, const float* in, const float* weights, const float* bias, const float* residual, float* out,
           Ahead& ahead) {
  Block sum[ROWS][BLOCKS][WIDTH];
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
  constexpr std::make_integer_sequence<int, WIDTH> PIXELS{};
  Apart apart{walk.pixel * 4, walk.pixel * 12, walk.pixel * 20};
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
        const float *from = at, *beyond = at + 5 * walk.pixel, *below = at + walk.down;
        for (Index i = count; i > 0; --i, ++from, ++beyond, ++below, weights += BLOCKS * BLOCK) {
          // keeps the loop as it is written: GCC has no registers for what it would move out of it
          asm volatile("" : "+r"(from), "+r"(weights), "+r"(apart.one)::"memory");
          if constexpr (WIDTH > 3) asm volatile("" : "+r"(apart.three));
          if constexpr (WIDTH > 5) asm volatile("" : "+r"(apart.five));
          if constexpr (WIDTH > 7) asm volatile("" : "+r"(beyond));
          if constexpr (ROWS > 1) asm volatile("" : "+r"(below));
          Block w[BLOCKS];
#pragma GCC unroll 4
          for (int b = 0; b < BLOCKS; ++b) {
            w[b] = load(weights + b * BLOCK);
            __builtin_prefetch(weights + b * BLOCK + NEAR, 0, 3);
          }
          __builtin_prefetch(next, 0, 2);
          next += ahead_step;
          add_products(sum[0], w, from, beyond, apart, PIXELS);
          if constexpr (ROWS > 1) add_products(sum[1], w, below, below, apart, PIXELS);
        }
      }
    }
    ahead.at[c % 4] = next + ahead.jump;
  }
  if (begun) each_sum<BLOCKS, ROWS, WIDTH>(sum, add);
  if constexpr (LANES == 16) {
    // Bias, residual and two limits straight from the registers, as of most layers: where few channels are summed over, the way
    // through memory takes a fifth of the time. What there is not changes no number, -0 neither.
    if (!walk.epilogue.leaky) {
      const float low = walk.epilogue.floor ? walk.epilogue.low : -__builtin_inff();
      const float high = walk.epilogue.ceiling ? walk.epilogue.high : __builtin_inff();
      const Block least = splat(low), most = splat(high);
#pragma GCC unroll 4
      for (int b = 0; b < BLOCKS; ++b) {
        const Block shift = bias ? load(bias + b * BLOCK) : splat(-0.f);
#pragma GCC unroll 2
        for (int r = 0; r < ROWS; ++r) {
#pragma GCC unroll 14
          for (int p = 0; p < WIDTH; ++p) sum[r][b][p] = sum[r][b][p] + shift;
          if (residual) {
            const float* more = residual + b * walk.residual_block + r * walk.residual_row;
#pragma GCC unroll 14
            for (int p = 0; p < WIDTH; ++p, more += walk.residual_pixel) sum[r][b][p] = sum[r][b][p] + load(more);
          }
          float* to = out + b * walk.out_block + r * walk.out_row;
#pragma GCC unroll 14
          for (int p = 0; p < WIDTH; ++p, to += walk.out_pixel) store(to, at_most(at_least(sum[r][b][p], least), most));
        }
      }
      return;
    }
  }
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

template <int BLOCKS, int... N>
Micro pick(int pixels, std::integer_sequence<int, N...>) {
  static constexpr Micro kernels[] = {micro<BLOCKS, 1, N + 1>...};
  return kernels[pixels - 1];
}

template <int BLOCKS>
Micro pick(int rows, int pixels) {
  constexpr int WIDEST = pixels_for(BLOCKS);
  if (rows == 1) return pixels <= WIDEST ? pick<BLOCKS>(pixels, std::make_integer_sequence<int, WIDEST>{}) : nullptr;
  if constexpr (MOST_PIXELS == 14 && BLOCKS <= 2) {
    if (rows == 2 && pixels == 7) return micro<BLOCKS, 2, 7>;
  }
  return nullptr;
}

}  // namespace

Micro micro_for(int blocks, int rows, int pixels) {
  if constexpr (MOST_BLOCKS == 4) {
    if (blocks == 4) return pick<4>(rows, pixels);
    if (blocks == 3) return pick<3>(rows, pixels);
    if (blocks == 2) return pick<2>(rows, pixels);
  }
  return pick<1>(rows, pixels);
}

int widest(int blocks, Index step) { return blocks > 2 && step % BLOCK ? 0 : pixels_for(blocks); }

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
