// _onnx_Resize: tensors of another size along any axes. Every new element is a weighted sum of old ones along each axis, or the
// nearest old one. Sizes are known when it is bound; scales and parts come with each run, and so do the tables made from them.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

#include "../move/move.h"

namespace gluonnx {
namespace {

enum class Mode { nearest, linear, cubic };
enum class Place { half_pixel, symmetric, pytorch, corners, asymmetric, crop, tensorflow };
enum class Nearest { prefer_floor, prefer_ceil, floor, ceil };

int word_of(const std::string& given, std::initializer_list<const char*> words) {
  int found = 0;
  for (const char* word : words) {
    if (given == word) return found;
    ++found;
  }
  decline();
}

// The cubic convolution kernel.
double cubic(double t, double a) {
  t = std::abs(t);
  if (t <= 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
  return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

// What is made of an axis, in a run's scratch: for every new element the old ones by number of tap, and their weights, which have
// the type that is computed with.
struct Table {
  std::int32_t* places = nullptr;
  std::byte* weights = nullptr;
  bool* outside = nullptr;  // of new elements that get another value
  std::int64_t taps = 1;
  bool changes = true, some_outside = false;
};

struct Axis {
  int number;
  std::int64_t old, size, most;  // most: taps at most
  std::size_t at;                // of its table in the scratch
};

constexpr std::size_t MOST_AXES = 16;

// The attributes, and where new elements lie.
struct Rule {
  Mode mode;
  Place place;
  Nearest nearest;
  bool antialias, exclude;
  double coefficient;

  template <class F>
  F position(std::int64_t i, std::int64_t old, std::int64_t size, F scale, F start, F end) const {
    const F at = static_cast<F>(i), half = static_cast<F>(0.5), last = static_cast<F>(old - 1);
    switch (place) {
      case Place::corners:
        return size > 1 ? at * last / static_cast<F>(size - 1) : 0;
      case Place::asymmetric:
        return at / scale;
      case Place::tensorflow:
        return (at + half) / scale;
      case Place::crop:
        return size > 1 ? start * last + at * (end - start) * last / static_cast<F>(size - 1) : half * (start + end) * last;
      case Place::pytorch:
        return size > 1 ? (at + half) / scale - half : 0;
      case Place::symmetric:
        return (at + half) / scale - half +
               static_cast<F>(static_cast<double>(old) / 2) * (1 - static_cast<F>(size) / (scale * static_cast<F>(old)));
      default:
        return (at + half) / scale - half;
    }
  }

  std::int64_t rounded(float at) const {
    float near = std::floor(at);
    const float part = at - near;
    if (nearest == Nearest::prefer_floor) near += part > 0.5f;
    if (nearest == Nearest::prefer_ceil) near += part >= 0.5f;
    if (nearest == Nearest::ceil) near += part > 0;
    return near >= -9e18f && near <= 9e18f ? static_cast<std::int64_t>(near) : std::numeric_limits<std::int64_t>::min();
  }
};

// An axis in a tensor (middle, size, inner), of which everything that is treated at a time is a part.
struct Pass {
  Table table;
  std::int64_t old, size, middle, inner;

  // Rows that can be made apart: of one line along the axis, or of `inner` elements.
  std::int64_t rows() const { return inner == 1 ? middle : middle * size; }
  std::int64_t cost() const { return (inner == 1 ? size : inner) * table.taps * 4; }

  template <class F>
  void run(const F* from, F* to, std::int64_t begin, std::int64_t end) const {
    const F* weights = reinterpret_cast<const F*>(table.weights);
    if (inner == 1) {
      for (std::int64_t i = begin; i < end; ++i) line(from + i * old, weights, to + i * size);
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const F* block = from + i / size * old * inner;
      F* row = to + i * inner;
      const std::int64_t at = i % size;
      if (table.taps == 2) {
        const F *__restrict a = block + table.places[at] * inner, *__restrict b = block + table.places[size + at] * inner;
        const F v = weights[at], w = weights[size + at];
        for (std::int64_t x = 0; x < inner; ++x) row[x] = a[x] * v + b[x] * w;
        continue;
      }
      for (std::int64_t t = 0; t < table.taps; ++t) {
        const F* __restrict other = block + table.places[t * size + at] * inner;
        const F w = weights[t * size + at];
        if (t == 0)
          for (std::int64_t x = 0; x < inner; ++x) row[x] = other[x] * w;
        else
          for (std::int64_t x = 0; x < inner; ++x) row[x] += other[x] * w;
      }
    }
  }

 private:
  template <class F>
  void line(const F* __restrict from, const F* __restrict w, F* __restrict to) const {
    const std::int32_t* __restrict p = table.places;
    if (table.taps == 2) {
      const std::int32_t* __restrict q = p + size;
      const F* __restrict v = w + size;
      for (std::int64_t x = 0; x < size; ++x) to[x] = from[p[x]] * w[x] + from[q[x]] * v[x];
      return;
    }
    for (std::int64_t x = 0; x < size; ++x) to[x] = from[p[x]] * w[x];
    for (std::int64_t t = 1; t < table.taps; ++t) {
      p += size, w += size;
      for (std::int64_t x = 0; x < size; ++x) to[x] += from[p[x]] * w[x];
    }
  }
};

// A sum as an element of the dtype.
template <class T, class F>
T cut(F v) {
  if constexpr (std::is_floating_point_v<T>) {
    return v;
  } else {
    constexpr F low = static_cast<F>(std::numeric_limits<T>::min()), high = static_cast<F>(std::numeric_limits<T>::max());
    v = v < low ? low : v > high ? high : v;
    using Wide = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    constexpr double limit = sizeof(T) == 8 ? 9223372036854775808.0 : 2147483648.0;
    const auto whole = static_cast<double>(v);
    return static_cast<T>(whole >= -limit && whole < limit ? static_cast<Wide>(whole) : std::numeric_limits<Wide>::min());
  }
}

// The bits of a number of the dtype.
template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// What all have in common: attributes, sizes, and the tables of a run. wide: float64 is computed with, else float32.
class Resized : public Kernel {
 protected:
  Resized(const Call& call, bool whole_numbers, bool wide)
      : in_(call.in[0].shape), out_(call.out[0].shape), dtype_(call.in[0].dtype), weight_(wide ? 8 : 4), whole_numbers_(whole_numbers) {
    read(call.attrs, call.in.size());
    want(in_.size() == out_.size() && call.out[0].dtype == dtype_);
    if (rule_.place != Place::crop) roi_ = -1;
    if (roi_ > 0) {
      want(call.in[roi_].dtype == DType::f32 || call.in[roi_].dtype == DType::f64);
      wide_roi_ = call.in[roi_].dtype == DType::f64;
    }
    const auto rank = static_cast<std::int64_t>(in_.size());
    want(rank >= 1 && rank <= static_cast<std::int64_t>(MOST_AXES));
    std::vector<std::int64_t> wanted(rank);
    std::iota(wanted.begin(), wanted.end(), 0);
    if (call.attrs.has("axes")) wanted = call.attrs.ints("axes");
    call.attrs.ignore("axes");
    const auto count = static_cast<std::int64_t>(wanted.size());
    for (int* one : {&sizes_, &scales_})
      if (*one > 0 && !call.in[*one].size()) *one = -1;
    want(sizes_ > 0 || scales_ > 0);
    const Tensor& deciding = call.in[sizes_ > 0 ? sizes_ : scales_];
    want(deciding.dtype == (sizes_ > 0 ? DType::i64 : DType::f32));
    want_size(deciding, count);
    if (roi_ > 0) want_size(call.in[roi_], 2 * count);
    std::vector<bool> listed(rank);
    for (std::int64_t given : wanted) {
      const std::int64_t axis = axis_in(given, rank);
      want(!listed[axis]);
      listed[axis] = true;
      Axis a{static_cast<int>(axis), in_[axis], out_[axis], 1, scratch};
      want((a.old > 0 || a.size == 0) && std::max(a.old, a.size) < (1 << 30));
      if (rule_.mode != Mode::nearest) {
        a.most = rule_.mode == Mode::linear ? 2 : 4;
        // a scale may be a little less than the sizes say, and half of that where one scale is kept
        if (rule_.antialias && a.size) a.most *= 2 * ((a.old + a.size - 1) / a.size) + 1;
      }
      const std::int64_t entries = times(a.most, a.size);
      scratch += aligned(times(entries, sizeof(std::int32_t))) + aligned(times(entries, weight_)) + aligned(a.size);
      axes_.push_back(a);
    }
    for (std::int64_t i = 0; i < rank; ++i) want(listed[i] || in_[i] == out_[i]);
    sure = false;
  }

  bool empty() const { return std::find(out_.begin(), out_.end(), 0) != out_.end(); }

  Table table(const Run& run, std::size_t i) const {
    const Axis& a = axes_[i];
    const bool crops = rule_.place == Place::crop, exact = rule_.mode != Mode::nearest && !crops && !whole_numbers_;
    double scale = scale_of(run, i, exact), start = 0, end = 1;
    if (roi_ > 0) start = part_of(run, i), end = part_of(run, i + axes_.size());
    Table table;
    const std::int64_t entries = a.most * a.size;
    std::byte* memory = run.scratch + a.at;
    table.places = reinterpret_cast<std::int32_t*>(memory);
    memory += aligned(entries * sizeof(std::int32_t));
    table.weights = memory;
    table.outside = reinterpret_cast<bool*>(memory + aligned(entries * weight_));
    table.changes = a.size != a.old || scale != 1 || start != 0 || end != 1;
    if (!table.changes) return table;
    if (rule_.mode != Mode::nearest) table.taps = taps(scale);
    want_value(table.taps <= a.most);
    for (std::int64_t x = 0; x < a.size; ++x) {
      const double at = exact ? rule_.position<double>(x, a.old, a.size, scale, start, end)
                              : rule_.position<float>(x, a.old, a.size, static_cast<float>(scale), static_cast<float>(start),
                                                      static_cast<float>(end));
      table.outside[x] = crops && (at < 0 || at > static_cast<double>(a.old - 1));
      table.some_outside |= table.outside[x];
      want_value(at > -1e9 && at < 1e9);
      if (rule_.mode == Mode::nearest) {
        table.places[x] = static_cast<std::int32_t>(std::clamp<std::int64_t>(rule_.rounded(static_cast<float>(at)), 0, a.old - 1));
        continue;
      }
      weigh(at, scale, a, x, table);
    }
    return table;
  }

  // The elements along an axis that lie outside become another value, of these bits.
  __attribute__((noinline))
  void fill(const Run& run, const Axis& a, const bool* outside, std::uint64_t value) const {
    std::int64_t before = 1, after = 1;
    for (std::size_t i = 0; i < out_.size(); ++i) (static_cast<int>(i) < a.number ? before : after) *= out_[i];
    after /= a.size;
    by_size(dtype_, [&](auto t) {
      for (std::int64_t i = 0; i < before * a.size; ++i)
        if (outside[i % a.size]) std::fill_n(run.output<decltype(t)>() + i * after, after, static_cast<decltype(t)>(value));
    });
  }

  std::vector<std::int64_t> in_, out_;
  std::vector<Axis> axes_;
  Rule rule_;
  double beyond_ = 0;
  DType dtype_;
  std::int64_t weight_;  // bytes of one

 private:
  void read(const Attrs& attrs, std::size_t inputs) {
    rule_.mode = static_cast<Mode>(word_of(attrs.text("mode"), {"nearest", "linear", "cubic"}));
    rule_.place = static_cast<Place>(word_of(attrs.text("coordinate_transformation_mode"),
                                                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                                 "asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn"}));
    rule_.nearest = static_cast<Nearest>(
        word_of(attrs.text("nearest_mode"), {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
    keep_ = word_of(attrs.text("keep_aspect_ratio_policy"), {"stretch", "not_larger", "not_smaller"});
    rule_.antialias = attrs.flag("antialias"), rule_.exclude = attrs.flag("exclude_outside");
    rule_.coefficient = attrs.real("cubic_coeff_a"), beyond_ = attrs.real("extrapolation_value");
    int next = 1;
    for (auto [name, input] : {std::pair{"roi", &roi_}, {"scales", &scales_}, {"sizes", &sizes_}})
      if (attrs.names("given", name)) *input = next++;
    want(static_cast<int>(inputs) == next);
  }

  // Of an axis, from the values, from which its size has to follow; exact: as float64, else as float32.
  double scale_of(const Run& run, std::size_t i, bool exact) const {
    const Axis& a = axes_[i];
    const auto old = static_cast<double>(a.old), size = static_cast<double>(a.size);
    if (sizes_ < 0) {
      const float scale = run.input<float>(scales_)[i];
      want_value(scale > 0 && scale <= std::numeric_limits<float>::max());
      want_value(std::floor(static_cast<float>(a.old) * scale) == static_cast<float>(a.size));
      return scale;
    }
    const auto* sizes = run.input<std::int64_t>(sizes_);
    if (keep_ == 0) {
      want_value(sizes[i] == a.size);
      if (!a.old) return 1;
      return exact ? size / old : static_cast<float>(a.size) / static_cast<float>(a.old);
    }
    double chosen = 0;
    for (std::size_t j = 0; j < axes_.size(); ++j) {
      want_value(axes_[j].old > 0);
      const double one = static_cast<double>(sizes[j]) / static_cast<double>(axes_[j].old);
      chosen = j == 0 ? one : keep_ == 1 ? std::min(chosen, one) : std::max(chosen, one);
    }
    want_value(std::floor(chosen * old + 0.5) == size);
    return chosen;
  }

  double part_of(const Run& run, std::size_t i) const {
    return wide_roi_ ? run.input<double>(roi_)[i] : run.input<float>(roi_)[i];
  }

  double stretch(double scale) const { return rule_.antialias ? std::min(scale == 0 ? 1.0 : scale, 1.0) : 1.0; }
  std::int64_t taps(double scale) const {
    const double reach = std::ceil((rule_.mode == Mode::linear ? 1 : 2) / stretch(scale));
    want_value(reach < 1e9);
    return 2 * static_cast<std::int64_t>(reach);
  }

  // The taps of a new element.
  void weigh(double at, double scale, const Axis& a, std::int64_t x, Table& table) const {
    const double narrower = stretch(scale);
    const std::int64_t first = static_cast<std::int64_t>(std::floor(at)) + 1 - table.taps / 2;
    const auto weight = [&](std::int64_t place) {
      if (rule_.exclude && (place < 0 || place >= a.old)) return 0.0;
      const double away = (static_cast<double>(place) - at) * narrower;
      return rule_.mode == Mode::linear ? std::max(0.0, 1 - std::abs(away)) : cubic(away, rule_.coefficient);
    };
    double total = 1;
    if (rule_.exclude || narrower < 1) {
      total = 0;
      for (std::int64_t t = 0; t < table.taps; ++t) total += weight(first + t);
    }
    for (std::int64_t t = 0; t < table.taps; ++t) {
      table.places[t * a.size + x] = static_cast<std::int32_t>(std::clamp<std::int64_t>(first + t, 0, a.old - 1));
      const double share = weight(first + t) / total;
      if (weight_ == 8) reinterpret_cast<double*>(table.weights)[t * a.size + x] = share;
      else reinterpret_cast<float*>(table.weights)[t * a.size + x] = static_cast<float>(share);
    }
  }

  int roi_ = -1, scales_ = -1, sizes_ = -1, keep_ = 0;
  bool whole_numbers_, wide_roi_ = false;
};

// Elements of a dtype, which is computed in float32 or float64 (wide). to_sum and from_sum: of [begin, end), to the nearest one or
// cut off.
struct Elements {
  bool whole, converts, wide;
  void (*to_sum)(const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end);
  void (*from_sum)(const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end, bool rounds);
  std::uint64_t (*bits)(double number);
  void (*pass)(const Pass& pass, const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end);
};

// Some sums to the nearest whole numbers.
template <class F>
__attribute__((noinline)) void round_some(const F* from, F* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = std::nearbyint(from[i]);
}

template <class F>
void run_pass(const Pass& pass, const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end) {
  pass.run(reinterpret_cast<const F*>(from), reinterpret_cast<F*>(to), begin, end);
}

template <class T, class F>
constexpr Elements ELEMENTS = {
    !std::is_floating_point_v<T>, !std::is_same_v<T, F>, std::is_same_v<F, double>,
    [](const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end) {
      const T* given = reinterpret_cast<const T*>(from);
      F* wanted = reinterpret_cast<F*>(to);
      for (std::int64_t i = begin; i < end; ++i) wanted[i] = static_cast<F>(given[i]);
    },
    [](const std::byte* from, std::byte* to, std::int64_t begin, std::int64_t end, bool rounds) {
      constexpr std::int64_t SOME = 512;
      F rounded[SOME];
      const bool nearest = rounds && !std::is_floating_point_v<T>;
      for (; begin < end; begin += SOME) {
        const F* given = reinterpret_cast<const F*>(from) + begin;
        T* wanted = reinterpret_cast<T*>(to) + begin;
        const std::int64_t count = std::min(SOME, end - begin);
        if (nearest) round_some(given, rounded, count), given = rounded;
        for (std::int64_t i = 0; i < count; ++i) wanted[i] = cut<T, F>(given[i]);
      }
    },
    [](double number) { return bits_of(cut<T, F>(static_cast<F>(number))); },
    run_pass<F>};

// Sums.
class Weighed : public Resized {
 public:
  Weighed(const Call& call, const Elements& elements)
      : Resized(call, elements.whole, elements.wide), elements_(elements),
        element_(static_cast<std::int64_t>(size_of(call.in[0].dtype))) {
    how = rule_.mode == Mode::linear ? "linear" : "cubic";
    flops = static_cast<double>(call.out[0].size()) * (rule_.mode == Mode::linear ? 6 : 14);
    auto first = static_cast<int>(out_.size());
    for (const Axis& a : axes_) first = std::min(first, a.number);
    for (int i = 0; i < static_cast<int>(out_.size()); ++i) {
      if (i < first) outer_ = times(outer_, out_[i]);
      else old_ = times(old_, in_[i]), new_ = times(new_, out_[i]);
    }
    // What shrinks goes first, then what grows along a last axis, so that little is gathered one by one. Integers, whose
    // fractions are cut off, keep the order that NumPy has.
    order_.resize(axes_.size());
    std::iota(order_.begin(), order_.end(), 0);
    const auto before = [&](std::size_t i, std::size_t j) {
      const Axis &a = axes_[i], &b = axes_[j];
      const double more = static_cast<double>(a.size) * static_cast<double>(b.old), less = static_cast<double>(b.size) * static_cast<double>(a.old);
      if (more != less) return more < less;
      return a.size > a.old ? a.number > b.number : a.number < b.number;
    };
    for (std::size_t i = 1; i < order_.size() && !elements.whole; ++i)
      for (std::size_t j = i; j > 0 && before(order_[j], order_[j - 1]); --j) std::swap(order_[j], order_[j - 1]);
    std::int64_t now = old_;
    most_ = now;
    for (std::size_t i : order_) {
      now = axes_[i].old ? times(now / axes_[i].old, axes_[i].size) : 0;
      most_ = std::max(most_, now);
    }
    buffers_ = scratch;
    apart_ = outer_ >= call.threads;
    scratch += times(2, apart_ ? call.threads : 1, aligned(times(most_, weight_)));
  }

  void run(const Run& run) const override {
    std::array<Table, MOST_AXES> tables;
    for (std::size_t i = 0; i < axes_.size(); ++i) tables[i] = table(run, i);
    if (empty()) return;
    std::array<Pass, MOST_AXES> passes;
    std::int64_t now[MOST_AXES], cost = 64;
    std::copy(in_.begin(), in_.end(), now);
    int count = 0;
    for (std::size_t i : order_) {
      const Axis& a = axes_[i];
      if (!tables[i].changes) continue;
      Pass& pass = passes[count++] = {tables[i], a.old, a.size, 1, 1};
      now[a.number] = a.size;
      for (std::size_t d = 0; d < in_.size(); ++d) (static_cast<int>(d) < a.number ? pass.middle : pass.inner) *= now[d];
      pass.middle /= outer_, pass.inner /= a.size;
      cost += pass.rows() * pass.cost();
    }
    if (apart_)
      run.ranges(outer_, grain_of(cost), [&](std::int64_t begin, std::int64_t end, int thread) {
        for (std::int64_t i = begin; i < end; ++i)
          part(run, i, thread, passes.data(), count, [](std::int64_t n, std::int64_t, auto&& f) { f(0, n); });
      });
    else
      for (std::int64_t i = 0; i < outer_; ++i)
        part(run, i, 0, passes.data(), count, [&](std::int64_t n, std::int64_t bytes, auto&& f) {
          run.ranges(n, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) { f(begin, end); });
        });
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (tables[i].some_outside) fill(run, axes_[i], tables[i].outside, elements_.bits(beyond_));
  }

 private:
  // share: calls f(begin, end) for parts of so many, of so many bytes each
  template <class S>
  void part(const Run& run, std::int64_t number, int thread, const Pass* passes, int count, S&& share) const {
    const bool converts = elements_.converts;
    const std::size_t each = aligned(most_ * weight_);
    std::byte *one = run.scratch + buffers_ + 2 * each * thread, *other = one + each;
    const std::byte* given = run.input<std::byte>(0) + number * old_ * element_;
    std::byte* wanted = run.output<std::byte>() + number * new_ * element_;
    const std::byte* from = given;
    if (converts) {
      share(old_, weight_, [&](std::int64_t begin, std::int64_t end) { elements_.to_sum(given, one, begin, end); });
      from = one;
      std::swap(one, other);
    }
    for (int i = 0; i < count; ++i) {
      std::byte* to = !converts && i + 1 == count ? wanted : one;
      share(passes[i].rows(), passes[i].cost(), [&](std::int64_t begin, std::int64_t end) { elements_.pass(passes[i], from, to, begin, end); });
      from = to;
      std::swap(one, other);
    }
    const bool rounds = rule_.antialias;
    if (converts || !count)
      share(new_, weight_, [&](std::int64_t begin, std::int64_t end) { elements_.from_sum(from, wanted, begin, end, rounds); });
  }

  const Elements& elements_;
  std::int64_t element_;  // bytes of one
  std::vector<std::size_t> order_;
  std::int64_t outer_ = 1, old_ = 1, new_ = 1, most_ = 0;  // parts, and elements of one: old, new, at most in between
  std::size_t buffers_;
  bool apart_;  // parts are shared out among threads, or what a part consists of
};

// The nearest elements.
class Chosen : public Resized {
 public:
  // beyond: the bits of what becomes of those outside
  Chosen(const Call& call, std::uint64_t beyond) : Resized(call, false, false), value_(beyond) {
    how = "nearest";
    std::size_t last = in_.size();
    inner_ = 1;
    while (last > 0 && std::none_of(axes_.begin(), axes_.end(), [&](const Axis& a) { return a.number + 1 == static_cast<int>(last); }))
      inner_ = times(inner_, out_[--last]);
    columns_ = last ? out_[last - 1] : 1, rows_ = 1, strides_.resize(in_.size());
    for (std::size_t d = in_.size(), stride = 1; d-- > 0;) {
      strides_[d] = static_cast<std::int64_t>(stride);
      stride = times(stride, in_[d]);
      if (d + 1 < last) rows_ = times(rows_, out_[d]);
    }
    last_ = static_cast<int>(last) - 1;
  }

  void run(const Run& run) const override {
    std::array<Table, MOST_AXES> tables;
    std::array<const std::int32_t*, MOST_AXES> places{};
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      tables[i] = table(run, i);
      if (tables[i].changes) places[axes_[i].number] = tables[i].places;
    }
    if (empty()) return;
    by_size(dtype_, [&](auto u) { rows<decltype(u)>(run, places); });
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (tables[i].some_outside) fill(run, axes_[i], tables[i].outside, value_);
  }

 private:
  // U: an unsigned integer as large as an element
  template <class U>
  void rows(const Run& run, const std::array<const std::int32_t*, MOST_AXES>& places) const {
    const std::int64_t wide = columns_ * inner_;
    const std::int32_t* across = last_ >= 0 ? places[last_] : nullptr;
    run.ranges(rows_, grain_of(wide * 2 * static_cast<std::int64_t>(sizeof(U))), [&](std::int64_t begin, std::int64_t end, int) {
      const U *before = nullptr, *made = nullptr;
      for (std::int64_t r = begin; r < end; ++r) {
        const U* from = run.input<U>(0);
        std::int64_t rest = r;
        for (int d = last_ - 1; d >= 0; --d) {
          const std::int64_t at = rest % out_[d];
          rest /= out_[d];
          from += (places[d] ? places[d][at] : at) * strides_[d];
        }
        U* to = run.output<U>() + r * wide;
        if (from == before) std::copy_n(made, wide, to);
        else row(from, across, to);
        before = from, made = to;
      }
    });
  }

  template <class U>
  void row(const U* __restrict from, const std::int32_t* __restrict places, U* __restrict to) const {
    if (!places) return static_cast<void>(std::copy_n(from, columns_ * inner_, to));
    if (inner_ == 1)
      for (std::int64_t x = 0; x < columns_; ++x) to[x] = from[places[x]];
    else
      for (std::int64_t x = 0; x < columns_; ++x) std::copy_n(from + places[x] * inner_, inner_, to + x * inner_);
  }

  std::uint64_t value_;
  int last_;                         // the last axis that is among those
  std::int64_t rows_, columns_, inner_;  // of the result: what lies before that axis, along it, and behind it
  std::vector<std::int64_t> strides_;
};

std::unique_ptr<Kernel> make(const Call& call, const Elements& elements) {
  if (call.attrs.text("mode") != "nearest") return std::make_unique<Weighed>(call, elements);
  return std::make_unique<Chosen>(call, elements.bits(call.attrs.real("extrapolation_value")));
}

}  // namespace

std::unique_ptr<Kernel> bind_onnx_resize(const Call& call) {
  switch (call.in[0].dtype) {
    case DType::f32:
      return make(call, ELEMENTS<float, float>);
    case DType::f64:
      return make(call, ELEMENTS<double, double>);
    case DType::i8:
      return make(call, ELEMENTS<std::int8_t, float>);
    case DType::u8:
      return make(call, ELEMENTS<std::uint8_t, float>);
    case DType::i32:
      return make(call, ELEMENTS<std::int32_t, float>);
    case DType::i64:
      return make(call, ELEMENTS<std::int64_t, double>);
    default:
      break;
  }
  // others are moved, unless there is a value that lies outside
  if (call.attrs.text("mode") != "nearest" || call.attrs.text("coordinate_transformation_mode") == "tf_crop_and_resize") return nullptr;
  return std::make_unique<Chosen>(call, 0);
}

}  // namespace gluonnx
