// Windows of images as columns, and columns put back and added up: im2col, col2im and ONNX's Col2Im.
#include "../../base/numbers.h"
#include "parts.h"

namespace gluonnx {
namespace {

using Ints = std::vector<std::int64_t>;

// Windows over the spatial axes of (N, C, *size), `before` of which begin in front.
struct Geometry {
  Ints size, kernel, stride, dilate, before, steps;

  std::int64_t taps() const { return product(kernel, 0, kernel.size()); }
  std::int64_t windows() const { return product(steps, 0, steps.size()); }

  // f(column, place, count, distance) for each run of a tap's windows along the last axis that lies inside the image
  template <class F>
  void each_run(std::int64_t tap, F&& f) const {
    const std::size_t rank = size.size(), last = rank - 1;
    Ints begin(rank);  // of the tap in the first window
    for (std::size_t a = rank; a-- > 0; tap /= kernel[a]) begin[a] = tap % kernel[a] * dilate[a] - before[a];
    const std::int64_t by = stride[last], n = size[last];
    // the steps [first, end) along the last axis are inside
    const std::int64_t first = begin[last] < 0 ? (-begin[last] + by - 1) / by : 0;
    const std::int64_t end = std::min(steps[last], n > begin[last] ? (n - begin[last] + by - 1) / by : 0);
    if (first >= end) return;
    const std::int64_t rows = product(steps, 0, last);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t rest = row, place = 0, all = n;
      bool inside = true;
      for (std::size_t a = last; a-- > 0; rest /= steps[a]) {
        const std::int64_t at = begin[a] + rest % steps[a] * stride[a];
        inside &= at >= 0 && at < size[a];
        place += at * all;
        all *= size[a];
      }
      if (inside) f(row * steps[last] + first, place + begin[last] + first * by, end - first, by);
    }
  }
};

// Of the operators of MXNet, for images of this size.
Geometry geometry(const Attrs& attrs, const Ints& image) {
  Geometry g;
  g.kernel = attrs.ints("kernel");
  const std::size_t rank = g.kernel.size();
  g.stride = attrs.ints("stride", Ints(rank, 1));
  g.dilate = attrs.ints("dilate", Ints(rank, 1));
  g.before = attrs.ints("pad", Ints(rank, 0));
  want(rank >= 1 && image.size() == rank + 2 && g.stride.size() == rank && g.dilate.size() == rank && g.before.size() == rank);
  g.size.assign(image.begin() + 2, image.end());
  for (std::size_t a = 0; a < rank; ++a) {
    want(g.kernel[a] >= 1 && g.stride[a] >= 1 && g.dilate[a] >= 1 && g.before[a] >= 0);
    const std::int64_t room = plus(g.size[a], times(2, g.before[a])) - plus(times(g.dilate[a], g.kernel[a] - 1), 1);
    want(room >= 0);
    g.steps.push_back(room / g.stride[a] + 1);
    want_windows(g.steps[a], g.kernel[a], g.stride[a], g.dilate[a], g.before[a]);
  }
  return g;
}

// That columns are those of images (N, C, *size).
void want_columns(const Geometry& g, const Tensor& columns, const Tensor& images) {
  want(columns.dtype == images.dtype && images.rank() >= 2);
  want_shape(columns, {images.shape[0], times(images.shape[1], g.taps()), g.windows()});
}

template <class T>
class Unfold : public Kernel {
 public:
  Unfold(Geometry g, const Call& call) : g_(std::move(g)), planes_(call.in[0].shape[0] * call.in[0].shape[1]) {
    want_columns(g_, call.out[0], call.in[0]);
    how = "windows";
  }

  void run(const Run& run) const override {
    const std::int64_t taps = g_.taps(), windows = g_.windows(), plane = product(g_.size, 0, g_.size.size());
    run.ranges(planes_ * taps, grain_of(windows * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* from = run.input<T>(0) + i / taps * plane;
        T* to = run.output<T>() + i * windows;
        std::fill(to, to + windows, T{0});
        g_.each_run(i % taps, [&](std::int64_t column, std::int64_t place, std::int64_t count, std::int64_t by) {
          if (by == 1) return static_cast<void>(std::copy(from + place, from + place + count, to + column));
          for (std::int64_t j = 0; j < count; ++j) to[column + j] = from[place + j * by];
        });
      }
    });
  }

 private:
  Geometry g_;
  std::int64_t planes_;
};

// Whole numbers wrap round.
template <class T>
using Added = std::conditional_t<std::is_floating_point_v<T>, T, std::uint64_t>;

template <class T>
void fold(const Geometry& g, std::int64_t planes, const Run& run) {
  const std::int64_t taps = g.taps(), windows = g.windows(), plane = product(g.size, 0, g.size.size());
  run.ranges(planes, grain_of(taps * windows * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* to = run.output<T>() + i * plane;
      std::fill(to, to + plane, T{0});
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const T* from = run.input<T>(0) + (i * taps + tap) * windows;
        g.each_run(tap, [&](std::int64_t column, std::int64_t place, std::int64_t count, std::int64_t by) {
          for (std::int64_t j = 0; j < count; ++j) {
            T& y = to[place + j * by];
            y = static_cast<T>(static_cast<Added<T>>(y) + static_cast<Added<T>>(from[column + j]));
          }
        });
      }
    }
  });
}

// How numbers of a dtype are folded; null where they are not. A sum of bools is whether any is true.
using FoldNumbers = void (*)(const Geometry&, std::int64_t, const Run&);
FoldNumbers fold_of(DType dtype) {
  if (dtype == DType::b1) return fold<bool>;
  return by_number(dtype, [](auto t) -> FoldNumbers { return fold<decltype(t)>; });
}

class Fold : public Kernel {
 public:
  Fold(Geometry g, const Call& call)
      : g_(std::move(g)), planes_(call.out[0].shape[0] * call.out[0].shape[1]), fold_(fold_of(call.in[0].dtype)) {
    want_columns(g_, call.in[0], call.out[0]);
    want(fold_ != nullptr);
    how = "windows";
  }
  void run(const Run& run) const override { fold_(g_, planes_, run); }

 private:
  Geometry g_;
  std::int64_t planes_;
  FoldNumbers fold_;
};

// The sizes of a window come with a run.
class OnnxFold : public Kernel {
 public:
  explicit OnnxFold(const Call& call)
      : columns_(call.in[0].shape), image_(call.out[0].shape), fold_(fold_of(call.in[0].dtype)) {
    const Attrs& attrs = call.attrs;
    want(fold_ != nullptr);
    attrs.ignore("given");
    const std::size_t rank = image_.size() - 2;
    want(image_.size() >= 3 && columns_.size() == 3 && call.in[0].dtype == call.out[0].dtype);
    for (int i : {1, 2}) {
      want(call.in[i].dtype == DType::i64);
      want_size(call.in[i], static_cast<std::int64_t>(rank));
    }
    size_.assign(image_.begin() + 2, image_.end());
    stride_ = attrs.ints("strides", Ints(rank, 1));
    dilate_ = attrs.ints("dilations", Ints(rank, 1));
    pads_ = attrs.ints("pads", Ints(2 * rank, 0));
    want(stride_.size() == rank && dilate_.size() == rank && pads_.size() == 2 * rank && image_[0] == columns_[0]);
    constexpr std::int64_t MOST = 1 << 30;
    for (std::size_t a = 0; a < rank; ++a) {
      want(stride_[a] >= 1 && stride_[a] < MOST && dilate_[a] >= 1 && dilate_[a] < MOST && size_[a] < MOST);
      want(pads_[a] >= 0 && pads_[a] < MOST && pads_[rank + a] >= 0 && pads_[rank + a] < MOST);
    }
    sure = false;
    how = "windows";
  }

  void run(const Run& run) const override {
    const std::size_t rank = size_.size();
    Geometry g{size_, {}, stride_, dilate_, {}, {}};
    std::int64_t taps = 1, windows = 1;
    for (std::size_t a = 0; a < rank; ++a) {
      const std::int64_t kernel = run.input<std::int64_t>(2)[a], span = size_[a] + pads_[a] + pads_[rank + a];
      want_value(run.input<std::int64_t>(1)[a] == size_[a] && kernel >= 1 && kernel <= columns_[1]);
      const std::int64_t room = span - dilate_[a] * (kernel - 1) - 1;
      want_value(room >= 0);
      g.kernel.push_back(kernel);
      g.before.push_back(pads_[a]);
      g.steps.push_back(room / stride_[a] + 1);
      want_value(!__builtin_mul_overflow(taps, kernel, &taps) && !__builtin_mul_overflow(windows, g.steps[a], &windows));
    }
    std::int64_t rows = 0;
    want_value(!__builtin_mul_overflow(taps, image_[1], &rows) && rows == columns_[1] && windows == columns_[2]);
    fold_(g, image_[0] * image_[1], run);
  }

 private:
  Ints columns_, image_, size_, stride_, dilate_, pads_;
  FoldNumbers fold_;
};

}  // namespace

std::unique_ptr<Kernel> bind_im2col(const Call& call) {
  const Geometry g = geometry(call.attrs, call.in[0].shape);
  return by_size(call.in[0].dtype,
                 [&](auto t) -> std::unique_ptr<Kernel> { return std::make_unique<Unfold<decltype(t)>>(g, call); });
}

std::unique_ptr<Kernel> bind_col2im(const Call& call) {
  call.attrs.ignore("output_size");
  return std::make_unique<Fold>(geometry(call.attrs, call.out[0].shape), call);
}

std::unique_ptr<Kernel> bind_im2col_back(const Call& call) {
  return std::make_unique<Fold>(geometry(call.attrs, call.out[0].shape), call);
}

std::unique_ptr<Kernel> bind_onnx_col2im(const Call& call) { return std::make_unique<OnnxFold>(call); }

}  // namespace gluonnx
