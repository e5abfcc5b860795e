// Between floats and 8-bit integers: ONNX's QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, and MXNet's conversions
// of quantised networks, whose numbers are in hybrid/ops/quantization.py. All go through memory once, or twice when they look
// for the range of their data first.
#include <cmath>
#include <limits>
#include <optional>

#include "bytes.h"
#include "sums.h"

namespace gluonnx {
namespace integer {
namespace {


// As many numbers as there are lanes, of whatever type, as floats.
template <class T>
GX_INLINE Reg floats(const T* p) {
  if constexpr (sizeof(T) == 1) return __builtin_convertvector(widened(p), Reg);
  else return __builtin_convertvector(get(p), Reg);
}

// f(i, the numbers from i on as floats, how many of them there are), for all vectors of n numbers; zeros follow the last.
template <class T, class F>
GX_INLINE void each(const T* from, Index n, F f) {
  Index i = 0;
  for (; i + LANES <= n; i += LANES) f(i, floats(from + i), Index{LANES});
  if (i == n) return;
  T rest[LANES] = {};
  std::copy(from + i, from + n, rest);
  f(i, floats(rest), n - i);
}

// How floats become bytes: round(v / scale) or round(v * scale), + zero, and the nearest byte where there is none.
struct ToBytes {
  float scale;
  bool divide, is_signed;
  int zero;
  float nan;  // what NaN becomes, less zero

  template <class T>
  void operator()(const T* from, Index n, std::uint8_t* to) const {
    if (divide) go<true>(from, n, to);
    else go<false>(from, n, to);
  }

 private:
  template <bool DIVIDE, class T>
  void go(const T* from, Index n, std::uint8_t* to) const {
    const Reg low = splat_reg((is_signed ? -128 : 0) - zero), high = splat_reg((is_signed ? 127 : 255) - zero);
    each(from, n, [&](Index i, Reg v, Index count) __attribute__((always_inline)) {
      v = DIVIDE ? v / scale : v * scale;
      v = v == v ? v : splat_reg(nan);
      RegI whole;
      nearest(at_most(at_least(v, low), high), &whole);
      put_bytes(to + i, whole + zero, count);
    });
  }
};
// as ONNX has it: NaN becomes the least
ToBytes onnx_bytes(float scale, bool is_signed, int zero) {
  return {scale, true, is_signed, zero, static_cast<float>((is_signed ? -128 : 0) - zero)};
}
// as MXNet has it
ToBytes mxnet_bytes(float scale, bool is_signed) { return {scale, false, is_signed, 0, is_signed ? 127.f : 0.f}; }

// The least and the greatest of some numbers; NaN are passed over, but remembered.
struct Range {
  float low, high;
  bool nan = false;

  template <class T>
  void take(const T* from, Index n) {
    Reg least = splat_reg(low), most = splat_reg(high);
    RegI unequal{};
    each(from, n, [&](Index, Reg v, Index count) __attribute__((always_inline)) {
      if (count < LANES) v = first(v, count, v[0]);
      unequal |= v != v;
      least = at_most(least, v);  // this way round NaN in v are passed over
      most = at_least(most, v);
    });
    for (int i = 0; i < LANES; ++i) add({least[i], most[i], unequal[i] != 0});
  }
  void add(const Range& other) {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
    nan |= other.nan;
  }
};

// What they share: the sizes, and one pass over the data for its range.
class Conversion : public Kernel {
 public:
  explicit Conversion(const Call& call) : n_(call.in[0].size()), threads_(call.threads) {
    is_signed_ = call.out[0].dtype == DType::i8;
    want_size(call.out[0], n_);
    how = "vectors";
  }

 protected:
  template <class T>
  Range range(const Run& run, const Range& start) const {
    auto* found = reinterpret_cast<Range*>(run.scratch);
    std::fill(found, found + threads_, start);
    run.ranges(n_, GRAIN,
               [&](Index begin, Index end, int thread) { found[thread].take(run.input<T>(0) + begin, end - begin); });
    Range all = start;
    for (int t = 0; t < threads_; ++t) all.add(found[t]);
    return all;
  }
  void wants_range() { scratch = threads_ * sizeof(Range); }
  template <class T>
  void convert(const Run& run, const ToBytes& to) const {
    run.ranges(n_, GRAIN, [&](Index begin, Index end, int) {
      to(run.input<T>(0) + begin, end - begin, run.output<std::uint8_t>() + begin);
    });
  }

  Index n_;
  int threads_;
  bool is_signed_;
};

// -- ONNX ------------------------------------------------------------------------------------------------------------------

// Data around the axis that scales belong to, of which there are one or as many as its size.
struct Scaled {
  Index before = 1, size = 1, after;
  bool zero = false;

  explicit Scaled(const Call& call) : after(call.in[0].size()), zero(call.in.size() > 2) {}

  // Runs f(first number, how many, scale, zero point's position) for all that share a scale.
  template <class F>
  void each(const Run& run, F f) const {
    if (before * size == 1) {
      run.ranges(after, GRAIN, [&](Index begin, Index end, int) { f(begin, end - begin, Index{0}); });
      return;
    }
    run.ranges(before * size, 1 + GRAIN / after, [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) f(i * after, after, i % size);
    });
  }
};

std::optional<Scaled> scaled(const Call& call, DType zero) {
  const Tensor &x = call.in[0], &scale = call.in[1];
  Scaled s(call);
  const Index rank = x.rank();
  Index axis = call.attrs.integer("axis");
  if (call.attrs.integer("block_size", 0) || scale.dtype != DType::f32) return {};
  if (s.zero && (call.in[2].dtype != zero || call.in[2].size() != scale.size())) return {};
  if (scale.size() == 1 && scale.rank() < std::max<Index>(rank, 2)) return s;
  axis = rank == 1 ? 0 : axis < 0 ? axis + rank : axis;
  if (scale.rank() != 1 || axis < 0 || axis >= rank || scale.size() != x.shape[axis]) return {};
  s.size = x.shape[axis];
  s.after = 1;
  for (Index i = 0; i < rank; ++i) (i < axis ? s.before : s.after) *= i == axis ? 1 : x.shape[i];
  if (s.after < LANES) return {};  // not much would be gained
  return s;
}

class Quantize : public Conversion {
 public:
  Quantize(const Scaled& scaled, const Call& call) : Conversion(call), scaled_(scaled) {}
  void run(const Run& run) const override {
    scaled_.each(run, [&](Index at, Index count, Index i) {
      const int zero = scaled_.zero ? number(run.in[2], is_signed_, i) : 0;
      onnx_bytes(run.input<float>(1)[i], is_signed_, zero)(run.input<float>(0) + at, count, run.output<std::uint8_t>() + at);
    });
  }

 private:
  Scaled scaled_;
};

template <class T>
class Dequantize : public Conversion {
 public:
  Dequantize(const Scaled& scaled, const Call& call) : Conversion(call), scaled_(scaled) {}
  void run(const Run& run) const override {
    scaled_.each(run, [&](Index at, Index count, Index i) {
      const float zero = scaled_.zero ? run.input<T>(2)[i] : 0, scale = run.input<float>(1)[i];
      float* to = run.output<float>() + at;
      each(run.input<T>(0) + at, count, [&](Index j, Reg v, Index some) __attribute__((always_inline)) {
        v = (v - zero) * scale;
        if (some == LANES) put(to + j, v);
        else put_some(to + j, v, some);
      });
    });
  }

 private:
  Scaled scaled_;
};

class Dynamic : public Conversion {
 public:
  explicit Dynamic(const Call& call) : Conversion(call) {
    wants_range();
    want(call.out[0].dtype == DType::u8 && call.out[1].dtype == DType::f32 && call.out[2].dtype == DType::u8);
    for (int i : {1, 2}) want_size(call.out[i], 1);
  }
  void run(const Run& run) const override {
    const Range found = range<float>(run, {0, 0});
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float low = found.nan ? nan : found.low, high = found.nan ? nan : found.high;
    const float scale = high != low ? (high - low) / 255.f : 1.f, place = -low / scale;
    const int zero = place > 0 ? static_cast<int>(std::nearbyint(std::min(place, 255.f))) : 0;
    *run.output<float>(1) = scale;
    *run.output<std::uint8_t>(2) = static_cast<std::uint8_t>(zero);
    convert<float>(run, onnx_bytes(scale, false, zero));
  }
};

// -- MXNet -----------------------------------------------------------------------------------------------------------------

using Ends = std::optional<Range>;
// That the range of the data is there, if it is an input, and that of the result, if it has one.
void want_range(const Call& call, bool given, bool made) {
  for (int i : {1, 2}) {
    if (given) want(call.in[i].dtype == DType::f32 && call.in[i].size() > 0);
    if (made) want(call.out[i].dtype == DType::f32), want_size(call.out[i], 1);
  }
}
Ends calibrated(const Call& call) {
  const bool both = call.attrs.has("min_calib_range") && call.attrs.has("max_calib_range");
  call.attrs.ignore("min_calib_range", "max_calib_range");
  if (!both) return {};
  return Range{static_cast<float>(call.attrs.real("min_calib_range")), static_cast<float>(call.attrs.real("max_calib_range"))};
}
void give(const Run& run, float low, float high) {
  *run.output<float>(1) = low;
  *run.output<float>(2) = high;
}

// quantize and quantize_v2: the range is given as inputs, as attributes, or is that of the data
class MxnetQuantize : public Conversion {
 public:
  MxnetQuantize(bool inputs, const Ends& ends, const Call& call) : Conversion(call), inputs_(inputs), ends_(ends) {
    wants_range();
    want(is_byte(call.out[0].dtype));
    want_range(call, inputs, true);
  }
  void run(const Run& run) const override {
    constexpr float MOST = std::numeric_limits<float>::max();
    const Range r = inputs_ ? Range{*run.input<float>(1), *run.input<float>(2)}
                    : ends_ ? *ends_
                            : range<float>(run, {MOST, -MOST});
    const float most = reach(&r.low, &r.high), spare = inputs_ ? 0.f : 0.5f;
    is_signed_ ? give(run, -most, most) : give(run, r.low, r.high);
    convert<float>(run, mxnet_bytes(((is_signed_ ? 127.f : 255.f) + spare) / most, is_signed_));
  }

 private:
  bool inputs_;
  Ends ends_;
};

template <class T>
class MxnetDequantize : public Conversion {
 public:
  explicit MxnetDequantize(const Call& call) : Conversion(call) {
    want(call.out[0].dtype == DType::f32);
    want_range(call, true, false);
  }
  void run(const Run& run) const override {
    const float scale = reach(run.input<float>(1), run.input<float>(2)) / (std::is_signed_v<T> ? 127.5f : 255.5f);
    run.ranges(n_, GRAIN, [&](Index begin, Index end, int) {
      float* to = run.output<float>() + begin;
      each(run.input<T>(0) + begin, end - begin, [&](Index i, Reg v, Index count) __attribute__((always_inline)) {
        if (count == LANES) put(to + i, v * scale);
        else put_some(to + i, v * scale, count);
      });
    });
  }
};

class Requantize : public Conversion {
 public:
  Requantize(const Ends& ends, const Call& call) : Conversion(call), ends_(ends) {
    wants_range();
    want(is_byte(call.out[0].dtype));
    want_range(call, true, true);
  }
  void run(const Run& run) const override {
    constexpr float ALL = 2147483648.f;
    const float given = reach(run.input<float>(1), run.input<float>(2));
    const Range r = ends_ ? *ends_ : range<std::int32_t>(run, {ALL, -ALL});
    const float most = ends_ ? reach(&r.low, &r.high) : reach(&r.low, &r.high) * given / ALL;
    give(run, is_signed_ ? -most : 0.f, most);
    convert<std::int32_t>(run, mxnet_bytes((given / ALL) * ((is_signed_ ? 127.f : 255.f) / most), is_signed_));
  }

 private:
  Ends ends_;
};

}  // namespace
}  // namespace integer

std::unique_ptr<Kernel> bind_quantize_linear(const Call& call) {
  call.attrs.ignore("saturate", "given", "output_dtype");
  if (call.attrs.text("precision", "float32") != "float32" || !integer::is_byte(call.out[0].dtype)) return nullptr;
  const auto scaled = integer::scaled(call, call.out[0].dtype);
  return scaled ? std::make_unique<integer::Quantize>(*scaled, call) : nullptr;
}

std::unique_ptr<Kernel> bind_dequantize_linear(const Call& call) {
  call.attrs.ignore("given", "output_dtype");
  const DType type = call.in[0].dtype;
  const auto scaled = integer::scaled(call, type);
  if (!scaled || call.out[0].dtype != DType::f32) return nullptr;
  if (type == DType::i8) return std::make_unique<integer::Dequantize<std::int8_t>>(*scaled, call);
  return std::make_unique<integer::Dequantize<std::uint8_t>>(*scaled, call);
}

std::unique_ptr<Kernel> bind_dynamic_quantize_linear(const Call& call) {
  call.attrs.ignore("given");
  return std::make_unique<integer::Dynamic>(call);
}

std::unique_ptr<Kernel> bind_quantize(const Call& call) {
  call.attrs.ignore("out_type");
  return std::make_unique<integer::MxnetQuantize>(true, integer::Ends(), call);
}

std::unique_ptr<Kernel> bind_quantize_v2(const Call& call) {
  call.attrs.ignore("out_type");
  return std::make_unique<integer::MxnetQuantize>(false, integer::calibrated(call), call);
}

std::unique_ptr<Kernel> bind_dequantize(const Call& call) {
  call.attrs.ignore("out_type");
  if (call.in[0].dtype == DType::i8) return std::make_unique<integer::MxnetDequantize<std::int8_t>>(call);
  return std::make_unique<integer::MxnetDequantize<std::uint8_t>>(call);
}

std::unique_ptr<Kernel> bind_requantize(const Call& call) {
  call.attrs.ignore("out_type");
  return std::make_unique<integer::Requantize>(integer::calibrated(call), call);
}

}  // namespace gluonnx
