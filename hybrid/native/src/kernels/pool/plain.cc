// Pooling of plain data, (N, C, *spatial): rows of a window are folded into one row, and windows along it from that.
#include "../move/move.h"
#include "../wide/pool.h"
#include "lanes.h"
#include "strips.h"

namespace gluonnx {
namespace {

template <Fold FOLD>
constexpr float START = FOLD == Fold::max ? LEAST : 0.f;

// as those of blocks
template <Fold FOLD>
GX_INLINE float fold(float all, float more) {
  return FOLD == Fold::max ? (more > all ? more : all) : all + more;
}
template <int POWER>
GX_INLINE float raise(float v) {
  return POWER == 3 ? v * v * v : POWER == 2 ? v * v : v;
}
template <int POWER>
GX_INLINE float root(float v) {
  return POWER == 3 ? std::cbrt(v) : POWER == 2 ? std::sqrt(v) : v;
}

// out[i] = fold of row[i * S + k] over k
template <Fold FOLD, int K, int S>
void across(const float* __restrict row, float* __restrict out, std::int64_t steps, std::int64_t, std::int64_t) {
  for (std::int64_t i = 0; i < steps; ++i) {
    float all = row[i * S];
#pragma GCC unroll 4
    for (int k = 1; k < K; ++k) all = fold<FOLD>(all, row[i * S + k]);
    out[i] = all;
  }
}
template <Fold FOLD>
void across_any(const float* __restrict row, float* __restrict out, std::int64_t steps, std::int64_t kernel,
                std::int64_t stride) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < steps; ++i) out[i] = row[i];
    for (std::int64_t k = 1; k < kernel; ++k)
      for (std::int64_t i = 0; i < steps; ++i) out[i] = fold<FOLD>(out[i], row[i + k]);
    return;
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    float all = row[i * stride];
    for (std::int64_t k = 1; k < kernel; ++k) all = fold<FOLD>(all, row[i * stride + k]);
    out[i] = all;
  }
}

using Across = void (*)(const float*, float*, std::int64_t, std::int64_t, std::int64_t);

template <Fold FOLD>
Across across_of(const Windows& w) {
  if (w.kernel == 2 && w.stride == 2) return across<FOLD, 2, 2>;
  if (w.kernel == 3 && w.stride == 2) return across<FOLD, 3, 2>;
  if (w.kernel == 3 && w.stride == 1) return across<FOLD, 3, 1>;
  return across_any<FOLD>;
}

// All of a piece of memory. Many sums at a time keep the error low.
template <Fold FOLD, int POWER>
float everything(const float* p, std::int64_t count) {
  Block all = start<FOLD>();
  std::int64_t i = 0;
  const auto next = [&](std::int64_t at) __attribute__((always_inline)) { return raise<POWER>(load(p + at)); };
  if (count >= 8 * BLOCK) {
    Block a = all, b = all, c = all;
    for (; i + 4 * BLOCK <= count; i += 4 * BLOCK) {
      all = fold<FOLD>(all, next(i));
      a = fold<FOLD>(a, next(i + BLOCK));
      b = fold<FOLD>(b, next(i + 2 * BLOCK));
      c = fold<FOLD>(c, next(i + 3 * BLOCK));
    }
    all = fold<FOLD>(fold<FOLD>(all, a), fold<FOLD>(b, c));
  }
  for (; i + BLOCK <= count; i += BLOCK) all = fold<FOLD>(all, next(i));
  alignas(64) float parts[BLOCK];
  store(parts, all);
  for (int j = 0; i < count; ++i, ++j) parts[j] = fold<FOLD>(parts[j], raise<POWER>(p[i]));
#pragma GCC unroll 4
  for (int half = BLOCK / 2; half; half /= 2)
#pragma GCC unroll 8
    for (int j = 0; j < half; ++j) parts[j] = fold<FOLD>(parts[j], parts[j + half]);
  return parts[0];
}

// Small images, sixteen of them side by side.
class LanesPool : public Kernel {
 public:
  LanesPool(std::int64_t planes, const std::vector<Windows>& axes, std::unique_ptr<const Strips> strips, int threads)
      : planes_(planes),
        strips_(std::move(strips)),
        steps_{axes[0].steps, axes[1].steps, axes[2].steps},
        row_(axes[2].size),
        slice_(axes[1].size * row_),
        volume_(axes[0].size * slice_) {
    how = "lanes";
    flops = static_cast<double>(planes * each()) * static_cast<double>(axes[0].kernel * axes[1].kernel * axes[2].kernel);
    scratch = static_cast<std::size_t>((volume_ + each()) * BLOCK * threads) * sizeof(float);
  }

  void run(const Run& run) const override {
    run.ranges((planes_ + BLOCK - 1) / BLOCK, grain_of((volume_ + each()) * BLOCK * sizeof(float)),
               [&](std::int64_t begin, std::int64_t end, int thread) {
                 float* in = reinterpret_cast<float*>(run.scratch) + thread * (volume_ + each()) * BLOCK;
                 float* out = in + volume_ * BLOCK;
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t first = i * BLOCK, count = std::min(BLOCK, planes_ - first);
                   pack_lanes(run.input<float>(0) + first * volume_, volume_, count, in, volume_);
                   for (std::int64_t z = 0; z < steps_[0]; ++z)
                     for (std::int64_t y = 0; y < steps_[1]; ++y)
                       strips_->row(in, slice_ * BLOCK, row_ * BLOCK, out + (z * steps_[1] + y) * steps_[2] * BLOCK, z, y);
                   unpack_lanes(out, run.output<float>() + first * each(), each(), count, each());
                 }
               });
  }

 private:
  std::int64_t each() const { return steps_[0] * steps_[1] * steps_[2]; }

  std::int64_t planes_;
  std::unique_ptr<const Strips> strips_;
  std::int64_t steps_[3], row_, slice_, volume_;
};

constexpr std::size_t LARGEST = 1 << 20;  // bytes of sixteen images that may go side by side

// Windows in up to three axes; missing ones come first and are one long.
class InPlanes : public Kernel {
 protected:
  InPlanes(std::int64_t planes, const std::vector<Windows>& axes, bool mean, int threads)
      : planes_(planes), deep_(axes[0]), high_(axes[1]), wide_(axes[2]), mean_(mean) {
    how = "plain";
    flops = static_cast<double>(planes * deep_.steps * high_.steps * wide_.steps) *
            static_cast<double>(deep_.kernel * high_.kernel * wide_.kernel);
    for (float count : wide_.count) inverse_.push_back(1.f / count);
    whole_ = deep_.steps * high_.steps * wide_.steps == 1 && covers(deep_) && covers(high_) && covers(wide_);
    // windows of one stride and size need what is beyond the borders; the others (adaptive) lie inside
    row_ = std::max(wide_.size, wide_.kernel ? (wide_.steps - 1) * wide_.stride + wide_.kernel : 0);
    row_ = (std::max(row_, wide_.pad + wide_.size) + BLOCK - 1) / BLOCK * BLOCK;
    if (!whole_) scratch = static_cast<std::size_t>(row_) * sizeof(float) * threads;
  }

  static bool covers(const Windows& w) { return w.begin[0] == 0 && w.end[0] == w.size; }

  std::int64_t planes_, row_;
  Windows deep_, high_, wide_;
  bool mean_, whole_;
  std::vector<float> inverse_;
};

template <Fold FOLD, int POWER>
class PlainPool : public InPlanes {
 public:
  PlainPool(std::int64_t planes, const std::vector<Windows>& axes, bool mean, int threads)
      : InPlanes(planes, axes, mean, threads), across_(across_of<FOLD>(wide_)) {}

  void run(const Run& run) const override {
    const float* in = run.input<float>(0);
    float* out = run.output<float>();
    const std::int64_t volume = deep_.size * high_.size * wide_.size;
    if (whole_) {
      const float factor = mean_ ? 1.f / (deep_.count[0] * high_.count[0] * wide_.count[0]) : 1.f;
      run.ranges(planes_, std::max<std::int64_t>(1, 32768 / (volume + 64)), [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
          const float all = everything<FOLD, POWER>(in + i * volume, volume);
          out[i] = FOLD == Fold::max ? all : root<POWER>(all * factor);
        }
      });
      return;
    }
    const std::int64_t each = deep_.steps * high_.steps;
    const std::int64_t reads = volume / std::max<std::int64_t>(1, each) + 2 * wide_.size + 64;  // of a row of windows, about
    run.ranges(planes_ * each, std::max<std::int64_t>(1, 32768 / reads), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* row = reinterpret_cast<float*>(run.scratch) + thread * row_;
      for (std::int64_t x = 0; x < row_; ++x) row[x] = START<FOLD>;
      for (std::int64_t i = begin; i < end; ++i)
        windows(in + i / each * volume, row, out + i * wide_.steps, i % each / high_.steps, i % high_.steps);
    });
  }

 private:
  // One row of windows. row: START before and behind the data.
  void windows(const float* in, float* row, float* out, std::int64_t z, std::int64_t y) const {
    float* inside = row + wide_.pad;
    bool first = true;
    for (std::int64_t d = deep_.begin[z]; d < deep_.end[z]; ++d)
      for (std::int64_t h = high_.begin[y]; h < high_.end[y]; ++h) {
        add(in + (d * high_.size + h) * wide_.size, inside, first);
        first = false;
      }
    if (first) std::fill(inside, inside + wide_.size, START<FOLD>);
    if (wide_.kernel) across_(row, out, wide_.steps, wide_.kernel, wide_.stride);
    else
      for (std::int64_t x = 0; x < wide_.steps; ++x) {
        out[x] = START<FOLD>;
        for (std::int64_t i = wide_.begin[x]; i < wide_.end[x]; ++i) out[x] = fold<FOLD>(out[x], row[i]);
      }
    if (FOLD == Fold::sum && mean_) {
      const float factor = 1.f / (deep_.count[z] * high_.count[y]);
      for (std::int64_t x = 0; x < wide_.steps; ++x) out[x] *= inverse_[x] * factor;
    }
    if constexpr (POWER > 1)
      for (std::int64_t x = 0; x < wide_.steps; ++x) out[x] = root<POWER>(out[x]);
  }

  void add(const float* __restrict from, float* __restrict row, bool first) const {
    const std::int64_t size = wide_.size;
    if (first)
      for (std::int64_t x = 0; x < size; ++x) row[x] = fold<FOLD>(START<FOLD>, raise<POWER>(from[x]));
    else
      for (std::int64_t x = 0; x < size; ++x) row[x] = fold<FOLD>(row[x], raise<POWER>(from[x]));
  }

  Across across_;
};

template <Fold FOLD, int POWER>
std::unique_ptr<Kernel> make(const Call& call, const std::vector<Windows>& axes, bool mean) {
  const Tensor& in = call.in[0];
  const std::int64_t planes = in.shape[0] * in.shape[1], volume = axes[0].size * axes[1].size * axes[2].size;
  const bool whole = axes[0].steps * axes[1].steps * axes[2].steps == 1;
  // rows that hardly fill a register or two are better taken across images
  if ((!whole || volume <= 256) && planes >= BLOCK / 2 && axes[2].size <= 64 && volume * BLOCK * sizeof(float) <= LARGEST)
    return std::make_unique<LanesPool>(planes, axes, strips_of(FOLD, POWER, axes, mean), call.threads);
  return std::make_unique<PlainPool<FOLD, POWER>>(planes, axes, mean, call.threads);
}

}  // namespace

Windows::Windows(std::int64_t size, std::int64_t kernel, std::int64_t stride, std::int64_t pad, std::int64_t steps, bool include)
    : size(size), kernel(kernel), stride(stride), pad(pad), steps(steps) {
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t start = i * stride - pad, stop = std::min(start + kernel, size + pad);
    begin.push_back(std::clamp<std::int64_t>(start, 0, size));
    end.push_back(std::clamp<std::int64_t>(std::min(stop, size), begin.back(), size));
    const std::int64_t counted = include ? stop - start : std::min(stop, size) - std::max<std::int64_t>(start, 0);
    count.push_back(static_cast<float>(std::max<std::int64_t>(counted, 1)));
  }
}

Windows Windows::adaptive(std::int64_t size, std::int64_t steps) {
  Windows w(size, 0, 1, 0, 0, false);
  w.steps = steps;
  for (std::int64_t i = 0; i < steps; ++i) {
    w.begin.push_back(i * size / steps);
    w.end.push_back(((i + 1) * size + steps - 1) / steps);
    w.count.push_back(static_cast<float>(w.end.back() - w.begin.back()));
  }
  return w;
}

Pooling::Pooling(const Attrs& attrs, const Tensor& data, const Tensor& result, int rank, DType dtype) {
  attrs.ignore("cudnn_off", "pooling_convention");  // the convention shows in the output's shape
  const std::string type = attrs.text("pool_type"), layout = attrs.text("layout", "");
  fold = type == "max" ? Fold::max : Fold::sum;
  mean = type == "avg";
  const auto p = attrs.integer("p_value", 1);
  power = type == "lp" ? static_cast<int>(p) : 1;
  channels_last = !layout.empty() && layout.back() == 'C';
  global = attrs.flag("global_pool");
  want(rank >= 1 && rank <= 3 && data.rank() == result.rank() && data.dtype == dtype && result.dtype == dtype);
  want(channels_last || (data.shape[0] == result.shape[0] && data.shape[1] == result.shape[1]));
  const std::vector<std::int64_t> ones(rank, 1), zeros(rank, 0);
  const Checked<std::int64_t> kernel = attrs.ints("kernel", ones), stride = attrs.ints("stride", ones), pad = attrs.ints("pad", zeros);
  const bool include = attrs.integer("count_include_pad", 1) != 0;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t before = data.shape[2 + i], after = result.shape[2 + i];
    if (global) {
      want(after == 1 || channels_last);
      axes.emplace_back(before, before, 1, 0, 1, false);
      axes.back().count[0] = static_cast<float>(before);  // the mean of nothing at all is NaN
    } else {
      want_windows(after, kernel[i], stride[i], 1, pad[i]);
      want(pad[i] >= 0);
      axes.emplace_back(before, kernel[i], stride[i], pad[i], after, include);
    }
  }
}

std::vector<Windows> in_three(std::vector<Windows> axes) {
  axes.insert(axes.begin(), 3 - axes.size(), Windows(1, 1, 1, 0, 1, false));
  return axes;
}

std::unique_ptr<Kernel> bind_pooling(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  const DType dtype = in.dtype == DType::f64 ? DType::f64 : DType::f32;
  const Pooling pooling(call.attrs, in, out, in.rank() - 2, dtype);
  if (pooling.channels_last) return nullptr;
  const auto axes = in_three(pooling.axes);
  if (dtype == DType::f64) return wide::pooling(in.shape[0] * in.shape[1], axes, pooling);
  if (pooling.fold == Fold::max) return make<Fold::max, 1>(call, axes, false);
  if (pooling.power == 3) return make<Fold::sum, 3>(call, axes, false);
  if (pooling.power == 2) return make<Fold::sum, 2>(call, axes, false);
  return make<Fold::sum, 1>(call, axes, pooling.mean);
}

std::unique_ptr<Kernel> bind_adaptive_pooling(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  call.attrs.ignore("output_size");  // the output's
  want_adaptive(in, out);
  const auto axes = in_three({Windows::adaptive(in.shape[2], out.shape[2]), Windows::adaptive(in.shape[3], out.shape[3])});
  return make<Fold::sum, 1>(call, axes, true);
}

}  // namespace gluonnx
