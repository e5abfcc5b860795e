// ONNX's pooling: windows with dilations, uneven padding and ceilings, whole numbers too, and where the maxima are.
#include <cmath>
#include <limits>
#include <type_traits>

#include "../move/move.h"

namespace gluonnx {
namespace {

// Windows along an axis: of the k-th element of the i-th the place is i * stride + k * dilation - before.
struct Line {
  std::int64_t size = 1, kernel = 1, stride = 1, dilation = 1, before = 0, after = 0, steps = 1;

  std::int64_t start(std::int64_t i) const { return i * stride - before; }
  // elements [first, last) of a window lie inside
  std::int64_t first(std::int64_t i) const {
    const std::int64_t at = start(i);
    return at >= 0 ? 0 : std::min(kernel, (-at + dilation - 1) / dilation);
  }
  std::int64_t last(std::int64_t i) const {
    const std::int64_t room = size - 1 - start(i);
    return room < 0 ? 0 : std::min(kernel, room / dilation + 1);
  }
  // of which so many count for a mean
  std::int64_t count(std::int64_t i, bool pads) const {
    const std::int64_t low = pads ? -before : 0, high = pads ? size + after : size;
    std::int64_t found = 0;
    for (std::int64_t k = 0; k < kernel; ++k) found += start(i) + k * dilation >= low && start(i) + k * dilation < high;
    return found;
  }
  // windows [whole, whole_end) lie inside from end to end
  std::int64_t whole() const { return std::min(steps, before <= 0 ? 0 : (before + stride - 1) / stride); }
  std::int64_t whole_end() const {
    const std::int64_t room = size - 1 - dilation * (kernel - 1) + before;
    return std::max(whole(), room < 0 ? 0 : std::min(steps, room / stride + 1));
  }
};

// The attributes put together with shapes, in three axes: missing ones come first.
struct Geometry {
  Line axes[3];
  std::int64_t planes = 1;
  int rank = 0;

  Geometry(const Attrs& attrs, const Tensor& data, const Tensor& result) {
    attrs.ignore("given", "ceil_mode");  // the result's shape says the latter
    const std::vector<std::int64_t> kernel = attrs.ints("kernel_shape");
    rank = static_cast<int>(kernel.size());
    want(rank >= 1 && rank <= 3 && data.rank() == rank + 2 && result.rank() == rank + 2);
    want(data.shape[0] == result.shape[0] && data.shape[1] == result.shape[1]);
    planes = times(data.shape[0], data.shape[1]);
    const std::vector<std::int64_t> ones(rank, 1), zeros(2 * rank, 0);
    const std::vector<std::int64_t> strides = attrs.ints("strides", ones), dilations = attrs.ints("dilations", ones);
    const std::vector<std::int64_t> pads = attrs.ints("pads", zeros);
    const std::string automatic = attrs.text("auto_pad");
    want(strides.size() == kernel.size() && dilations.size() == kernel.size() && pads.size() == 2 * kernel.size());
    for (int i = 0; i < rank; ++i) {
      Line& line = axes[3 - rank + i];
      line = {data.shape[2 + i], kernel[i], strides[i], dilations[i], 0, 0, result.shape[2 + i]};
      want_windows(line.steps, line.kernel, line.stride, line.dilation, pads[i]);
      want_windows(line.steps, line.kernel, line.stride, line.dilation, pads[i + rank]);
      want(line.size < (1 << 30));
      if (automatic == "NOTSET") line.before = pads[i], line.after = pads[i + rank];
      if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
        const std::int64_t whole = (line.steps - 1) * line.stride + line.dilation * (line.kernel - 1) + 1 - line.size;
        line.before = (automatic == "SAME_UPPER" ? whole : whole + 1) / 2;
        line.after = whole - line.before;
      }
    }
  }
  std::int64_t volume() const { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t each() const { return axes[0].steps * axes[1].steps * axes[2].steps; }
};

enum class Reduction { max, mean, norm };

template <class T>
constexpr T least() {
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::min();
}

// What windows are reduced with: their geometry, the power of a norm, and how many elements count along each axis for a mean.
struct Walk {
  Geometry g;
  std::int64_t power = 1;
  std::vector<double> counts[3];
};

// Rows of a window are folded into one row, and windows along it from that.
template <class T, Reduction R>
struct Row {
  static T begin() { return R == Reduction::max ? least<T>() : T{}; }
  static T fold(T all, T more) {
    if constexpr (R != Reduction::max) return all + more;
    return more > all || more != more ? more : all;  // NaN wins
  }
  static void fill(const Walk& w, const T* in, std::int64_t z, std::int64_t y, T* __restrict line) {
    const Line &deep = w.g.axes[0], &high = w.g.axes[1], &wide = w.g.axes[2];
    for (std::int64_t x = 0; x < wide.size; ++x) line[x] = begin();
    for (std::int64_t d = deep.first(z); d < deep.last(z); ++d)
      for (std::int64_t h = high.first(y); h < high.last(y); ++h) {
        const std::int64_t row = (deep.start(z) + d * deep.dilation) * high.size + high.start(y) + h * high.dilation;
        const T* __restrict from = in + row * wide.size;
        if constexpr (R != Reduction::norm)
          for (std::int64_t x = 0; x < wide.size; ++x) line[x] = fold(line[x], from[x]);
        else if (w.power == 2)
          for (std::int64_t x = 0; x < wide.size; ++x) line[x] += from[x] * from[x];
        else if (w.power == 1)
          for (std::int64_t x = 0; x < wide.size; ++x) line[x] += std::abs(from[x]);
        else
          for (std::int64_t x = 0; x < wide.size; ++x) line[x] += std::pow(std::abs(from[x]), static_cast<T>(w.power));
      }
  }

  static void across(const Walk& w, const T* __restrict line, T* __restrict out) {
    const Line& wide = w.g.axes[2];
    const std::int64_t from = wide.whole(), to = wide.whole_end();
    for (std::int64_t x = 0; x < wide.steps; ++x) out[x] = begin();
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t x = begin; x < end; ++x)
        for (std::int64_t k = wide.first(x); k < wide.last(x); ++k) out[x] = fold(out[x], line[wide.start(x) + k * wide.dilation]);
    };
    some(0, from);
    for (std::int64_t k = 0; k < wide.kernel; ++k) {
      const T* __restrict shifted = line + wide.start(from) + k * wide.dilation;
      if (wide.stride == 1)
        for (std::int64_t x = 0; x < to - from; ++x) out[from + x] = fold(out[from + x], shifted[x]);
      else
        for (std::int64_t x = 0; x < to - from; ++x) out[from + x] = fold(out[from + x], shifted[x * wide.stride]);
    }
    some(to, wide.steps);
  }

  static void finish(const Walk& w, T* out, std::int64_t z, std::int64_t y) {
    const std::int64_t steps = w.g.axes[2].steps;
    if constexpr (R == Reduction::mean) {
      const auto count = [&](int axis, std::int64_t i) { return static_cast<T>(w.counts[axis][i]); };
      for (std::int64_t x = 0; x < steps; ++x) out[x] /= std::max(count(0, z) * count(1, y) * count(2, x), T{1});
    }
    if constexpr (R == Reduction::norm) {
      const T root = static_cast<T>(1.0 / static_cast<double>(w.power));
      if (w.power == 2)
        for (std::int64_t x = 0; x < steps; ++x) out[x] = std::sqrt(out[x]);
      else if (w.power != 1)
        for (std::int64_t x = 0; x < steps; ++x) out[x] = std::pow(out[x], root);
    }
  }

  // Row (z, y) of the windows of a plane; scratch: as long as one of its rows.
  static void windows(const Walk& w, const std::byte* plane, std::byte* scratch, std::byte* result, std::int64_t z, std::int64_t y) {
    T *line = reinterpret_cast<T*>(scratch), *out = reinterpret_cast<T*>(result);
    fill(w, reinterpret_cast<const T*>(plane), z, y, line);
    across(w, line, out);
    finish(w, out, z, y);
  }
};

using RowOf = void (*)(const Walk& w, const std::byte* plane, std::byte* scratch, std::byte* result, std::int64_t z, std::int64_t y);

class Pool : public Kernel {
 public:
  Pool(const Call& call, Reduction reduction, RowOf row)
      : w_{Geometry(call.attrs, call.in[0], call.out[0])}, row_of_(row), element_(static_cast<std::int64_t>(size_of(call.in[0].dtype))) {
    const Geometry& g = w_.g;
    want(call.in.size() == 1 && call.out.size() == 1 && call.out[0].dtype == call.in[0].dtype);
    if (reduction == Reduction::norm) w_.power = call.attrs.integer("p"), want(w_.power >= 1);
    if (reduction == Reduction::mean) {
      const bool pads = call.attrs.flag("count_include_pad");
      for (int a = 0; a < 3; ++a)
        for (std::int64_t i = 0; i < g.axes[a].steps; ++i) w_.counts[a].push_back(static_cast<double>(g.axes[a].count(i, pads)));
    }
    row_ = aligned(times(g.axes[2].size, element_));
    scratch = times(row_, call.threads);
    how = "plain";
    flops = static_cast<double>(call.out[0].size()) * static_cast<double>(g.axes[0].kernel * g.axes[1].kernel * g.axes[2].kernel);
  }

  void run(const Run& run) const override {
    const Line &deep = w_.g.axes[0], &high = w_.g.axes[1], &wide = w_.g.axes[2];
    const std::int64_t rows = deep.steps * high.steps;
    const std::int64_t bytes = (deep.kernel * high.kernel * wide.size + wide.kernel * wide.steps) * element_;
    run.ranges(w_.g.planes * rows, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t i = begin; i < end; ++i)
        row_of_(w_, run.input<std::byte>(0) + i / rows * w_.g.volume() * element_, run.scratch + thread * row_,
                run.output<std::byte>() + i * wide.steps * element_, i % rows / high.steps, i % high.steps);
    });
  }

 private:
  Walk w_;
  RowOf row_of_;
  std::int64_t element_;  // bytes of one
  std::size_t row_;       // and of a row of a plane
};

// Maxima, and where in the data, flattened, the first of equal ones is.
class MaxAndPlace : public Kernel {
 public:
  // Rows [begin, end) of windows, of `rows` that a plane has.
  template <class T>
  void windows(const Run& run, std::int64_t rows, std::int64_t begin, std::int64_t end) const {
    const Line* a = g_.axes;
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t x = 0; x < a[2].steps; ++x)
        window(run.input<T>(0) + i / rows * g_.volume(), i / rows * g_.volume(), i % rows / a[1].steps, i % a[1].steps, x,
               run.output<T>() + i * a[2].steps + x, run.output<std::int64_t>(1) + i * a[2].steps + x);
  }
  using Rows = void (MaxAndPlace::*)(const Run& run, std::int64_t rows, std::int64_t begin, std::int64_t end) const;

  MaxAndPlace(const Call& call, Rows rows) : g_(call.attrs, call.in[0], call.out[0]), rows_(rows) {
    want(call.in.size() == 1 && call.out[0].dtype == call.in[0].dtype);
    want(call.out[1].dtype == DType::i64 && call.out[1].shape == call.out[0].shape && g_.volume() > 0);
    const bool columns_first = call.attrs.integer("storage_order") != 0;
    const Line* a = g_.axes;
    // axes that are not there come first, and have one place
    if (columns_first) {
      std::int64_t weight = 1;
      for (int i = 3 - g_.rank; i < 3; ++i) weights_[i] = weight, weight *= a[i].size;
    } else {
      weights_[2] = 1, weights_[1] = a[2].size, weights_[0] = a[1].size * a[2].size;
    }
    for (int i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < a[i].steps; ++k) spans_[i].push_back({a[i].start(k), a[i].first(k), a[i].last(k)});
    how = "places";
    flops = static_cast<double>(call.out[0].size()) * static_cast<double>(a[0].kernel * a[1].kernel * a[2].kernel);
  }

  void run(const Run& run) const override {
    const Line* a = g_.axes;
    const std::int64_t rows = a[0].steps * a[1].steps;
    run.ranges(g_.planes * rows, grain_of(8 * a[2].steps * a[0].kernel * a[1].kernel * a[2].kernel), [&](std::int64_t begin, std::int64_t end, int) {
      (this->*rows_)(run, rows, begin, end);
    });
  }

 private:
  template <class T>
  void window(const T* in, std::int64_t offset, std::int64_t z, std::int64_t y, std::int64_t x, T* out, std::int64_t* place) const {
    const Line* a = g_.axes;
    const Span &deep = spans_[0][z], &high = spans_[1][y], &wide = spans_[2][x];
    const auto held = [](const Span& span, const Line& line) { return std::clamp<std::int64_t>(span.start, 0, line.size - 1); };
    T best = least<T>();
    std::int64_t at = held(deep, a[0]) * weights_[0] + held(high, a[1]) * weights_[1] + held(wide, a[2]) * weights_[2];
    bool any = false;
    for (std::int64_t d = deep.first; d < deep.last; ++d)
      for (std::int64_t h = high.first; h < high.last; ++h) {
        const std::int64_t zz = deep.start + d * a[0].dilation, yy = high.start + h * a[1].dilation;
        const T* row = in + (zz * a[1].size + yy) * a[2].size;
        for (std::int64_t w = wide.first; w < wide.last; ++w) {
          const std::int64_t xx = wide.start + w * a[2].dilation;
          const T v = row[xx];
          if (any && !(v > best || (v != v && best == best))) continue;
          any = true, best = v;
          at = zz * weights_[0] + yy * weights_[1] + xx * weights_[2];
        }
      }
    *out = best, *place = offset + at;
  }

  // Where a window begins along an axis, and which of its elements lie inside.
  struct Span {
    std::int64_t start, first, last;
  };

  Geometry g_;
  Rows rows_;
  std::vector<Span> spans_[3];
  std::int64_t weights_[3] = {0, 0, 0};
};

// Maxima put back to where they were, zeros around them.
class Unpool : public Kernel {
 public:
  explicit Unpool(const Call& call) {
    const Attrs& attrs = call.attrs;
    const Tensor &in = call.in[0], &out = call.out[0];
    const std::vector<std::int64_t> kernel = attrs.ints("kernel_shape");
    const auto rank = static_cast<int>(kernel.size());
    const std::vector<std::int64_t> strides = attrs.ints("strides", std::vector<std::int64_t>(rank, 1));
    const std::vector<std::int64_t> pads = attrs.ints("pads", std::vector<std::int64_t>(2 * rank, 0));
    shaped_ = attrs.names("given", "output_shape");
    want(in.rank() == rank + 2 && out.rank() == rank + 2 && out.dtype == in.dtype && call.in.size() == (shaped_ ? 3u : 2u));
    want(strides.size() == kernel.size() && pads.size() == 2 * kernel.size());
    want(call.in[1].dtype == DType::i64 && call.in[1].shape == in.shape);
    if (shaped_) want(call.in[2].dtype == DType::i64), want_size(call.in[2], rank + 2);
    sizes_ = {in.shape[0], in.shape[1]}, goal_ = out.shape;
    for (int i = 0; i < rank; ++i) {
      const std::int64_t steps = in.shape[2 + i];
      want_windows(steps, kernel[i], strides[i], 1, pads[i]), want_windows(steps, kernel[i], strides[i], 1, pads[i + rank]);
      sizes_.push_back((steps - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank]);
    }
    for (std::int64_t n : sizes_) want(n >= 0), total_ = times(total_, n);
    same_ = sizes_ == goal_;
    want(shaped_ || same_);
    count_ = in.size(), size_ = out.size(), dtype_ = in.dtype;
    sure = false;
    how = "put";
  }

  void run(const Run& run) const override {
    if (shaped_)
      for (std::size_t i = 0; i < goal_.size(); ++i) want_value(run.input<std::int64_t>(2)[i] == goal_[i]);
    by_size(dtype_, [&](auto u) { put_back<decltype(u)>(run); });
  }

 private:
  template <class U>
  void put_back(const Run& run) const {
    const auto* places = run.input<std::int64_t>(1);
    const U* in = run.input<U>(0);
    U* out = run.output<U>();
    std::fill_n(out, size_, U{});
    for (std::int64_t i = 0; i < count_; ++i) {
      std::int64_t at = places[i];
      want_value(at >= -total_ && at < total_);
      if (at < 0) at += total_;
      if (same_) out[at] = in[i];
      else put(in[i], at, out);
    }
  }

  // To a place of the sizes in which places count, in a result of others.
  template <class U>
  void put(U value, std::int64_t at, U* out) const {
    std::int64_t to = 0, stride = 1;
    for (std::size_t d = sizes_.size(); d-- > 0; at /= sizes_[d]) {
      const std::int64_t along = at % sizes_[d];
      if (along >= goal_[d]) return;
      to += along * stride;
      stride *= goal_[d];
    }
    out[to] = value;
  }

  DType dtype_;
  std::vector<std::int64_t> sizes_, goal_;
  std::int64_t total_ = 1, count_, size_;
  bool shaped_, same_;
};

template <class T>
std::unique_ptr<Kernel> max_pool(const Call& call) {
  if (call.attrs.integer("num_outputs", 1) > 1 || call.out.size() > 1)
    return std::make_unique<MaxAndPlace>(call, &MaxAndPlace::windows<T>);
  call.attrs.ignore("storage_order");
  return std::make_unique<Pool>(call, Reduction::max, Row<T, Reduction::max>::windows);
}

template <Reduction R>
std::unique_ptr<Kernel> of_floats(const Call& call) {
  if (call.in[0].dtype == DType::f64) return std::make_unique<Pool>(call, R, Row<double, R>::windows);
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<Pool>(call, R, Row<float, R>::windows);
}

}  // namespace

std::unique_ptr<Kernel> bind_onnx_max_pool(const Call& call) {
  call.attrs.ignore("num_outputs");
  switch (call.in[0].dtype) {
    case DType::f32:
      return max_pool<float>(call);
    case DType::f64:
      return max_pool<double>(call);
    case DType::i8:
      return max_pool<std::int8_t>(call);
    case DType::u8:
      return max_pool<std::uint8_t>(call);
    default:
      return nullptr;
  }
}
std::unique_ptr<Kernel> bind_onnx_average_pool(const Call& call) { return of_floats<Reduction::mean>(call); }
std::unique_ptr<Kernel> bind_onnx_lp_pool(const Call& call) { return of_floats<Reduction::norm>(call); }
std::unique_ptr<Kernel> bind_onnx_max_unpool(const Call& call) {
  return std::make_unique<Unpool>(call);
}

}  // namespace gluonnx
