// Pooling of 8-bit integers, (N, C, *spatial): MXNet's quantised one, ONNX's MaxPool, and onnxruntime's QLinearGlobalAveragePool.
// Rows of a window are folded into one row, and windows along it from that; sums are whole numbers and are divided once.
#include <cmath>

#include "windows.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

template <class T, int K, int S>
void across(const T* __restrict row, T* __restrict out, Index steps) {
  for (Index i = 0; i < steps; ++i) {
    T all = row[i * S];
#pragma GCC unroll 4
    for (int k = 1; k < K; ++k) all = std::max(all, row[i * S + k]);
    out[i] = all;
  }
}

// A mean as the nearest of T, ties to even; that of nothing at all is no number, which MXNet makes the greatest signed one and 0.
template <class T>
T nearest_mean(Index sum, double count) {
  const double mean = static_cast<double>(sum) / count;
  if (mean != mean) return std::is_signed_v<T> ? std::numeric_limits<T>::max() : 0;
  return static_cast<T>(std::nearbyint(mean));
}

// Windows in up to three axes; missing ones come first and are one long.
template <class T, bool MEAN>
class BytePool : public Kernel {
 public:
  BytePool(Index planes, const std::vector<Windows>& axes, const Call& call)
      : planes_(planes), deep_(axes[0]), high_(axes[1]), wide_(axes[2]) {
    how = "bytes";
    flops = static_cast<double>(planes * deep_.steps * high_.steps * wide_.steps) *
            static_cast<double>(deep_.kernel * high_.kernel * wide_.kernel);
    row_ = std::max(wide_.pad + wide_.size, (wide_.steps - 1) * wide_.stride + wide_.kernel) + 64;
    scratch = static_cast<std::size_t>(row_) * sizeof(Sum) * call.threads;
    ranges_ = call.out.size() == 3;
  }

  void run(const Run& run) const override {
    if (ranges_)
      for (int i : {1, 2}) *run.output<float>(i) = *run.input<float>(i);
    const Index each = deep_.steps * high_.steps, volume = deep_.size * high_.size * wide_.size;
    const Index reads = volume / std::max<Index>(1, each) + 2 * wide_.size + 64;  // of a row of windows, about
    run.ranges(planes_ * each, std::max<Index>(1, 131072 / reads), [&](Index begin, Index end, int thread) {
      Sum* row = reinterpret_cast<Sum*>(run.scratch) + thread * row_;
      std::fill(row, row + row_, START);
      for (Index i = begin; i < end; ++i)
        windows(run.input<T>(0) + i / each * volume, row, run.output<T>() + i * wide_.steps, i % each / high_.steps,
                i % high_.steps);
    });
  }

 private:
  using Sum = std::conditional_t<MEAN, std::int32_t, T>;
  static constexpr Sum START = MEAN ? 0 : std::numeric_limits<T>::min();

  // One row of windows. row: START before and behind the data.
  void windows(const T* in, Sum* row, T* out, Index z, Index y) const {
    Sum* inside = row + wide_.pad;
    bool first = true;
    for (Index d = deep_.begin[z]; d < deep_.end[z]; ++d)
      for (Index h = high_.begin[y]; h < high_.end[y]; ++h) {
        add(in + (d * high_.size + h) * wide_.size, inside, first);
        first = false;
      }
    if (first) std::fill(inside, inside + wide_.size, START);
    if constexpr (MEAN) {
      const double others = static_cast<double>(deep_.count[z]) * high_.count[y];
      if (wide_.steps == 1) {
        Index sum = 0;
        for (Index x = wide_.begin[0]; x < wide_.end[0]; ++x) sum += inside[x];
        *out = nearest_mean<T>(sum, others * wide_.count[0]);
        return;
      }
      for (Index x = 0; x < wide_.steps; ++x) {
        Index sum = 0;
        for (Index k = 0; k < wide_.kernel; ++k) sum += row[x * wide_.stride + k];
        out[x] = nearest_mean<T>(sum, others * wide_.count[x]);
      }
    } else {
      if (wide_.kernel == 2 && wide_.stride == 2) return across<T, 2, 2>(row, out, wide_.steps);
      if (wide_.kernel == 3 && wide_.stride == 2) return across<T, 3, 2>(row, out, wide_.steps);
      if (wide_.kernel == 3 && wide_.stride == 1) return across<T, 3, 1>(row, out, wide_.steps);
      for (Index x = 0; x < wide_.steps; ++x) {
        Sum all = START;
        for (Index k = 0; k < wide_.kernel; ++k) all = std::max(all, row[x * wide_.stride + k]);
        out[x] = all;
      }
    }
  }

  void add(const T* __restrict from, Sum* __restrict row, bool first) const {
    const Index size = wide_.size;
    if (first)
      for (Index x = 0; x < size; ++x) row[x] = from[x];
    else if constexpr (MEAN)
      for (Index x = 0; x < size; ++x) row[x] += from[x];
    else
      for (Index x = 0; x < size; ++x) row[x] = std::max<Sum>(row[x], from[x]);
  }

  Index planes_, row_;
  Windows deep_, high_, wide_;
  bool ranges_;
};

template <bool MEAN>
std::unique_ptr<Kernel> make(const std::vector<Windows>& axes, const Call& call) {
  const Tensor& in = call.in[0];
  const Index planes = in.shape[0] * in.shape[1];
  want(call.out[0].shape[0] == in.shape[0] && call.out[0].shape[1] == in.shape[1]);
  double most = 255;  // that sums fit
  for (const Windows& w : axes) most *= static_cast<double>(std::max<Index>(1, w.kernel));
  want(most < 2147483647.);
  if (in.dtype == DType::i8) return std::make_unique<BytePool<std::int8_t, MEAN>>(planes, in_three(axes), call);
  return std::make_unique<BytePool<std::uint8_t, MEAN>>(planes, in_three(axes), call);
}

// Sums of whole images, which are scaled and rounded as ONNX does it.
template <class T>
class GlobalMean : public Kernel {
 public:
  GlobalMean(Index planes, Index volume, int x_zero, int y_scale, int y_zero)
      : planes_(planes), volume_(volume), x_zero_(x_zero), y_scale_(y_scale), y_zero_(y_zero) {
    how = "bytes";
    flops = static_cast<double>(planes * volume);
  }

  void run(const Run& run) const override {
    const Index zero = x_zero_ < 0 ? 0 : *run.input<T>(x_zero_);
    const float scale = *run.input<float>(1) / (*run.input<float>(y_scale_) * static_cast<float>(volume_));
    const int plus = y_zero_ < 0 ? 0 : *run.input<T>(y_zero_);
    constexpr int LOW = std::numeric_limits<T>::min(), HIGH = std::numeric_limits<T>::max();
    run.ranges(planes_, std::max<Index>(1, 131072 / (volume_ + 64)), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        const T* from = run.input<T>(0) + i * volume_;
        std::int32_t sum = 0;
        for (Index j = 0; j < volume_; ++j) sum += from[j];
        const float mean = static_cast<float>(sum - volume_ * zero) * scale;
        const double placed = mean == mean ? std::nearbyint(static_cast<double>(mean)) + plus : LOW;
        run.output<T>()[i] = static_cast<T>(std::clamp<double>(placed, LOW, HIGH));
      }
    });
  }

 private:
  Index planes_, volume_;
  int x_zero_, y_scale_, y_zero_;
};

bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }

}  // namespace

std::unique_ptr<Kernel> bind_quantized_pooling(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  call.attrs.ignore("p_value");
  Pooling pooling(call.attrs, in, out, in.rank() - 2, in.dtype);
  const bool include = call.attrs.integer("count_include_pad", 1) != 0;
  if (pooling.channels_last || (pooling.fold == Fold::sum && !pooling.mean) || !is_byte(in.dtype)) return nullptr;
  for (Windows& w : pooling.axes)  // what a mean counts is the whole kernel, wherever it lies
    if (include && !pooling.global) std::fill(w.count.begin(), w.count.end(), static_cast<float>(w.kernel));
  for (int i : {1, 2}) {
    want(call.in[i].dtype == DType::f32 && call.out[i].dtype == DType::f32);
    want_size(call.in[i], 1), want_size(call.out[i], 1);
  }
  return pooling.mean ? make<true>(pooling.axes, call) : make<false>(pooling.axes, call);
}

std::unique_ptr<Kernel> bind_max_pool(const Call& call) {
  const Attrs& attrs = call.attrs;
  const Tensor &in = call.in[0], &out = call.out[0];
  attrs.ignore("storage_order", "ceil_mode", "given");
  const Index rank = in.rank() - 2;
  want(rank >= 1 && rank <= 3 && out.rank() == in.rank() && out.dtype == in.dtype && is_byte(in.dtype));
  const std::vector<Index> ones(rank, 1);
  const Checked<Index> kernel = attrs.ints("kernel_shape"), strides = attrs.ints("strides", ones), dilations = attrs.ints("dilations", ones);
  const Checked<Index> pads = attrs.ints("pads", std::vector<Index>(2 * rank, 0));
  const std::string padding = attrs.text("auto_pad", "NOTSET");
  if (attrs.integer("num_outputs") != 1 || call.out.size() != 1 || (padding != "NOTSET" && padding != "VALID")) return nullptr;
  std::vector<Windows> axes;
  for (Index i = 0; i < rank; ++i) {
    const Index before = padding == "VALID" ? 0 : pads[i];
    if (dilations[i] != 1 || before < 0) return nullptr;
    want_windows(out.shape[2 + i], kernel[i], strides[i], 1, before);
    axes.emplace_back(in.shape[2 + i], kernel[i], strides[i], before, out.shape[2 + i], false);
  }
  return make<false>(axes, call);
}

std::unique_ptr<Kernel> bind_qlinear_global_average_pool(const Call& call) {
  const Tensor &in = call.in[0], &out = call.out[0];
  const bool x = call.attrs.names("given", "X_zero_point"), y = call.attrs.names("given", "Y_zero_point");
  if (call.attrs.flag("channels_last") || in.rank() < 3 || !is_byte(in.dtype)) return nullptr;
  const Index planes = in.shape[0] * in.shape[1], volume = planes ? in.size() / planes : 0;
  want(out.dtype == in.dtype && call.in.size() == 3u + x + y && volume < (1 << 23));
  want_size(out, planes);
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    const bool scale = i == 1 || static_cast<int>(i) == 2 + x;
    want(call.in[i].dtype == (scale ? DType::f32 : in.dtype)), want_size(call.in[i], 1);
  }
  const int x_zero = x ? 2 : -1, y_scale = 2 + x, y_zero = y ? 3 + x : -1;
  if (in.dtype == DType::i8) return std::make_unique<GlobalMean<std::int8_t>>(planes, volume, x_zero, y_scale, y_zero);
  return std::make_unique<GlobalMean<std::uint8_t>>(planes, volume, x_zero, y_scale, y_zero);
}

}  // namespace gluonnx
