// Convolution of each lane for itself. Its limit is memory, not arithmetic.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "conv.h"

namespace gluonnx::conv {

// How the microkernel goes through its operands, as in Direct's.
struct Lanewise::Walk {
  Index planes, plane, rows, row, columns, column, pixel, out_pixel, residual_pixel;
  Epilogue epilogue;
};

namespace {

constexpr int WIDEST = 7;  // with weights and inputs within 16 registers

// WIDTH neighbouring outputs of a row. COLUMNS: of the kernel when dilate is 1, 0 for any; STRIDE goes with it.
template <int COLUMNS, int STRIDE, int WIDTH>
void micro(const Lanewise::Walk& walk, const float* in, const float* weights, const float* bias, const float* residual,
           float* out) {
  for (int part = 0; part < BLOCK; part += LANES) {
    Reg sum[WIDTH];
    const Reg start = bias ? load_part(bias + part) : Reg{};
#pragma GCC unroll 7
    for (int p = 0; p < WIDTH; ++p) sum[p] = start;
    alignas(64) float memory[WIDTH * LANES];
    float* sums = memory;  // of the chains before
    asm volatile("" : "+r"(sums));
    bool begun = false;
    Index room = CHAIN;
    const float* w = weights + part;
    for (Index c = 0; c < walk.planes; ++c) {
      const float* line = in + c * walk.plane + part;
      for (Index y = 0; y < walk.rows; ++y, line += walk.row) {
        if (room <= 0) {
#pragma GCC unroll 7
          for (int p = 0; p < WIDTH; ++p) {
            store_part(sums + p * LANES, begun ? load_part(sums + p * LANES) + sum[p] : sum[p]);
            sum[p] = Reg{};
          }
          begun = true;
          room = CHAIN;
        }
        room -= walk.columns;
        if constexpr (COLUMNS > 0) {
          Reg tap[COLUMNS];
#pragma GCC unroll 5
          for (int k = 0; k < COLUMNS; ++k) tap[k] = load_part(w + k * BLOCK);
          w += COLUMNS * BLOCK;
#pragma GCC unroll 20
          for (int q = 0; q < (WIDTH - 1) * STRIDE + COLUMNS; ++q) {
            const Reg x = load_part(line + q * BLOCK);
#pragma GCC unroll 5
            for (int k = 0; k < COLUMNS; ++k)
              if (q >= k && (q - k) % STRIDE == 0 && (q - k) / STRIDE < WIDTH) sum[(q - k) / STRIDE] += tap[k] * x;
          }
        } else {
          const float* from = line;
          for (Index k = 0; k < walk.columns; ++k, from += walk.column, w += BLOCK) {
            const Reg tap = load_part(w);
#pragma GCC unroll 7
            for (int p = 0; p < WIDTH; ++p) sum[p] += tap * load_part(from + p * walk.pixel);
          }
        }
      }
    }
#pragma GCC unroll 7
    for (int p = 0; p < WIDTH; ++p) {
      Reg v = begun ? load_part(sums + p * LANES) + sum[p] : sum[p];
      if (residual) v += load_part(residual + p * walk.residual_pixel + part);
      *reinterpret_cast<RegU*>(out + p * walk.out_pixel + part) = apply_epilogue(v, walk.epilogue);
    }
  }
}

template <int COLUMNS, int STRIDE, int... N>
Lanewise::Micro pick(Index pixels, std::integer_sequence<int, N...>) {
  static constexpr Lanewise::Micro kernels[] = {micro<COLUMNS, STRIDE, N + 1>...};
  return kernels[pixels - 1];
}

Lanewise::Micro micro_for(const Shape& s, Index pixels) {
  constexpr auto all = std::make_integer_sequence<int, WIDEST>{};
  if (s.dilate_w == 1) {
    if (s.kernel_w == 3 && s.stride_w == 1) return pick<3, 1>(pixels, all);
    if (s.kernel_w == 3 && s.stride_w == 2) return pick<3, 2>(pixels, all);
    if (s.kernel_w == 5 && s.stride_w == 1) return pick<5, 1>(pixels, all);
    if (s.kernel_w == 5 && s.stride_w == 2) return pick<5, 2>(pixels, all);
  }
  return pick<0, 0>(pixels, all);
}

// to[p * 16 + l] = from[p * 16 + lanes[l]] for so many pixels: lanes of one block change places.
void permute(const float* from, const std::int32_t* lanes, Index pixels, float* to) {
#if defined(__AVX512F__)
  const __m512i order = _mm512_loadu_si512(lanes);
  for (Index p = 0; p < pixels; ++p)
    _mm512_storeu_ps(to + p * BLOCK, _mm512_maskz_permutexvar_ps(0xffff, order, _mm512_loadu_ps(from + p * BLOCK)));
#else
  for (Index p = 0; p < pixels; ++p)
    for (Index l = 0; l < BLOCK; ++l) to[p * BLOCK + l] = from[p * BLOCK + lanes[l]];
#endif
}

}  // namespace

Lanewise::Lanewise(const Shape& shape, const View& in, const View& out, const View& residual, const Epilogue& epilogue,
                   int threads, Index parts)
    : shape_(shape), in_(in), out_(out), residual_(residual), epilogue_(epilogue) {
  moves_ = shape.group_channels() != 1 || shape.group_filters() != 1;
  copies_ = moves_ || in.halo_h < std::max(shape.top(), shape.bottom()) || in.halo_w < std::max(shape.left(), shape.right());
  const Index count = (shape.out_width + WIDEST - 1) / WIDEST;
  for (Index i = 0; i < count; ++i) {
    const Index at = shape.out_width * i / count;
    pieces_.push_back({at, micro_for(shape, shape.out_width * (i + 1) / count - at)});
  }
  const Index planes = shape.batch * blocks_of(shape.filters);
  const double moved = 4.0 * BLOCK * planes * (shape.height * shape.width * shape.group_channels() + shape.pixels());
  row_ = (shape.left() + shape.width + shape.right()) * BLOCK;
  const Index input_rows = shape.top() + shape.height + shape.bottom();
  // a part of a plane is as large as a thread's share, and as its copy may be to stay in cache
  constexpr Index CACHE = Index{1} << 16;
  parts_ = threads == 1 ? 1 : (4 * threads + planes - 1) / std::max<Index>(1, planes);
  if (copies_) parts_ = std::max(parts_, shape.group_channels() * input_rows * row_ / CACHE);
  parts_ = parts ? parts : std::clamp<Index>(parts_, 1, std::max<Index>(1, shape.out_height / 4));
  chunks_ = chunks_for(std::max(shape.flops(), 20 * moved), planes * parts_, threads);
  if (copies_) {
    const Index rows =
        ((shape.out_height + parts_ - 1) / parts_ - 1) * shape.stride_h + (shape.kernel_h - 1) * shape.dilate_h + 1;
    thread_size_ = aligned(shape.group_channels() * rows * row_ * sizeof(float)) / sizeof(float);
    scratch_ = threads * thread_size_ * sizeof(float);
  }
}

void Lanewise::pack(const Weights& w, float* packed, const Run& run) const {
  const Index window = shape_.kernel_h * shape_.kernel_w;
  run.ranges(blocks_of(shape_.filters), std::max<Index>(1, 4096 / taps()), [&](Index begin, Index end, int) {
    for (Index b = begin; b < end; ++b)
      for (Index c = 0; c < shape_.group_channels(); ++c)
        for (Index k = 0; k < window; ++k)
          for (Index l = 0; l < BLOCK; ++l) {
            const Index filter = b * BLOCK + l, group = filter / shape_.group_filters();
            const float* from = w.data + group * w.group + filter % shape_.group_filters() * w.filter + c * w.channel +
                                k / shape_.kernel_w * w.row + k % shape_.kernel_w * w.column;
            packed[((b * shape_.group_channels() + c) * window + k) * BLOCK + l] = filter < shape_.filters ? *from : 0.f;
          }
  });
}

// Rows of input from `first` on, padded, for each channel of a group the plane that the filters of this block want.
void Lanewise::gather(const float* image, Index block, Index first, Index rows, float* to) const {
  for (Index c = 0; c < shape_.group_channels(); ++c) {
    std::int32_t lanes[BLOCK];
    Index offset[BLOCK];
    bool within = true;  // one block
    for (Index l = 0; l < BLOCK; ++l) {
      const Index filter = std::min(block * BLOCK + l, shape_.filters - 1);
      const Index channel = filter / shape_.group_filters() * shape_.group_channels() + c;
      lanes[l] = channel % BLOCK;
      offset[l] = channel / BLOCK * in_.plane + lanes[l];
      within = within && offset[l] - lanes[l] == offset[0] - lanes[0];
    }
    for (Index y = first; y < first + rows; ++y, to += row_) {
      if (y < 0 || y >= shape_.height) {
        std::memset(to, 0, row_ * sizeof(float));
        continue;
      }
      const float* from = image + y * in_.row;
      float* inside = to + shape_.left() * BLOCK;
      std::memset(to, 0, shape_.left() * BLOCK * sizeof(float));
      if (!moves_) std::memcpy(inside, from + block * in_.plane, shape_.width * BLOCK * sizeof(float));
      else if (within) permute(from + offset[0] - lanes[0], lanes, shape_.width, inside);
      else
        for (Index x = 0; x < shape_.width; ++x)
          for (Index l = 0; l < BLOCK; ++l) inside[x * BLOCK + l] = from[x * BLOCK + offset[l]];
      std::memset(inside + shape_.width * BLOCK, 0, shape_.right() * BLOCK * sizeof(float));
    }
  }
}

void Lanewise::rows(const Operands& operands, Index n, Index b, Index y0, Index y1, float* own, const float* more,
                    float* to) const {
  const Index reach = (shape_.kernel_h - 1) * shape_.dilate_h + 1;
  const Index first = y0 * shape_.stride_h - shape_.pad_h, rows = (y1 - y0 - 1) * shape_.stride_h + reach;
  Walk walk{shape_.group_channels(), 0,          shape_.kernel_h, 0,      shape_.kernel_w, shape_.dilate_w * BLOCK,
            shape_.stride_w * BLOCK, out_.pixel, residual_.pixel, epilogue_};
  const float* image = operands.in + n * in_.batch;
  const float* from = image + b * in_.plane + first * in_.row - shape_.pad_w * BLOCK;
  Index row = in_.row;
  if (copies_) {
    gather(image, b, first, rows, own);
    from = own + (shape_.left() - shape_.pad_w) * BLOCK;
    row = row_;
    walk.plane = rows * row_;
  }
  walk.row = row * shape_.dilate_h;
  const float* weights = operands.weights + b * taps() * BLOCK;
  const float* bias = operands.bias ? operands.bias + b * BLOCK : nullptr;
  for (Index y = y0; y < y1; ++y, from += shape_.stride_h * row, to += out_.row, more = more ? more + residual_.row : nullptr)
    for (const Piece& piece : pieces_)
      piece.micro(walk, from + piece.at * walk.pixel, weights, bias, more ? more + piece.at * residual_.pixel : nullptr,
                  to + piece.at * out_.pixel);
}

void Lanewise::run(const Run& run, const Operands& operands, std::byte* scratch) const {
  const Index blocks = blocks_of(shape_.filters), units = shape_.batch * blocks * parts_;
  run.parallel(std::min(chunks_, units), [&](Index chunk, int thread) {
    float* own = reinterpret_cast<float*>(scratch) + thread * thread_size_;
    const Index count = std::min(chunks_, units);
    for (Index unit = units * chunk / count; unit < units * (chunk + 1) / count; ++unit) {
      const Index n = unit / parts_ / blocks, b = unit / parts_ % blocks, part = unit % parts_;
      const Index y0 = shape_.out_height * part / parts_, y1 = shape_.out_height * (part + 1) / parts_;
      if (y0 == y1) continue;
      const float* more = operands.residual;
      if (more) more += n * residual_.batch + b * residual_.plane + y0 * residual_.row;
      rows(operands, n, b, y0, y1, own, more, operands.out + n * out_.batch + b * out_.plane + y0 * out_.row);
    }
  });
}

std::string Lanewise::how() const {
  return (moves_ ? "lanes of groups" : "depthwise") + std::string(copies_ && !moves_ ? " padded" : "");
}

}  // namespace gluonnx::conv
