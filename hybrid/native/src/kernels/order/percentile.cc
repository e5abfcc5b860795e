// Numbers below which some percent of the numbers along axes lie. NaN comes last.
#include <cmath>
#include <optional>
#include <vector>

#include "../../base/numbers.h"

namespace gluonnx {
namespace {

enum class Between { linear, lower, higher, midpoint, nearest };

template <class T, class To>
class Percentile : public Kernel {
 public:
  // asked: one percentage, unless they are an input
  Percentile(const Call& call, Between between, std::optional<double> asked) : between_(between), asked_(asked) {
    const auto& shape = call.in[0].shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::vector<bool> reduced(rank, !call.attrs.has("axis"));
    if (call.attrs.has("axis"))
      for (auto a : call.attrs.ints("axis")) reduced[axis_in(a, rank)] = true;
    std::int64_t stride = 1;
    kept_ = along_ = {0};
    for (std::int64_t a = rank; a-- > 0; stride *= shape[a]) {
      std::vector<std::int64_t>& places = reduced[a] ? along_ : kept_;
      want(times(static_cast<std::int64_t>(places.size()), shape[a]) <= MOST);
      std::vector<std::int64_t> more;
      for (std::int64_t i = 0; i < shape[a]; ++i)
        for (std::int64_t place : places) more.push_back(i * stride + place);
      places = std::move(more);
    }
    want(!along_.empty());
    if (!asked) {
      dtype_ = call.in[1].dtype;
      want(dtype_ == DType::f32 || dtype_ == DType::f64 || dtype_ == DType::i32 || dtype_ == DType::i64);
      count_ = call.in[1].size();
    }
    sure = false;
    want_size(call.out[0], times(count_, static_cast<std::int64_t>(kept_.size())));
    room_ = static_cast<std::int64_t>((along_.size() * sizeof(T) + 63) / 64 * 64);
    scratch = static_cast<std::size_t>(room_) * (kept_.size() > 1 ? call.threads : 1);
    how = "rows";
  }

  void run(const Run& run) const override {
    for (std::int64_t i = 0; i < count_; ++i) want_value(percent(run, i) >= 0 && percent(run, i) <= 100);
    const auto rows = static_cast<std::int64_t>(kept_.size()), n = static_cast<std::int64_t>(along_.size());
    To* to = run.output<To>();
    run.ranges(rows, (1 << 12) / n, [&](std::int64_t begin, std::int64_t end, int thread) {
      T* x = reinterpret_cast<T*>(run.scratch + room_ * thread);
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = run.input<T>(0) + kept_[row];
        for (std::int64_t i = 0; i < n; ++i) x[i] = from[along_[i]];
        for (std::int64_t i = 0; i < count_; ++i) to[i * rows + row] = found(x, n, percent(run, i));
      }
    });
  }

 private:
  static constexpr std::int64_t MOST = 1 << 24;

  static bool before(T a, T b) { return a < b || (b != b && a == a); }

  double percent(const Run& run, std::int64_t i) const {
    if (asked_) return *asked_;
    if (dtype_ == DType::f32) return run.input<float>(1)[i];
    if (dtype_ == DType::f64) return run.input<double>(1)[i];
    if (dtype_ == DType::i32) return run.input<std::int32_t>(1)[i];
    return static_cast<double>(run.input<std::int64_t>(1)[i]);
  }

  To found(T* x, std::int64_t n, double percent) const {
    double place = percent * static_cast<double>(n - 1) / 100;
    if (between_ == Between::lower) place = std::floor(place);
    if (between_ == Between::higher) place = std::ceil(place);
    if (between_ == Between::nearest) place = std::floor(place) + (place - std::floor(place) < std::ceil(place) - place ? 0 : std::ceil(place) - std::floor(place));
    if (between_ == Between::midpoint) place = (std::floor(place) + std::ceil(place)) / 2;
    const auto at = static_cast<std::int64_t>(std::floor(place));
    const To way = static_cast<To>(place - std::floor(place));
    std::nth_element(x, x + at, x + n, before);
    const To low = static_cast<To>(x[at]);
    if (between_ == Between::lower || between_ == Between::higher || between_ == Between::nearest) return low;
    const To high = at + 1 < n ? static_cast<To>(*std::min_element(x + at + 1, x + n, before)) : low;
    return low * (1 - way) + high * way;
  }

  Between between_;
  std::optional<double> asked_;
  DType dtype_ = DType::f64;  // of the percentages
  std::int64_t count_ = 1, room_;
  std::vector<std::int64_t> kept_, along_;  // where rows begin, and where in a row its numbers are
};

}  // namespace

std::unique_ptr<Kernel> bind_percentile(const Call& call) {
  call.attrs.ignore("keepdims");
  const std::string& name = call.attrs.text("interpolation");
  Between between = Between::linear;
  if (name == "lower") between = Between::lower;
  else if (name == "higher") between = Between::higher;
  else if (name == "midpoint") between = Between::midpoint;
  else if (name == "nearest") between = Between::nearest;
  else want(name == "linear");
  std::optional<double> asked;
  if (call.attrs.has("q_scalar")) asked = call.attrs.real("q_scalar");
  call.attrs.ignore("q_scalar", "axis");
  want(call.in.size() == (asked ? 1u : 2u));
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    using To = std::conditional_t<std::is_same_v<T, double>, double, float>;
    want(call.out[0].dtype == (std::is_same_v<To, double> ? DType::f64 : DType::f32));
    return std::make_unique<Percentile<T, To>>(call, between, asked);
  });
}

}  // namespace gluonnx
