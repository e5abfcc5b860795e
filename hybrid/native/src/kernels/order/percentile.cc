// Numbers below which some percent of the numbers along axes lie. NaN comes last.
#include <cmath>
#include <optional>
#include <vector>

#include "../../base/numbers.h"

namespace gluonnx {
namespace {

enum class Between { linear, lower, higher, midpoint, nearest };

// Finds the number below which a part of a row's lie, and puts it at a place of the result; x, the numbers of the row, is in disorder
// then. place: between 0 and n - 1, and where it lies between two numbers, both count.
using Find = void (*)(std::byte* x, std::int64_t n, double place, bool both, void* to, std::int64_t at);

template <class T, class To>
void find(std::byte* row, std::int64_t n, double place, bool both, void* to, std::int64_t number) {
  T* x = reinterpret_cast<T*>(row);
  const auto before = [](T a, T b) { return a < b || (b != b && a == a); };
  const auto at = static_cast<std::int64_t>(std::floor(place));
  const To way = static_cast<To>(place - std::floor(place));
  std::nth_element(x, x + at, x + n, before);
  const To low = static_cast<To>(x[at]);
  To& found = static_cast<To*>(to)[number];
  found = low;
  if (!both) return;
  const To high = at + 1 < n ? static_cast<To>(*std::min_element(x + at + 1, x + n, before)) : low;
  found = low * (1 - way) + high * way;
}

// Gathers a row, whole numbers as the largest ones.
using Gather = void (*)(const void* from, std::int64_t first, const std::vector<std::int64_t>& along, std::byte* row);

template <class T, class X>
void gather(const void* from, std::int64_t first, const std::vector<std::int64_t>& along, std::byte* row) {
  const T* x = static_cast<const T*>(from) + first;
  const auto n = static_cast<std::int64_t>(along.size());
  for (std::int64_t i = 0; i < n; ++i) reinterpret_cast<X*>(row)[i] = x[along[i]];
}

struct Numbers {
  Gather gather;
  Find find;
  std::size_t size;  // bytes of one in a row
};

class Percentile : public Kernel {
 public:
  // asked: one percentage, unless they are an input
  Percentile(const Call& call, const Numbers& numbers, Between between, std::optional<double> asked)
      : numbers_(numbers), between_(between), asked_(asked) {
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
    room_ = static_cast<std::int64_t>(aligned(along_.size() * numbers.size));
    scratch = static_cast<std::size_t>(room_) * (kept_.size() > 1 ? call.threads : 1);
    how = "rows";
  }

  void run(const Run& run) const override {
    for (std::int64_t i = 0; i < count_; ++i) want_value(percent(run, i) >= 0 && percent(run, i) <= 100);
    const auto rows = static_cast<std::int64_t>(kept_.size()), n = static_cast<std::int64_t>(along_.size());
    run.ranges(rows, (1 << 12) / n, [&](std::int64_t begin, std::int64_t end, int thread) {
      std::byte* x = run.scratch + room_ * thread;
      for (std::int64_t row = begin; row < end; ++row) {
        numbers_.gather(run.in[0], kept_[row], along_, x);
        for (std::int64_t i = 0; i < count_; ++i) numbers_.find(x, n, place(n, percent(run, i)), both_, run.out[0], i * rows + row);
      }
    });
  }

 private:
  static constexpr std::int64_t MOST = 1 << 24;

  double percent(const Run& run, std::int64_t i) const {
    if (asked_) return *asked_;
    if (dtype_ == DType::f32) return run.input<float>(1)[i];
    if (dtype_ == DType::f64) return run.input<double>(1)[i];
    if (dtype_ == DType::i32) return run.input<std::int32_t>(1)[i];
    return static_cast<double>(run.input<std::int64_t>(1)[i]);
  }

  double place(std::int64_t n, double percent) const {
    const double place = percent * static_cast<double>(n - 1) / 100, below = std::floor(place), above = std::ceil(place);
    if (between_ == Between::lower) return below;
    if (between_ == Between::higher) return above;
    if (between_ == Between::nearest) return below + (place - below < above - place ? 0 : above - below);
    return between_ == Between::midpoint ? (below + above) / 2 : place;
  }

  Numbers numbers_;
  Between between_;
  bool both_ = between_ == Between::linear || between_ == Between::midpoint;
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
  const DType from = call.in[0].dtype;
  want(call.out[0].dtype == (from == DType::f64 ? DType::f64 : DType::f32));
  const auto make = [&](const Numbers& numbers) { return std::make_unique<Percentile>(call, numbers, between, asked); };
  switch (from) {
    case DType::f32:
      return make({gather<float, float>, find<float, float>, sizeof(float)});
    case DType::f64:
      return make({gather<double, double>, find<double, double>, sizeof(double)});
    case DType::i64:
      return make({gather<std::int64_t, std::int64_t>, find<std::int64_t, float>, sizeof(std::int64_t)});
    case DType::i32:
      return make({gather<std::int32_t, std::int64_t>, find<std::int64_t, float>, sizeof(std::int64_t)});
    case DType::i8:
      return make({gather<std::int8_t, std::int64_t>, find<std::int64_t, float>, sizeof(std::int64_t)});
    case DType::u8:
    case DType::b1:
      return make({gather<std::uint8_t, std::int64_t>, find<std::int64_t, float>, sizeof(std::int64_t)});
    default:
      return nullptr;
  }
}

}  // namespace gluonnx
