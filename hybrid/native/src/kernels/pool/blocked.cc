// Pooling of blocked data: sixteen channels at a time.
#include <cmath>

#include "../../base/vec.h"
#include "windows.h"

namespace gluonnx {
namespace {

template <Fold FOLD>
GX_INLINE Block start() {
  return splat(FOLD == Fold::max ? LEAST : 0.f);
}
// of more and what is there already; a NaN is no maximum
template <Fold FOLD>
GX_INLINE Block fold(Block all, Block more) {
  return FOLD == Fold::max ? at_least(all, more) : all + more;
}

template <int POWER>
GX_INLINE Block raise(Block v) {
  if constexpr (POWER == 2) return v * v;
  if constexpr (POWER == 3) return v * v * v;
  return v;
}
template <int POWER>
GX_INLINE Block root(Block v) {
  if constexpr (POWER > 1)
    for (int r = 0; r < REGISTERS; ++r)
      for (int i = 0; i < LANES; ++i) v.r[r][i] = POWER == 2 ? std::sqrt(v.r[r][i]) : std::cbrt(v.r[r][i]);
  return v;
}

// One window of rows x columns from p. Rows are folded each for itself first, four columns abreast, which keeps the error of
// a long sum low.
template <Fold FOLD, int POWER>
Block window(const float* p, std::int64_t row, std::int64_t rows, std::int64_t columns) {
  Block all = start<FOLD>();
  for (std::int64_t y = 0; y < rows; ++y, p += row) {
    std::int64_t x = 0;
    Block part = start<FOLD>();
    if (columns >= 8) {
      Block a = part, b = part, c = part;
      for (; x + 4 <= columns; x += 4) {
        part = fold<FOLD>(part, raise<POWER>(load(p + x * BLOCK)));
        a = fold<FOLD>(a, raise<POWER>(load(p + (x + 1) * BLOCK)));
        b = fold<FOLD>(b, raise<POWER>(load(p + (x + 2) * BLOCK)));
        c = fold<FOLD>(c, raise<POWER>(load(p + (x + 3) * BLOCK)));
      }
      part = fold<FOLD>(fold<FOLD>(part, a), fold<FOLD>(b, c));
    }
    for (; x < columns; ++x) part = fold<FOLD>(part, raise<POWER>(load(p + x * BLOCK)));
    all = fold<FOLD>(all, part);
  }
  return all;
}

// `count` windows of ROWS x K in a row, S apart, all inside the data: columns are folded once and shared by neighbours.
template <Fold FOLD, int ROWS, int K, int S>
void line(const float* p, std::int64_t row, float* out, std::int64_t count, float factor) {
  const auto column = [&](const float* q) __attribute__((always_inline)) {
    Block v = FOLD == Fold::max ? fold<FOLD>(start<FOLD>(), load(q)) : load(q);  // a NaN must not come first
#pragma GCC unroll 4
    for (int y = 1; y < ROWS; ++y) v = fold<FOLD>(v, load(q + y * row));
    return v;
  };
  Block kept[K];
#pragma GCC unroll 4
  for (int i = 0; i < K - S; ++i) kept[i] = column(p + i * BLOCK);
  for (std::int64_t x = 0; x < count; ++x, p += S * BLOCK, out += BLOCK) {
#pragma GCC unroll 4
    for (int i = K - S; i < K; ++i) kept[i] = column(p + i * BLOCK);
    Block all = kept[0];
#pragma GCC unroll 4
    for (int i = 1; i < K; ++i) all = fold<FOLD>(all, kept[i]);
    store(out, FOLD == Fold::max ? all : all * factor);
#pragma GCC unroll 4
    for (int i = 0; i < K - S; ++i) kept[i] = kept[i + S];
  }
}

using Line = void (*)(const float*, std::int64_t, float*, std::int64_t, float);

// For windows of so many rows (some may lie outside the data); null where there is no fast path.
template <Fold FOLD>
Line line_of(std::int64_t rows, std::int64_t kernel, std::int64_t stride) {
  if (rows < 1 || rows > 3) return nullptr;
  if (kernel == 3 && stride == 2) {
    constexpr Line lines[] = {line<FOLD, 1, 3, 2>, line<FOLD, 2, 3, 2>, line<FOLD, 3, 3, 2>};
    return lines[rows - 1];
  }
  if (kernel == 3 && stride == 1) {
    constexpr Line lines[] = {line<FOLD, 1, 3, 1>, line<FOLD, 2, 3, 1>, line<FOLD, 3, 3, 1>};
    return lines[rows - 1];
  }
  if (kernel == 2 && stride == 2 && rows < 3) {
    constexpr Line lines[] = {line<FOLD, 1, 2, 2>, line<FOLD, 2, 2, 2>};
    return lines[rows - 1];
  }
  return nullptr;
}

template <Fold FOLD, int POWER>
class BlockedPool : public Kernel {
 public:
  BlockedPool(const Tensor& in, const Tensor& out, const Pooling& pooling)
      : in_(in), out_(out), high_(pooling.axes[0]), wide_(pooling.axes[1]), mean_(pooling.mean) {
    for (std::int64_t y = 0; y < high_.steps; ++y)
      lines_.push_back(POWER == 1 ? line_of<FOLD>(high_.end[y] - high_.begin[y], wide_.kernel, wide_.stride) : nullptr);
    how = "blocked";
    flops = static_cast<double>(out.size()) * static_cast<double>(high_.kernel * wide_.kernel);
  }

  void run(const Run& run) const override {
    const std::int64_t rows = out_.shape[0] * out_.shape[1] * high_.steps;
    // what a row of windows reads and computes, in blocks of 64 bytes
    const std::int64_t work = std::max<std::int64_t>(1, wide_.steps * (1 + high_.kernel * wide_.kernel / 4));
    run.ranges(rows, std::max<std::int64_t>(1, 2048 / work), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t plane = i / high_.steps, y = i % high_.steps;
        const std::int64_t n = plane / out_.shape[1], b = plane % out_.shape[1];
        const float* in =
            run.input<float>(0) + n * in_.batch_stride + b * in_.block_stride() + high_.begin[y] * in_.row_stride();
        strip(in, run.output<float>() + n * out_.batch_stride + b * out_.block_stride() + y * out_.row_stride(), y);
      }
    });
  }

 private:
  // One row of windows, in: the first row of the data that they see.
  void strip(const float* in, float* out, std::int64_t y) const {
    const std::int64_t first = wide_.first_whole(), last = wide_.last_whole();
    if (!lines_[y] || first == last) return some(in, out, y, 0, wide_.steps);
    some(in, out, y, 0, first);
    const float factor = mean_ ? 1.f / (high_.count[y] * wide_.count[first]) : 1.f;
    lines_[y](in + wide_.begin[first] * BLOCK, in_.row_stride(), out + first * BLOCK, last - first, factor);
    some(in, out, y, last, wide_.steps);
  }

  void some(const float* in, float* out, std::int64_t y, std::int64_t from, std::int64_t to) const {
    const std::int64_t rows = high_.end[y] - high_.begin[y];
    for (std::int64_t x = from; x < to; ++x) {
      Block all = window<FOLD, POWER>(in + wide_.begin[x] * BLOCK, in_.row_stride(), rows, wide_.end[x] - wide_.begin[x]);
      if (FOLD == Fold::sum && mean_) all = all * (1.f / (high_.count[y] * wide_.count[x]));
      store(out + x * BLOCK, root<POWER>(all));
    }
  }

  Tensor in_, out_;
  Windows high_, wide_;
  bool mean_;
  std::vector<Line> lines_;
};

}  // namespace

std::unique_ptr<Kernel> bind_blocked_pool(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  const Pooling pooling(call.attrs, {in.shape[2], in.shape[3]}, {out.shape[2], out.shape[3]});
  if (pooling.channels_last) return nullptr;
  if (pooling.fold == Fold::max) return std::make_unique<BlockedPool<Fold::max, 1>>(in, out, pooling);
  if (pooling.power == 3) return std::make_unique<BlockedPool<Fold::sum, 3>>(in, out, pooling);
  if (pooling.power == 2) return std::make_unique<BlockedPool<Fold::sum, 2>>(in, out, pooling);
  return std::make_unique<BlockedPool<Fold::sum, 1>>(in, out, pooling);
}

}  // namespace gluonnx
