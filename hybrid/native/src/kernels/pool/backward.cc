// What the data of a pooling gets.
//
// Windows that lie a stride apart are computed together. For that the columns of a row are kept apart by the rest of their
// number by the stride ("phases"): what a column of the kernel meets at all windows of a row is one run of memory then.
#include "../../base/vec.h"
#include "windows.h"

namespace gluonnx {
namespace {

// Rows with `pad` columns before them, as `stride` phases of `length` elements.
struct Phases {
  std::int64_t size, stride, pad, length;

  explicit Phases(const Windows& w) : size(w.size), stride(w.stride), pad(w.pad), length(w.steps + (w.kernel - 1) / w.stride) {}
  std::int64_t row() const { return stride * length; }
  // where the column of a kernel begins
  std::int64_t column(std::int64_t k) const { return k % stride * length + k / stride; }

  void part(const float* __restrict from, float* __restrict to, float border) const {
    std::fill(to, to + row(), border);
    each([&](std::int64_t x, std::int64_t at, std::int64_t count) {
      if (stride == 2)
        for (std::int64_t i = 0; i < count; ++i) to[at + i] = from[x + 2 * i];
      else
        for (std::int64_t i = 0; i < count; ++i) to[at + i] = from[x + i * stride];
    });
  }
  void join(const float* __restrict from, float* __restrict to) const {
    const std::int64_t pairs = std::min(size / 2, length - (pad + 1) / 2);
    if (stride == 2 && pairs > 0) {  // both phases at once: whole vectors are stored
      const float *even = from + column(pad), *odd = from + column(pad + 1);
      for (std::int64_t i = 0; i < pairs; ++i) {
        to[2 * i] = even[i];
        to[2 * i + 1] = odd[i];
      }
      for (std::int64_t x = 2 * pairs; x < size; ++x) to[x] = x + pad < row() ? from[column(x + pad)] : 0.f;
      return;
    }
    if (size + pad > row()) std::fill(to, to + size, 0.f);
    each([&](std::int64_t x, std::int64_t at, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) to[x + i * stride] = from[at + i];
    });
  }

 private:
  // f(first column, where it is, how many columns a stride apart) for each phase
  template <class F>
  void each(F&& f) const {
    for (std::int64_t p = 0; p < stride; ++p) {
      const std::int64_t skipped = p < pad ? (pad - p + stride - 1) / stride : 0;
      const std::int64_t x = p + skipped * stride - pad;
      if (x >= size) continue;
      const std::int64_t count = std::min((size - x + stride - 1) / stride, length - skipped);
      if (count > 0) f(x, p * length + skipped, count);
    }
  }
};

template <Fold FOLD>
class PoolBackward : public Kernel {
 public:
  PoolBackward(std::int64_t planes, const std::vector<Windows>& axes, bool mean, int threads)
      : planes_(planes), deep_(axes[0]), high_(axes[1]), wide_(axes[2]), phases_(wide_), mean_(mean) {
    how = "phases";
    flops = static_cast<double>(planes * deep_.steps * high_.steps * wide_.steps) *
            static_cast<double>(deep_.kernel * high_.kernel * wide_.kernel);
    for (float count : wide_.count) inverse_.push_back(1.f / count);
    rows_ = deep_.size * high_.size;
    // dx; for maxima x too, a row of border and one for what the border gets; what windows are still free, or their values
    const std::int64_t floats = phases_.row() * (FOLD == Fold::max ? 2 * rows_ + 2 : rows_ + 1) + wide_.steps;
    each_ = (floats + BLOCK - 1) / BLOCK * BLOCK;
    scratch = static_cast<std::size_t>(each_) * sizeof(float) * threads;
  }

  void run(const Run& run) const override {
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *y = run.input<float>(2);
    float* dx = run.output<float>();
    const std::int64_t volume = rows_ * wide_.size, steps = deep_.steps * high_.steps * wide_.steps;
    run.ranges(planes_, std::max<std::int64_t>(1, 16384 / (volume + 64)),
               [&](std::int64_t begin, std::int64_t end, int thread) {
                 float* memory = reinterpret_cast<float*>(run.scratch) + thread * each_;
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::fill(memory, memory + rows_ * phases_.row(), 0.f);
                   if constexpr (FOLD == Fold::max) to_largest(dy + i * steps, x + i * volume, y + i * steps, memory);
                   else spread(dy + i * steps, memory);
                   for (std::int64_t r = 0; r < rows_; ++r)
                     phases_.join(memory + r * phases_.row(), dx + i * volume + r * wide_.size);
                 }
               });
  }

 private:
  // The first of equal maxima gets all; also the padding can be it, where a window holds nothing finite.
  void to_largest(const float* dy, const float* x, const float* y, float* dx) const {
    const std::int64_t row = phases_.row();
    float *parts = dx + rows_ * row, *border = parts + rows_ * row, *lost = border + row;
    auto* free = reinterpret_cast<std::int32_t*>(lost + row);
    for (std::int64_t r = 0; r < rows_; ++r) phases_.part(x + r * wide_.size, parts + r * row, LEAST);
    std::fill(border, border + row, LEAST);
    std::fill(lost, lost + row, 0.f);
    for (std::int64_t z = 0; z < deep_.steps; ++z)
      for (std::int64_t h = 0; h < high_.steps; ++h, dy += wide_.steps, y += wide_.steps) {
        std::fill(free, free + wide_.steps, -1);
        for (std::int64_t kd = 0; kd < deep_.kernel; ++kd)
          for (std::int64_t kh = 0; kh < high_.kernel; ++kh) {
            const std::int64_t d = z * deep_.stride - deep_.pad + kd, r = h * high_.stride - high_.pad + kh;
            const bool inside = d >= 0 && d < deep_.size && r >= 0 && r < high_.size;
            const std::int64_t at = (d * high_.size + r) * row;
            for (std::int64_t k = 0; k < wide_.kernel; ++k)
              claim((inside ? parts + at : border) + phases_.column(k), y, dy, free,
                    (inside ? dx + at : lost) + phases_.column(k));
          }
      }
  }

  void claim(const float* __restrict x, const float* __restrict y, const float* __restrict dy, std::int32_t* __restrict free,
             float* __restrict dx) const {
    for (std::int64_t i = 0; i < wide_.steps; ++i) {
      const std::int32_t hit = x[i] == y[i] ? free[i] : 0;
      free[i] ^= hit;
      dx[i] += hit ? dy[i] : 0.f;
    }
  }

  // Every element of a window gets what the window got, divided by what a mean counts.
  void spread(const float* dy, float* dx) const {
    const std::int64_t row = phases_.row();
    float *one = dx + rows_ * row, *scaled = one + row;
    for (std::int64_t z = 0; z < deep_.steps; ++z)
      for (std::int64_t h = 0; h < high_.steps; ++h, dy += wide_.steps) {
        const float factor = mean_ ? 1.f / (deep_.count[z] * high_.count[h]) : 1.f;
        for (std::int64_t i = 0; i < wide_.steps; ++i) scaled[i] = mean_ ? dy[i] * (inverse_[i] * factor) : dy[i];
        std::fill(one, one + row, 0.f);
        for (std::int64_t k = 0; k < wide_.kernel; ++k) add(scaled, one + phases_.column(k), wide_.steps);
        for (std::int64_t d = deep_.begin[z]; d < deep_.end[z]; ++d)
          for (std::int64_t r = high_.begin[h]; r < high_.end[h]; ++r) add(one, dx + (d * high_.size + r) * row, row);
      }
  }

  static void add(const float* __restrict from, float* __restrict to, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
  }

  std::int64_t planes_, rows_, each_;
  Windows deep_, high_, wide_;
  Phases phases_;
  bool mean_;
  std::vector<float> inverse_;
};

// One window over everything.
template <Fold FOLD>
class GlobalBackward : public Kernel {
 public:
  GlobalBackward(std::int64_t planes, std::int64_t volume, bool mean) : planes_(planes), volume_(volume), mean_(mean) {
    how = "global";
  }

  void run(const Run& run) const override {
    const float *dy = run.input<float>(0), *x = run.input<float>(1), *y = run.input<float>(2);
    float* dx = run.output<float>();
    run.ranges(planes_, std::max<std::int64_t>(1, 16384 / (volume_ + 16)), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        float* to = dx + i * volume_;
        const float given = mean_ ? dy[i] / static_cast<float>(volume_) : dy[i];
        std::fill(to, to + volume_, FOLD == Fold::max ? 0.f : given);
        if constexpr (FOLD == Fold::max) {
          const float* from = x + i * volume_;
          const float* found = std::find(from, from + volume_, y[i]);
          if (found != from + volume_) to[found - from] = given;
        }
      }
    });
  }

 private:
  std::int64_t planes_, volume_;
  bool mean_;
};

class AdaptiveBackward : public Kernel {
 public:
  AdaptiveBackward(std::int64_t planes, Windows high, Windows wide, int threads)
      : planes_(planes), high_(std::move(high)), wide_(std::move(wide)) {
    how = "adaptive";
    each_ = (wide_.size + BLOCK - 1) / BLOCK * BLOCK;
    scratch = static_cast<std::size_t>(each_) * sizeof(float) * threads;
  }

  void run(const Run& run) const override {
    const float* dy = run.input<float>(0);
    float* dx = run.output<float>();
    const std::int64_t area = high_.size * wide_.size;
    run.ranges(planes_, std::max<std::int64_t>(1, 16384 / (area + 16)), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* row = reinterpret_cast<float*>(run.scratch) + thread * each_;
      std::fill(dx + begin * area, dx + end * area, 0.f);
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t y = 0; y < high_.steps; ++y) {
          std::fill(row, row + wide_.size, 0.f);
          for (std::int64_t x = 0; x < wide_.steps; ++x) {
            const float given = dy[(i * high_.steps + y) * wide_.steps + x] / high_.count[y] / wide_.count[x];
            for (std::int64_t c = wide_.begin[x]; c < wide_.end[x]; ++c) row[c] += given;
          }
          for (std::int64_t r = high_.begin[y]; r < high_.end[y]; ++r) {
            float* to = dx + i * area + r * wide_.size;
            for (std::int64_t c = 0; c < wide_.size; ++c) to[c] += row[c];
          }
        }
    });
  }

 private:
  std::int64_t planes_, each_;
  Windows high_, wide_;
};

}  // namespace

std::unique_ptr<Kernel> bind_pooling_backward(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1];
  const Pooling pooling(call.attrs, {x.shape.begin() + 2, x.shape.end()}, {dy.shape.begin() + 2, dy.shape.end()});
  if (pooling.channels_last) return nullptr;
  const std::int64_t planes = x.shape[0] * x.shape[1];
  const bool maximum = pooling.fold == Fold::max;
  if (pooling.global) {
    std::int64_t volume = 1;
    for (const auto& w : pooling.axes) volume *= w.size;
    if (maximum) return std::make_unique<GlobalBackward<Fold::max>>(planes, volume, false);
    return std::make_unique<GlobalBackward<Fold::sum>>(planes, volume, pooling.mean);
  }
  const auto axes = in_three(pooling.axes);
  if (maximum) return std::make_unique<PoolBackward<Fold::max>>(planes, axes, false, call.threads);
  return std::make_unique<PoolBackward<Fold::sum>>(planes, axes, pooling.mean, call.threads);
}

std::unique_ptr<Kernel> bind_adaptive_pooling_backward(const Call& call) {
  const Tensor &dy = call.in[0], &x = call.in[1];
  call.attrs.ignore("output_size");  // that of dy
  return std::make_unique<AdaptiveBackward>(x.shape[0] * x.shape[1], Windows::adaptive(x.shape[2], dy.shape[2]),
                                            Windows::adaptive(x.shape[3], dy.shape[3]), call.threads);
}

}  // namespace gluonnx
