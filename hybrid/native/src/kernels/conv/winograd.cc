// Winograd's minimal filtering F(SIZE x SIZE, 3 x 3): tiles of input and the kernels go over to sums of products at points.
//
// F(4,3) with the usual points 0, 1, -1, 2, -2 and infinity loses about a digit more than direct convolution. With 1 / sqrt 2
// and sqrt 2 instead of 1 and 2 it loses a third of one, at the same number of operations: the matrices are better conditioned
// when the points lie about the unit circle (see the error bounds of Barabasz et al., ACM TOMS 46, 2020).

#include "conv.h"

namespace gluonnx::conv {
namespace {

constexpr double NEAR = 0.70710678118654752440, FAR = 1.41421356237309504880;  // the points, with both signs

// Addresses are computed from p from here on: those that the compiler would keep in advance are more than there are registers.
template <class T>
GX_INLINE void pin(T*& p) {
  asm volatile("" : "+r"(p));
}

// One dimension of the transforms of a tile; each has to be applied to columns and rows.
template <int SIZE>
struct Transform;

template <>
struct Transform<4> {
  static constexpr double KERNEL[6][3] = {{1, 0, 0},
                                          {-2.0 / 3, -2.0 / 3 * NEAR, -1.0 / 3},
                                          {-2.0 / 3, 2.0 / 3 * NEAR, -1.0 / 3},
                                          {1.0 / 6, 1.0 / 6 * FAR, 1.0 / 3},
                                          {1.0 / 6, -1.0 / 6 * FAR, 1.0 / 3},
                                          {0, 0, 1}};
  GX_INLINE void input(const Reg* d, Reg* to) {
    constexpr float near = NEAR, far = FAR;
    const Reg e = d[4] - 2.f * d[2], f = d[3] - 2.f * d[1];
    const Reg g = d[4] - 0.5f * d[2], h = d[3] - 0.5f * d[1];
    to[0] = d[0] - 2.5f * d[2] + d[4];
    to[1] = e + near * f;
    to[2] = e - near * f;
    to[3] = g + far * h;
    to[4] = g - far * h;
    to[5] = d[1] - 2.5f * d[3] + d[5];
  }
  GX_INLINE void output(const Reg* m, Reg* to) {
    constexpr float near = NEAR, far = FAR, near3 = NEAR / 2, far3 = FAR * 2;
    const Reg p = m[1] + m[2], q = m[1] - m[2], r = m[3] + m[4], s = m[3] - m[4];
    to[0] = m[0] + p + r;
    to[1] = near * q + far * s;
    to[2] = 0.5f * p + 2.f * r;
    to[3] = near3 * q + (far3 * s + m[5]);
  }
};

template <>
struct Transform<2> {
  static constexpr double KERNEL[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  GX_INLINE void input(const Reg* d, Reg* to) {
    to[0] = d[0] - d[2];
    to[1] = d[1] + d[2];
    to[2] = d[2] - d[1];
    to[3] = d[3] - d[1];
  }
  GX_INLINE void output(const Reg* m, Reg* to) {
    to[0] = m[0] + m[1] + m[2];
    to[1] = m[1] - m[2] + m[3];
  }
};

GX_INLINE bool all_zero(Reg v) {  // NaN is not
  bool all = true;
  for (int l = 0; l < LANES; ++l) all = all && v[l] == 0;
  return all;
}

// A chain of products: shorter than elsewhere, because the transform of the output makes errors five times as large (F(4,3)).
constexpr Index LINK = 32;

// Where a tile is, counted on from one to the next.
struct Cursor {
  Index n, y, x, tiles_h, tiles_w;
  Cursor(Index tile, Index h, Index w) : n(tile / (h * w)), y(tile / w % h), x(tile % w), tiles_h(h), tiles_w(w) {}
  void next() {
    if (++x < tiles_w) return;
    x = 0;
    if (++y < tiles_h) return;
    y = 0;
    ++n;
  }
};

// Lines of 64 bytes at a distance of a multiple of 4096 bytes fall into one set of the first-level cache.
constexpr Index SPREAD = 64, GAP = 32;
Index spread(Index stride) { return stride % 1024 < SPREAD ? stride + SPREAD : stride; }

}  // namespace

int Winograd::best(const Shape& s) {
  if (s.batch * s.pixels() == 0) return 0;
  // Seconds of one core, from what was measured (AVX-512): sums of products, transforms of a tile and block, and weights from
  // beyond the second-level cache, which come while sums are computed. Other cores and several threads change these alike.
  constexpr double SPEED = 160e9, BANDWIDTH = 14e9;
  const double in = blocks_of(s.channels), out = blocks_of(s.filters), depth = s.channels, width = out * BLOCK;
  auto cost = [&](double points, double tiles) {
    const double fewest = std::max(1.0, 4 / tiles);  // so many sums are needed to keep the multipliers busy
    return std::max(2 * points * tiles * fewest * depth * width / SPEED, points * depth * width * 4 / BANDWIDTH);
  };
  auto winograd = [&](Index size, double in_cost, double out_cost) {
    const Index tiles = s.batch * ((s.out_height + size - 1) / size) * ((s.out_width + size - 1) / size);
    return cost((size + 2) * (size + 2), tiles) + tiles * (in * in_cost + out * out_cost);
  };
  const double direct = cost(9, s.batch * s.pixels()), four = winograd(4, 90e-9, 70e-9), two = winograd(2, 40e-9, 25e-9);
  return direct <= std::min(two, four) ? 0 : four <= two ? 4 : 2;
}

Winograd::Winograd(int size, const Shape& shape, const View& in, const View& out, const View& residual,
                   const Epilogue& epilogue, int threads)
    : size_(size),
      points_((size + 2) * (size + 2)),
      group_(group_for(blocks_of(shape.filters), shape.batch * shape.pixels() / (size * size), BLOCK)),
      shape_(shape),
      in_(in),
      out_(out),
      residual_(residual),
      epilogue_(epilogue),
      direct_(shape, true, in, out, residual, epilogue, threads),
      blocks_(blocks_of(shape.channels)),
      filter_blocks_(blocks_of(shape.filters)),
      strips_((filter_blocks_ + group_ - 1) / group_),
      tiles_h_((shape.out_height + size - 1) / size),
      tiles_w_((shape.out_width + size - 1) / size),
      tiles_(shape.batch * tiles_h_ * tiles_w_),
      spectrum_size_(points_ * (shape.channels * filter_blocks_ * BLOCK + strips_ * GAP)) {
  // Small weights stay in every core's cache, and each thread goes through all of them for its tiles. Large ones are divided
  // among the threads, and pass once for many tiles.
  together_ = spectrum_size_ * 4 > 4000000;
  const Index tile_bytes = points_ * BLOCK * 4 * (together_ ? blocks_ + filter_blocks_ : blocks_);
  Index wanted =
      together_ ? std::max<Index>(4 * MOST_PIXELS, 4000000 / tile_bytes) : std::max<Index>(MOST_PIXELS, 700000 / tile_bytes);
  wanted = wanted / MOST_PIXELS * MOST_PIXELS;
  parts_ = std::max<Index>(1, (tiles_ + wanted - 1) / wanted);
  const Index sharers = together_ || chunks_for(shape.flops() / 3, threads, threads) == 1 ? 1 : threads;
  parts_ = (parts_ + sharers - 1) / sharers * sharers;
  part_ = (tiles_ + parts_ - 1) / parts_;
  thread_size_ = points_ * ((blocks_ + (together_ ? filter_blocks_ : group_)) * part_ * BLOCK + 2 * SPREAD);
  scratch_ = thread_size_ * (together_ ? 1 : threads) * sizeof(float);
}

Index Winograd::weights_at(Index strip, Index point) const {
  const Index first = strip * Index{group_} * BLOCK,
              lanes = std::min<Index>(Index{group_} * BLOCK, filter_blocks_ * BLOCK - first);
  // a gap after each point, because that is what packing steps by
  if (together_) return point * (filter_blocks_ * BLOCK * shape_.channels + GAP) + first * shape_.channels;
  return first * shape_.channels * points_ + strip * points_ * GAP + point * (lanes * shape_.channels + GAP);
}
Index Winograd::spectrum_stride(Index count) const { return spread(blocks_ * count * BLOCK); }
Index Winograd::product_stride(Index blocks, Index count) const { return spread(blocks * count * BLOCK); }

void Winograd::pack(const Weights& w, float* packed, const Run& run) const {
  direct_.pack(w, packed + spectrum_size_, run);
  run.ranges(filter_blocks_, std::max<Index>(1, 256 / shape_.channels), [&](Index begin, Index end, int) {
    for (Index b = begin; b < end; ++b) size_ == 4 ? transform_weights<4>(w, b, packed) : transform_weights<2>(w, b, packed);
  });
}

// In double precision: this is done once, and its errors would be in all results.
template <int SIZE>
void Winograd::transform_weights(const Weights& w, Index block, float* packed) const {
  constexpr int EDGE = SIZE + 2;
  constexpr auto& factor = Transform<SIZE>::KERNEL;
  const Index strip = block / group_, lanes = std::min<Index>(group_, filter_blocks_ - strip * group_) * BLOCK;
  const Index filters = std::min<Index>(BLOCK, shape_.filters - block * BLOCK);
  for (Index c = 0; c < shape_.channels; ++c) {
    double taps[3][3][BLOCK] = {}, rows[EDGE][3][BLOCK];
    const float* from = w.data + block * BLOCK * w.filter + c * w.channel;
    for (Index l = 0; l < filters; ++l)
      for (Index y = 0; y < 3; ++y)
        for (Index x = 0; x < 3; ++x) taps[y][x][l] = from[l * w.filter + y * w.row + x * w.column];
    for (int i = 0; i < EDGE; ++i)
      for (int x = 0; x < 3; ++x)
        for (Index l = 0; l < BLOCK; ++l)
          rows[i][x][l] = factor[i][0] * taps[0][x][l] + factor[i][1] * taps[1][x][l] + factor[i][2] * taps[2][x][l];
    for (int i = 0; i < EDGE; ++i)
      for (int j = 0; j < EDGE; ++j) {
        float* to = packed + weights_at(strip, i * EDGE + j) + c * lanes + block % Index{group_} * BLOCK;
        for (Index l = 0; l < BLOCK; ++l)
          to[l] =
              static_cast<float>(factor[j][0] * rows[i][0][l] + factor[j][1] * rows[i][1][l] + factor[j][2] * rows[i][2][l]);
      }
  }
}

template <int SIZE>
void Winograd::transform_input(const Operands& operands, Index tile0, Index count, Index block0, Index block1,
                               float* spectra) const {
  constexpr int EDGE = SIZE + 2;
  const Index stride = spectrum_stride(count);
  for (Index c = block0; c < block1; ++c) {
    Cursor cursor(tile0, tiles_h_, tiles_w_);
    for (Index t = 0; t < count; ++t, cursor.next()) {
      const Index y0 = cursor.y * SIZE - shape_.pad_h, x0 = cursor.x * SIZE - shape_.pad_w;
      const float* plane = operands.in + cursor.n * in_.batch + c * in_.plane;
      const float* from = plane + y0 * in_.row + x0 * BLOCK;
      Index row = in_.row;
      alignas(64) float patch[EDGE * EDGE * BLOCK];
      if (y0 < -in_.halo_h || x0 < -in_.halo_w || y0 + EDGE > shape_.height + in_.halo_h ||
          x0 + EDGE > shape_.width + in_.halo_w) {  // part of the tile is not in memory
        for (Index i = 0; i < EDGE; ++i)
          for (Index j = 0; j < EDGE; ++j) {
            const Index y = y0 + i, x = x0 + j;
            const bool inside = y >= 0 && x >= 0 && y < shape_.height && x < shape_.width;
            store(patch + (i * EDGE + j) * BLOCK, inside ? load(from + i * row + j * BLOCK) : zero());
          }
        from = patch;
        row = EDGE * BLOCK;
      }
      float* to = spectra + (c * count + t) * BLOCK;
      for (int part = 0; part < BLOCK; part += LANES) {
        Reg half[EDGE][EDGE];
        const float* column = from + part;
        const Index rows3 = 3 * row;
#pragma GCC unroll 6
        for (int j = 0; j < EDGE; ++j, column += BLOCK) {
          pin(column);
          const float* lower = column + rows3;
          Reg d[EDGE], g[EDGE];
#pragma GCC unroll 6
          for (int i = 0; i < EDGE; ++i) d[i] = load_part(i < 3 ? column + i * row : lower + (i - 3) * row);
          Transform<SIZE>::input(d, g);
#pragma GCC unroll 6
          for (int i = 0; i < EDGE; ++i) half[i][j] = g[i];
        }
        float* at = to + part;
        const Index stride3 = 3 * stride;
#pragma GCC unroll 6
        for (int i = 0; i < EDGE; ++i) {
          Reg g[EDGE];
          Transform<SIZE>::input(half[i], g);
#pragma GCC unroll 6
          for (int j = 0; j < EDGE; ++j) {
            if (j == 3) {
              at += stride3;
              pin(at);
            }
            store_part(j < 3 ? at + j * stride : at + (j - 3) * stride, g[j]);
          }
          at += (EDGE - 3) * stride;
          pin(at);
        }
      }
    }
  }
}

// Products of all tiles with a strip of filters at one point of the transform.
void Winograd::multiply(const float* weights, const float* spectra, Index count, Index point, Index strip,
                        float* products) const {
  const int blocks = static_cast<int>(std::min<Index>(group_, filter_blocks_ - strip * group_));
  Walk walk{};
  walk.planes = blocks_;
  walk.plane = count * BLOCK;
  walk.rows = walk.columns = 1;
  walk.inner = BLOCK;
  walk.last = shape_.channels - (blocks_ - 1) * BLOCK;
  walk.link(LINK);
  walk.pixel = BLOCK;
  walk.out_block = count * BLOCK;
  walk.out_pixel = BLOCK;
  const float* w = weights + weights_at(strip, point);
  const float* from = spectra + point * spectrum_stride(count);
  const Index size = shape_.channels * blocks * BLOCK;
  const Index most = pixels_for(group_), pieces = (count + most - 1) / most;
  for (Index i = 0; i < pieces; ++i) {
    const Index at = count * i / pieces, pixels = count * (i + 1) / pieces - at;
    const Index share = size / pieces;
    const float* next = w + size + share * i;
    Ahead ahead{{next, next + share / 4, next + share / 2, next + share / 4 * 3}, share / shape_.channels + 1, 0};
    micro_for(blocks, 1, static_cast<int>(pixels))(walk, from + at * BLOCK, w, nullptr, nullptr, products + at * BLOCK,
                                                          ahead);
  }
}

template <int SIZE>
void Winograd::transform_output(const Operands& operands, Index tile0, Index count, Index block, const float* products,
                                Index stride) const {
  constexpr int EDGE = SIZE + 2;
  Cursor cursor(tile0, tiles_h_, tiles_w_);
  for (Index t = 0; t < count; ++t, cursor.next()) {
    const Index y0 = cursor.y * SIZE, x0 = cursor.x * SIZE;
    const Index rows = std::min<Index>(SIZE, shape_.out_height - y0), columns = std::min<Index>(SIZE, shape_.out_width - x0);
    for (int part = 0; part < BLOCK; part += LANES) {
      const float* from = products + t * BLOCK + part;
      Reg half[SIZE][EDGE], tile[SIZE][SIZE], check = {};
#pragma GCC unroll 6
      for (int j = 0; j < EDGE; ++j) {
        Reg m[EDGE], g[SIZE];
#pragma GCC unroll 6
        for (int i = 0; i < EDGE; ++i) m[i] = load_part(from + (i * EDGE + j) * stride);
        Transform<SIZE>::output(m, g);
#pragma GCC unroll 4
        for (int i = 0; i < SIZE; ++i) half[i][j] = g[i];
      }
#pragma GCC unroll 4
      for (int i = 0; i < SIZE; ++i) {
        Transform<SIZE>::output(half[i], tile[i]);
#pragma GCC unroll 4
        for (int j = 0; j < SIZE; ++j) check += tile[i][j] * 0.f;
      }
      float* to = operands.out + cursor.n * out_.batch + block * out_.plane + y0 * out_.row + x0 * out_.pixel + part;
      const float* more = operands.residual;
      if (more) more += cursor.n * residual_.batch + block * residual_.plane + y0 * residual_.row + x0 * residual_.pixel + part;
      auto put = [&](Reg v, Index i, Index j) __attribute__((always_inline)) {
        if (operands.bias) v += load_part(operands.bias + block * BLOCK + part);
        if (more) v += load_part(more + i * residual_.row + j * residual_.pixel);
        store_part(to + i * out_.row + j * out_.pixel, apply_epilogue(v, epilogue_));
      };
      if (rows == SIZE && columns == SIZE && all_zero(check)) {
#pragma GCC unroll 4
        for (int i = 0; i < SIZE; ++i)
#pragma GCC unroll 4
          for (int j = 0; j < SIZE; ++j) put(tile[i][j], i, j);
        continue;
      }
      const bool finite = all_zero(check);  // else infinities and NaN have spread over the tile, or something has overflowed
      Operands exact = operands;
      exact.weights += spectrum_size_;
      for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < columns; ++j)
          put(finite ? tile[i][j] : direct_.sums(exact, cursor.n, block, y0 + i, x0 + j).r[part / LANES], i, j);
    }
  }
}

template <int SIZE>
void Winograd::run_size(const Run& run, const Operands& operands, float* scratch) const {
  if (!together_) {
    run.parallel(parts_, [&](Index p, int thread) {
      const Index first = tiles_ * p / parts_, count = tiles_ * (p + 1) / parts_ - first;
      float* spectra = scratch + thread * thread_size_;
      float* products = spectra + points_ * spectrum_stride(count);
      transform_input<SIZE>(operands, first, count, 0, blocks_, spectra);
      for (Index s = 0; s < strips_; ++s) {
        const Index blocks = std::min<Index>(group_, filter_blocks_ - s * group_), stride = product_stride(blocks, count);
        for (Index point = 0; point < points_; ++point)
          multiply(operands.weights, spectra, count, point, s, products + point * stride);
        for (Index b = 0; b < blocks; ++b)
          transform_output<SIZE>(operands, first, count, s * group_ + b, products + b * count * BLOCK, stride);
      }
    });
    return;
  }
  for (Index p = 0; p < parts_; ++p) {
    const Index first = tiles_ * p / parts_, count = tiles_ * (p + 1) / parts_ - first;
    float* spectra = scratch;
    float* products = spectra + points_ * spectrum_stride(count);
    const Index stride = product_stride(filter_blocks_, count);
    const Index chunks = run.threads() == 1 ? 1 : 4 * run.threads();
    run.parallel(std::min(chunks, blocks_), [&](Index i, int) {
      const Index of = std::min(chunks, blocks_);
      transform_input<SIZE>(operands, first, count, blocks_ * i / of, blocks_ * (i + 1) / of, spectra);
    });
    const Index units = points_ * strips_;
    run.parallel(std::min(chunks, units), [&](Index i, int) {
      const Index of = std::min(chunks, units);
      for (Index u = units * i / of; u < units * (i + 1) / of; ++u)
        multiply(operands.weights, spectra, count, u / strips_, u % strips_,
                 products + u / strips_ * stride + u % strips_ * group_ * count * BLOCK);
    });
    run.parallel(std::min(chunks, filter_blocks_), [&](Index i, int) {
      const Index of = std::min(chunks, filter_blocks_);
      for (Index b = filter_blocks_ * i / of; b < filter_blocks_ * (i + 1) / of; ++b)
        transform_output<SIZE>(operands, first, count, b, products + b * count * BLOCK, stride);
    });
  }
}

void Winograd::run(const Run& run, const Operands& operands, std::byte* scratch) const {
  if (size_ == 4) run_size<4>(run, operands, reinterpret_cast<float*>(scratch));
  else run_size<2>(run, operands, reinterpret_cast<float*>(scratch));
}

std::string Winograd::how() const {
  return "winograd" + std::to_string(size_) + " " + std::to_string(part_) + (together_ ? " tiles together" : " tiles");
}

}  // namespace gluonnx::conv
