// Sums over everything but one axis: channel by channel where what follows the axis is long, by columns where it is short.
#pragma once

#include "common.h"

namespace gluonnx {

// Shorter rows than this are seen as columns: (before, size, after) as (before, size * after).
constexpr std::int64_t NARROW = 16;

// Adds up two functions of the elements of channels [begin, end) and gives done(channel, sum, other) for each.
// f(at, k, channel) -> std::pair<Reg, Reg> for k elements from offset `at`, all of that channel, or, when narrow, columns
// from `column` on: g(at, k, column).
template <class F, class G, class Done>
GX_INLINE void channel_sums(const AxisSplit& shape, std::int64_t begin, std::int64_t end, F f, G g, Done done) {
  if (shape.after >= NARROW) {
    for (std::int64_t c = begin; c < end; ++c) {
      double sum1 = 0, sum2 = 0;
      for (std::int64_t n = 0; n < shape.before; ++n) {
        constexpr std::int64_t PIECE = 128 * LANES;
        const std::int64_t row = (n * shape.size + c) * shape.after;
        for (std::int64_t start = 0; start < shape.after; start += PIECE) {
          std::int64_t stop = start + PIECE < shape.after ? start + PIECE : shape.after, i = start;
          Reg a1 = {}, a2 = {}, b1 = {}, b2 = {};
          for (; i + 2 * LANES <= stop; i += 2 * LANES) {
            auto [u1, u2] = f(row + i, AllLanes{}, c);
            auto [v1, v2] = f(row + i + LANES, AllLanes{}, c);
            a1 += u1, a2 += u2, b1 += v1, b2 += v2;
          }
          each_vector(stop - i, [&](std::int64_t j, auto k) {
            auto [u1, u2] = f(row + i + j, k, c);
            a1 += first(u1, k, 0.f), a2 += first(u2, k, 0.f);
          });
          sum1 += sum(a1 + b1), sum2 += sum(a2 + b2);
        }
      }
      done(c, sum1, sum2);
    }
    return;
  }
  const std::int64_t width = shape.size * shape.after, most = COLUMNS / std::max<std::int64_t>(shape.after, 1);
  for (std::int64_t c = begin; c < end; c += most) {
    const std::int64_t channels = std::min(most, end - c), columns = channels * shape.after, from = c * shape.after;
    alignas(64) float part1[COLUMNS] = {}, part2[COLUMNS] = {};
    double total1[COLUMNS] = {}, total2[COLUMNS] = {};
    for (std::int64_t n = 0; n < shape.before; ++n) {
      each_vector(columns, [&](std::int64_t j, auto k) {
        auto [u1, u2] = g(n * width + from + j, k, from + j);
        put(part1 + j, get(part1 + j, k) + u1, k);
        put(part2 + j, get(part2 + j, k) + u2, k);
      });
      if (n % 64 < 63 && n + 1 < shape.before) continue;
      for (std::int64_t j = 0; j < columns; ++j) {
        total1[j] += part1[j], total2[j] += part2[j];
        part1[j] = part2[j] = 0;
      }
    }
    for (std::int64_t i = 0; i < channels; ++i) {
      double sum1 = 0, sum2 = 0;
      for (std::int64_t j = i * shape.after; j < (i + 1) * shape.after; ++j) sum1 += total1[j], sum2 += total2[j];
      done(c + i, sum1, sum2);
    }
  }
}

// f(at, k, channel) for all elements of channels [begin, end), or g(at, k, column) when narrow; as above.
template <class F, class G>
GX_INLINE void each_of_channels(const AxisSplit& shape, std::int64_t begin, std::int64_t end, F f, G g) {
  for (std::int64_t n = 0; n < shape.before; ++n) {
    const std::int64_t row = n * shape.size * shape.after;
    if (shape.after < NARROW) {
      const std::int64_t from = begin * shape.after;
      each_vector((end - begin) * shape.after, [&](std::int64_t j, auto k) { g(row + from + j, k, from + j); });
      continue;
    }
    for (std::int64_t c = begin; c < end; ++c)
      each_vector(shape.after, [&](std::int64_t j, auto k) { f(row + c * shape.after + j, k, c); });
  }
}

// One value a channel, repeated for each of its columns when they are narrow.
inline void spread(const AxisSplit& shape, std::int64_t begin, std::int64_t end, const float* channels, float* columns) {
  for (std::int64_t c = begin; c < end; ++c) std::fill(columns + c * shape.after, columns + (c + 1) * shape.after, channels[c]);
}

}  // namespace gluonnx
