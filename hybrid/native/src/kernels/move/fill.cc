// Operators whose numbers come from sizes and attributes: _fused_sizes, _zeros, _ones, _full, and _onnx_Range, whose three numbers
// are tensors.
#include <cmath>
#include <cstring>

#include "../../base/check.h"
#include "../../base/kernel.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

class Numbers : public Kernel {
 public:
  Numbers(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void run(const Run& run) const override { std::memcpy(run.output<std::byte>(), bytes_.data(), bytes_.size()); }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
std::unique_ptr<Kernel> numbers(const std::vector<Index>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return std::make_unique<Numbers>(std::move(bytes));
}

// One value everywhere.
class Full : public Kernel {
 public:
  Full(Index count, std::vector<std::byte> one) : count_(count), one_(std::move(one)) {}

  void run(const Run& run) const override {
    auto* to = run.output<std::byte>();
    const std::size_t size = one_.size();
    run.ranges(count_, 1 << 16, [&](Index begin, Index end, int) {
      bool zero = true;
      for (std::byte b : one_) zero &= b == std::byte{0};
      if (zero) return static_cast<void>(std::memset(to + begin * size, 0, (end - begin) * size));
      for (Index i = begin; i < end; ++i) std::memcpy(to + i * size, one_.data(), size);
    });
  }

 private:
  Index count_;
  std::vector<std::byte> one_;
};

template <class T>
std::vector<std::byte> bytes_of(T value) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

std::unique_ptr<Kernel> full(const Call& call, double value) {
  const Tensor& out = call.out[0];
  want(!out.blocked && call.in.empty());
  std::vector<std::byte> one;
  switch (out.dtype) {
    case DType::f32: one = bytes_of(static_cast<float>(value)); break;
    case DType::f64: one = bytes_of(value); break;
    default:
      if (!(std::abs(value) < 1e9) || (size_of(out.dtype) == 1 && !(value >= 0 && value < 128))) return nullptr;
      switch (out.dtype) {
        case DType::i32: one = bytes_of(static_cast<std::int32_t>(value)); break;
        case DType::i64: one = bytes_of(static_cast<std::int64_t>(value)); break;
        case DType::i8: one = bytes_of(static_cast<std::int8_t>(value)); break;
        case DType::u8: one = bytes_of(static_cast<std::uint8_t>(value)); break;
        case DType::b1: one = bytes_of(value != 0); break;
        default: return nullptr;
      }
  }
  return std::make_unique<Full>(out.size(), std::move(one));
}

// start + step * (place / repeat), with start and step in the dtype.
template <class T>
class Arange : public Kernel {
 public:
  Arange(Index count, Index repeat, double start, double step)
      : count_(count), repeat_(repeat), start_(static_cast<T>(start)), step_(static_cast<T>(step)) {}

  void run(const Run& run) const override {
    T* to = run.output<T>();
    run.ranges(count_, 1 << 15, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) to[i] = static_cast<T>(start_ + static_cast<T>(i / repeat_) * step_);
    });
  }

 private:
  Index count_, repeat_;
  T start_, step_;
};

// start, start + delta, ...: each place multiplied out, as the operator's rule has it.
template <class T>
class Range : public Kernel {
 public:
  explicit Range(Index count) : count_(count) {}

  void run(const Run& run) const override {
    const T start = *run.input<T>(0), delta = *run.input<T>(2);
    T* to = run.output<T>();
    run.ranges(count_, 1 << 15, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) to[i] = static_cast<T>(start + static_cast<T>(i) * delta);
    });
  }

 private:
  Index count_;
};

}  // namespace

std::unique_ptr<Kernel> bind_sizes(const Call& call) {
  const Attrs& a = call.attrs;
  a.ignore("shape", "dtype");
  const Tensor& out = call.out[0];
  const auto values = a.ints("sizes");
  want(call.in.empty() && !out.blocked);
  want_size(out, static_cast<Index>(values.size()));
  if (out.dtype == DType::i64) return numbers<std::int64_t>(values);
  if (out.dtype == DType::i32) return numbers<std::int32_t>(values);
  if (out.dtype == DType::f32) return numbers<float>(values);
  if (out.dtype == DType::f64) return numbers<double>(values);
  return nullptr;
}

std::unique_ptr<Kernel> bind_zeros(const Call& call) {
  call.attrs.ignore("shape", "ctx", "dtype");
  return full(call, 0);
}

std::unique_ptr<Kernel> bind_ones(const Call& call) {
  call.attrs.ignore("shape", "ctx", "dtype");
  return full(call, 1);
}

std::unique_ptr<Kernel> bind_full(const Call& call) {
  call.attrs.ignore("shape", "ctx", "dtype");
  return full(call, call.attrs.real("value"));
}

std::unique_ptr<Kernel> bind_arange(const Call& call) {
  const Attrs& a = call.attrs;
  a.ignore("infer_range", "ctx", "dtype");
  const double start = a.has("stop") ? a.real("start") : 0, step = a.real("step");
  if (!a.has("stop")) a.ignore("start", "stop");
  else a.ignore("stop");
  const Index repeat = a.integer("repeat"), count = call.out[0].size();
  want(call.in.empty() && !call.out[0].blocked && repeat >= 1);
  if (!(std::abs(start) < 1e9 && std::abs(step) < 1e9)) return nullptr;
  if (call.out[0].dtype == DType::i64) return std::make_unique<Arange<std::int64_t>>(count, repeat, start, step);
  if (call.out[0].dtype == DType::i32) return std::make_unique<Arange<std::int32_t>>(count, repeat, start, step);
  if (call.out[0].dtype == DType::f32 && count < Index{1} << 24) return std::make_unique<Arange<float>>(count, repeat, start, step);
  return nullptr;
}

std::unique_ptr<Kernel> bind_range(const Call& call) {
  call.attrs.ignore("given", "stash_type");
  want(call.in.size() == 3);
  for (const Tensor& t : call.in) want(t.dtype == call.out[0].dtype && !t.blocked), want_size(t, 1);
  want(!call.out[0].blocked);
  const Index count = call.out[0].size();
  if (call.out[0].dtype == DType::i64) return std::make_unique<Range<std::int64_t>>(count);
  if (call.out[0].dtype == DType::i32) return std::make_unique<Range<std::int32_t>>(count);
  return nullptr;
}

}  // namespace gluonnx
