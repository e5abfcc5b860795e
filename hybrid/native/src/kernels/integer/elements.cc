// 8-bit integers element by element: MXNet's quantised sums, products, concatenations and normalizations, onnxruntime's QLinearAdd,
// QLinearMul and QLinearConcat, and functions that were tabulated. Each computes in float32, rounded where NumPy's rule rounds.
#include <cmath>
#include <cstring>

#include "../chain/walk.h"
#include "bytes.h"
#include "sums.h"

namespace gluonnx {
namespace integer {
namespace {


// Floats as bytes: ties to even, saturating.
struct Saturated {
  bool is_signed;
  float nan;  // what NaN becomes

  inline __attribute__((always_inline)) void put(void* to, Index at, Reg v, Index count) const {
    v = v == v ? v : splat_reg(nan);
    v = at_most(at_least(v, splat_reg(is_signed ? -128.f : 0.f)), splat_reg(is_signed ? 127.f : 255.f));
    put_bytes(static_cast<std::uint8_t*>(to) + at, rounded(v), count);
  }
};
Saturated mxnet_bytes(bool is_signed) { return {is_signed, is_signed ? 127.f : 0.f}; }
Saturated onnx_bytes(bool is_signed) { return {is_signed, is_signed ? -128.f : 0.f}; }

float levels(bool is_signed) { return is_signed ? 127.5f : 255.5f; }
float reach_at(const Run& run, int input) { return reach(run.input<float>(input), run.input<float>(input + 1)); }

// That so many ranges of one number each begin with that input, and that the result has one.
void want_scalars(const Call& call, int first, int count) {
  for (int i = first; i < first + 2 * count; ++i) want(call.in[i].dtype == DType::f32), want_size(call.in[i], 1);
  for (int i : {1, 2}) want(call.out[i].dtype == DType::f32), want_size(call.out[i], 1);
}

struct Calibrated {
  bool there;
  float low = 0, high = 0;

  explicit Calibrated(const Attrs& attrs) : there(attrs.has("min_calib_range") && attrs.has("max_calib_range")) {
    if (there) {
      low = static_cast<float>(attrs.real("min_calib_range"));
      high = static_cast<float>(attrs.real("max_calib_range"));
    }
    attrs.ignore("min_calib_range", "max_calib_range");
  }
  float most() const { return reach(&low, &high); }
};

// f(i, count) for vectors of n elements, in pieces for the threads
template <class F>
void vectors(const Run& run, Index n, F f) {
  run.ranges(n, GRAIN, [&](Index begin, Index end, int) {
    for (Index i = begin; i < end; i += LANES) f(i, std::min<Index>(LANES, end - i));
  });
}

// -- MXNet -----------------------------------------------------------------------------------------------------------------

class Relu : public Kernel {
 public:
  explicit Relu(const Call& call) : n_(call.in[0].size()), is_signed_(call.in[0].dtype == DType::i8) {
    want(is_byte(call.in[0].dtype) && call.out[0].dtype == DType::i8);
    want_size(call.out[0], n_);
    want_scalars(call, 1, 1);
  }
  void run(const Run& run) const override {
    for (int i : {1, 2}) *run.output<float>(i) = *run.input<float>(i);
    const auto* from = run.input<std::int8_t>(0);
    auto* to = run.output<std::int8_t>();
    run.ranges(n_, GRAIN, [&](Index begin, Index end, int) {
      if (is_signed_)
        for (Index i = begin; i < end; ++i) to[i] = std::max<std::int8_t>(from[i], 0);
      else std::memcpy(to + begin, from + begin, end - begin);
    });
  }

 private:
  Index n_;
  bool is_signed_;
};

class Add : public Kernel {
 public:
  explicit Add(const Call& call) : calibrated_(call.attrs), n_(call.in[0].size()), type_(call.out[0].dtype) {
    for (int i : {0, 1}) {
      want(is_byte(call.in[i].dtype)), want_size(call.in[i], n_);
      signed_[i] = call.in[i].dtype == DType::i8;
    }
    want_size(call.out[0], n_);
    want_scalars(call, 2, 2);
    want(calibrated_.there ? is_byte(type_) : type_ == DType::i32);
    mixed_ = signed_[0] != signed_[1];
  }
  void run(const Run& run) const override {
    const float reaches[] = {reach_at(run, 2), reach_at(run, 4)}, both = reaches[0] + reaches[1];
    float scales[2];
    for (int i : {0, 1})
      scales[i] = calibrated_.there ? (levels(type_ == DType::i8) / calibrated_.most()) / (levels(signed_[i]) / reaches[i])
                                    : reaches[i] * 2147483648.f / (both * levels(signed_[i]));
    *run.output<float>(1) = calibrated_.there ? calibrated_.low : -both;
    *run.output<float>(2) = calibrated_.there ? calibrated_.high : both;
    const Saturated bytes = mxnet_bytes(type_ == DType::i8);
    vectors(run, n_, [&](Index i, Index count) __attribute__((always_inline)) {
      Reg parts[2];
      for (int k : {0, 1}) {
        parts[k] = floats(run.in[k], signed_[k], i, count) * scales[k];
        if (mixed_ && !signed_[k]) {  // rounded and saturated to int8 by itself first
          Reg v = parts[k] == parts[k] ? parts[k] : splat_reg(127.f);
          v = at_most(at_least(v, splat_reg(-128.f)), splat_reg(127.f));
          parts[k] = __builtin_convertvector(rounded(v), Reg);
        }
      }
      Reg sum = parts[0] + parts[1];
      if (type_ != DType::i32) return bytes.put(run.out[0], i, sum, count);
      sum = sum == sum ? sum : splat_reg(2147483520.f);
      sum = at_most(at_least(sum, splat_reg(-2147483648.f)), splat_reg(2147483520.f));
      std::int32_t* to = run.output<std::int32_t>() + i;
      if (count == LANES) put(to, rounded(sum));
      else put_some(to, rounded(sum), count);
    });
  }

 private:
  Calibrated calibrated_;
  Index n_;
  DType type_;
  bool signed_[2], mixed_;
};

class Multiply : public Kernel {
 public:
  explicit Multiply(const Call& call) : calibrated_(call.attrs), n_(call.in[0].size()), type_(call.out[0].dtype) {
    const bool in_float = call.attrs.flag("enable_float_output");
    for (int i : {0, 1}) want(call.in[i].dtype == DType::i8), want_size(call.in[i], n_);
    want_size(call.out[0], n_);
    want(type_ == (in_float ? DType::f32 : calibrated_.there ? DType::i8 : DType::i32));
    if (!in_float) want_scalars(call, 2, 2);
    for (int i = 2; i < 6; ++i) want(call.in[i].dtype == DType::f32), want_size(call.in[i], 1);
  }
  void run(const Run& run) const override {
    const float reaches[] = {reach_at(run, 2), reach_at(run, 4)}, scales[] = {127.5f / reaches[0], 127.5f / reaches[1]};
    const float unit = static_cast<float>(1 / static_cast<double>(scales[0]) / static_cast<double>(scales[1]));
    const float scale = calibrated_.there ? 127.5f / calibrated_.most() / scales[0] / scales[1] : 0;
    if (type_ != DType::f32) {
      const float most = (reaches[0] / 127.f) * (reaches[1] / 127.f) * 2147483648.f;
      *run.output<float>(1) = calibrated_.there ? calibrated_.low : -most;
      *run.output<float>(2) = calibrated_.there ? calibrated_.high : most;
    }
    const auto *a = run.input<std::int8_t>(0), *b = run.input<std::int8_t>(1);
    run.ranges(n_, GRAIN, [&](Index begin, Index end, int) {
      if (type_ == DType::f32)
        for (Index i = begin; i < end; ++i) run.output<float>()[i] = static_cast<float>(a[i] * b[i]) * unit;
      else if (type_ == DType::i32)
        for (Index i = begin; i < end; ++i) run.output<std::int32_t>()[i] = a[i] * b[i];
      else
        for (Index i = begin; i < end; ++i) run.output<std::int8_t>()[i] = cut(static_cast<float>(a[i] * b[i]) * scale);
    });
  }

 private:
  // the whole part, of which what no int32 has becomes the least, and its lowest byte
  static std::int8_t cut(float v) {
    return static_cast<std::int8_t>(v > -2147483904.f && v < 2147483648.f ? static_cast<std::int32_t>(v) : 0);
  }

  Calibrated calibrated_;
  Index n_;
  DType type_;
};

class Norm : public Kernel {
 public:
  explicit Norm(const Call& call) : calibrated_(call.attrs), eps_(call.attrs.real("eps")) {
    const Tensor& x = call.in[0];
    call.attrs.ignore("momentum", "fix_gamma", "use_global_stats", "output_mean_var", "cudnn_off");
    const Index axis = axis_in(call.attrs.integer("axis"), x.rank());
    want(calibrated_.there && is_byte(x.dtype) && call.out[0].dtype == DType::i8 && call.out[0].shape == x.shape);
    is_signed_ = x.dtype == DType::i8;
    channels_ = x.shape[axis];
    for (Index i = 0; i < x.rank(); ++i) (i < axis ? before_ : after_) *= i == axis ? 1 : x.shape[i];
    for (int i = 1; i < 5; ++i) want(call.in[i].dtype == DType::f32), want_size(call.in[i], channels_);
    want_scalars(call, 5, 1);
    scratch = 2 * channels_ * sizeof(float);
  }
  void run(const Run& run) const override {
    *run.output<float>(1) = calibrated_.low;
    *run.output<float>(2) = calibrated_.high;
    const float out = calibrated_.most(), data = reach_at(run, 5), again = std::sqrt(1.f + static_cast<float>(eps_));
    float *factor = reinterpret_cast<float*>(run.scratch), *summand = factor + channels_;
    for (Index c = 0; c < channels_; ++c) {
      const float gamma = run.input<float>(1)[c], beta = run.input<float>(2)[c], mean = run.input<float>(3)[c];
      const float rstd = static_cast<float>(1 / std::sqrt(static_cast<double>(run.input<float>(4)[c]) + eps_));
      factor[c] = gamma * rstd * data / out / again;
      summand[c] = (beta - mean * gamma * rstd) * 127.5f / out;
    }
    const Saturated bytes = mxnet_bytes(true);
    run.ranges(before_ * channels_, 1 + GRAIN / (after_ + 1), [&](Index begin, Index end, int) {
      for (Index plane = begin; plane < end; ++plane)
        for (Index i = plane * after_, last = i + after_; i < last; i += LANES) {
          const Index count = std::min<Index>(LANES, last - i);
          Reg v = floats(run.in[0], is_signed_, i, count);
          if (!is_signed_) v = __builtin_convertvector(rounded(at_most(v * (127.5f / 255.5f), splat_reg(127.f))), Reg);
          bytes.put(run.out[0], i, v * factor[plane % channels_] + summand[plane % channels_], count);
        }
    });
  }

 private:
  Calibrated calibrated_;
  double eps_;
  bool is_signed_;
  Index channels_, before_ = 1, after_ = 1;
};

// Arrays joined along an axis, each converted on the way.
class Joined : public Kernel {
 public:
  // parts: positions of the arrays
  Joined(const Call& call, Index axis, std::vector<int> parts) : parts_(std::move(parts)), out_signed_(call.out[0].dtype == DType::i8) {
    const Tensor& y = call.out[0];
    want(is_byte(y.dtype) && !parts_.empty());
    axis = axis_in(axis, y.rank());
    for (Index i = 0; i < y.rank(); ++i) (i < axis ? before_ : after_) *= i == axis ? 1 : y.shape[i];
    Index all = 0;
    for (int i : parts_) {
      const Tensor& x = call.in[i];
      want(is_byte(x.dtype) && x.rank() == y.rank());
      for (Index d = 0; d < y.rank(); ++d) want(d == axis || x.shape[d] == y.shape[d]);
      signed_.push_back(x.dtype == DType::i8);
      sizes_.push_back(x.shape[axis] * after_);
      offsets_.push_back(all);
      all += sizes_.back();
    }
    row_ = all;
    want(row_ == y.shape[axis] * after_);
  }

 protected:
  // convert(part, from, to, count)
  template <class F>
  void join(const Run& run, F convert) const {
    run.ranges(before_, 1 + GRAIN / (row_ + 1), [&](Index begin, Index end, int) {
      for (std::size_t p = 0; p < parts_.size(); ++p)
        for (Index i = begin; i < end; ++i)
          convert(p, run.input<std::uint8_t>(parts_[p]) + i * sizes_[p], run.output<std::uint8_t>() + i * row_ + offsets_[p], sizes_[p]);
    });
  }

  std::vector<int> parts_;
  std::vector<bool> signed_;
  bool out_signed_;
  Index before_ = 1, after_ = 1, row_ = 0;
  std::vector<Index> sizes_, offsets_;
};

class Concat : public Joined {
 public:
  Concat(const Call& call, const std::vector<int>& parts) : Joined(call, call.attrs.integer("dim"), parts) {
    want_scalars(call, static_cast<int>(parts.size()), static_cast<int>(parts.size()));
    scratch = parts.size() * sizeof(float);
  }
  void run(const Run& run) const override {
    const int n = static_cast<int>(parts_.size());
    float low = 0, high = 0;  // with Python's min and max: a NaN is passed over
    for (int i = 0; i < n; ++i) {
      const float a = *run.input<float>(n + 2 * i), b = *run.input<float>(n + 2 * i + 1);
      low = a < low ? a : low;
      high = b > high ? b : high;
    }
    *run.output<float>(1) = low;
    *run.output<float>(2) = high;
    const float scale = levels(out_signed_) / reach(&low, &high);
    float* factor = reinterpret_cast<float*>(run.scratch);  // negative: as it is
    for (int i = 0; i < n; ++i) {
      const float own = levels(signed_[i]) / reach_at(run, n + 2 * i);
      factor[i] = own == scale && signed_[i] == out_signed_ ? -1 : scale / own;
    }
    const Saturated bytes = mxnet_bytes(out_signed_);
    join(run, [&](std::size_t p, const std::uint8_t* from, std::uint8_t* to, Index count) {
      if (factor[p] < 0) return static_cast<void>(std::memcpy(to, from, count));
      for (Index i = 0; i < count; i += LANES) {
        const Index some = std::min<Index>(LANES, count - i);
        bytes.put(to, i, floats(from, signed_[p], i, some) * factor[p], some);
      }
    });
  }
};

// -- ONNX ------------------------------------------------------------------------------------------------------------------

class QLinearConcat : public Joined {
 public:
  QLinearConcat(const Call& call, const std::vector<int>& parts) : Joined(call, call.attrs.integer("axis"), parts) {
    want(call.in[0].dtype == DType::f32 && call.in[1].dtype == call.out[0].dtype);
    for (int p : parts) want(call.in[p + 1].dtype == DType::f32 && call.in[p + 2].dtype == call.in[p].dtype);
    for (std::size_t i = 0; i < call.in.size(); ++i)
      if (i % 3 != 2) want_size(call.in[i], 1);
  }
  void run(const Run& run) const override {
    const float scale = *run.input<float>(0);
    const int zero = number(run.in[1], out_signed_, 0);
    join(run, [&](std::size_t p, const std::uint8_t* from, std::uint8_t* to, Index count) {
      const float own = *run.input<float>(parts_[p] + 1), shift = static_cast<float>(number(run.in[parts_[p] + 2], signed_[p], 0));
      const float low = (out_signed_ ? -128 : 0) - zero, high = (out_signed_ ? 127 : 255) - zero;
      for (Index i = 0; i < count; i += LANES) {
        const Index some = std::min<Index>(LANES, count - i);
        const Reg v = (floats(from, signed_[p], i, some) - shift) * own / scale;
        put_bytes(to + i, rounded(at_most(at_least(v == v ? v : splat_reg(low), splat_reg(low)), splat_reg(high))) + zero, some);
      }
    });
  }
};

// Two arrays that broadcast, with scales and zero points, in the order of the operators' inputs.
class Pair : public Kernel {
 public:
  Pair(bool sum, const Call& call) : sum_(sum) {
    int next = 0;
    for (int k = 0; k < 2; ++k) {
      array_[k] = next++;
      scale_[k] = next++;
      zero_[k] = call.attrs.names("given", k ? "B_zero_point" : "A_zero_point") ? next++ : -1;
      want(is_byte(call.in[array_[k]].dtype));
      signed_[k] = call.in[array_[k]].dtype == DType::i8;
    }
    scale_[2] = next++;
    zero_[2] = call.attrs.names("given", "C_zero_point") ? next++ : -1;
    signed_[2] = call.out[0].dtype == DType::i8;
    want(static_cast<std::size_t>(next) == call.in.size() && call.out[0].dtype == call.in[0].dtype);
    for (int k = 0; k < 3; ++k) {
      want(call.in[scale_[k]].dtype == DType::f32), want_size(call.in[scale_[k]], 1);
      if (zero_[k] < 0) continue;
      want(call.in[zero_[k]].dtype == (k < 2 ? call.in[array_[k]] : call.out[0]).dtype), want_size(call.in[zero_[k]], 1);
    }
    shape_ = call.out[0].shape;
    for (int k : {0, 1}) {
      const auto& own = call.in[array_[k]].shape;
      want(own.size() <= shape_.size());
      for (std::size_t i = 0; i < own.size(); ++i) want(own[i] == 1 || own[i] == shape_[shape_.size() - own.size() + i]);
      strides_.push_back(chain::strides_of(call.in[array_[k]], shape_));
    }
    n_ = call.out[0].size();
    chain::collapse(shape_, strides_);
    if (shape_.empty()) {
      shape_ = {1};
      strides_ = {{0}, {0}};
    }
    inner_ = shape_.back();
    want(n_ == 0 || inner_ > 0);
  }

  void run(const Run& run) const override {
    if (!n_) return;
    float scale[3], zero[3];
    for (int k = 0; k < 3; ++k) {
      scale[k] = *run.input<float>(scale_[k]);
      zero[k] = zero_[k] < 0 ? 0.f : static_cast<float>(number(run.in[zero_[k]], signed_[k], 0));
    }
    const Saturated bytes = onnx_bytes(signed_[2]);
    const float a = scale[0] / scale[2], b = scale[1] / scale[2];
    const float rest = zero[2] - static_cast<float>(static_cast<double>(zero[0]) * a + static_cast<double>(b * zero[1]));
    const float whole = scale[0] * scale[1] / scale[2];
    rows(run, [&](Reg x, Reg y, Index at, Index count) __attribute__((always_inline)) {
      if (sum_) bytes.put(run.out[0], at, multiply_add(x, a, multiply_add(y, b, splat_reg(rest))), count);
      else bytes.put(run.out[0], at, (x - zero[0]) * (y - zero[1]) * whole + zero[2], count);
    });
  }

 private:
  // a * b + c, rounded to double and to float
  GX_INLINE Reg multiply_add(Reg a, float b, Reg c) {
    typedef double Wide __attribute__((vector_size(LANES * 8)));
    return __builtin_convertvector(__builtin_convertvector(a, Wide) * static_cast<double>(b) + __builtin_convertvector(c, Wide), Reg);
  }

  template <class F>
  void rows(const Run& run, F f) const {
    const Index axes = static_cast<Index>(shape_.size());
    auto piece = [&](Index row, Index begin, Index end) {
      Index from[2] = {0, 0};
      for (Index i = axes - 2, rest = row; i >= 0; --i) {
        for (int k : {0, 1}) from[k] += rest % shape_[i] * strides_[k][i];
        rest /= shape_[i];
      }
      const bool one[2] = {strides_[0].back() == 0, strides_[1].back() == 0};
      Reg same[2];
      for (int k : {0, 1}) same[k] = splat_reg(static_cast<float>(number(run.in[array_[k]], signed_[k], from[k])));
      for (Index i = begin; i < end; i += LANES) {
        const Index count = std::min<Index>(LANES, end - i);
        Reg v[2];
        for (int k : {0, 1}) v[k] = one[k] ? same[k] : floats(run.in[array_[k]], signed_[k], from[k] + i, count);
        f(v[0], v[1], row * inner_ + i, count);
      }
    };
    if (n_ == inner_) return run.ranges(n_, GRAIN, [&](Index begin, Index end, int) { piece(0, begin, end); });
    run.ranges(n_ / inner_, 1 + GRAIN / inner_, [&](Index begin, Index end, int) {
      for (Index row = begin; row < end; ++row) piece(row, 0, inner_);
    });
  }

  bool sum_;
  int array_[2], scale_[3], zero_[3];
  bool signed_[3];
  chain::Ints shape_;
  std::vector<chain::Ints> strides_;
  Index n_, inner_;
};

// to[i] = table[from[i]]
void look_up(const std::uint8_t* table, const std::uint8_t* from, Index n, std::uint8_t* to) {
  for (Index i = 0; i < n; ++i) to[i] = table[from[i]];
}
#if defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
// VBMI is no part of the levels: only machines that have it get there.
#define GX_VBMI
__attribute__((target("avx512vbmi"))) void look_up_vbmi(const std::uint8_t* table, const std::uint8_t* from, Index n,
                                                        std::uint8_t* to) {
  const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
  const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  Index i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i at = _mm512_loadu_si512(from + i);
    const __m512i low = _mm512_permutex2var_epi8(a, at, b), high = _mm512_permutex2var_epi8(c, at, d);
    _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
  look_up(table, from + i, n - i, to + i);
}
#endif

class Lookup : public Kernel {
 public:
  explicit Lookup(const Call& call) : n_(call.in[0].size()), flip_(call.in[0].dtype == DType::i8 ? 128 : 0) {
    want(is_byte(call.in[0].dtype) && is_byte(call.out[0].dtype) && is_byte(call.in[1].dtype));
    want_size(call.in[1], 256), want_size(call.out[0], n_);
#if defined(GX_VBMI)
    if (__builtin_cpu_supports("avx512vbmi")) look_up_ = look_up_vbmi;
#endif
  }
  void run(const Run& run) const override {
    std::uint8_t table[256];
    for (int i = 0; i < 256; ++i) table[i ^ flip_] = run.input<std::uint8_t>(1)[i];
    const auto* from = run.input<std::uint8_t>(0);
    auto* to = run.output<std::uint8_t>();
    run.ranges(n_, GRAIN, [&](Index begin, Index end, int) { look_up_(table, from + begin, end - begin, to + begin); });
  }

 private:
  Index n_;
  int flip_;
  void (*look_up_)(const std::uint8_t*, const std::uint8_t*, Index, std::uint8_t*) = look_up;
};

}  // namespace
}  // namespace integer

std::unique_ptr<Kernel> bind_quantized_act(const Call& call) {
  return call.attrs.text("act_type") == "relu" ? std::make_unique<integer::Relu>(call) : nullptr;
}

std::unique_ptr<Kernel> bind_quantized_add(const Call& call) { return std::make_unique<integer::Add>(call); }

std::unique_ptr<Kernel> bind_quantized_multiply(const Call& call) { return std::make_unique<integer::Multiply>(call); }

std::unique_ptr<Kernel> bind_quantized_norm(const Call& call) { return std::make_unique<integer::Norm>(call); }

std::unique_ptr<Kernel> bind_quantized_concat(const Call& call) {
  std::vector<int> parts;
  for (int i = 0; i < static_cast<int>(call.in.size() / 3); ++i) parts.push_back(i);
  want(call.in.size() == 3 * parts.size());
  return std::make_unique<integer::Concat>(call, parts);
}

std::unique_ptr<Kernel> bind_qlinear_concat(const Call& call) {
  call.attrs.ignore("given");
  std::vector<int> parts;
  for (int i = 2; i < static_cast<int>(call.in.size()); i += 3) parts.push_back(i);
  want(call.in.size() == 2 + 3 * parts.size());
  return std::make_unique<integer::QLinearConcat>(call, parts);
}

std::unique_ptr<Kernel> bind_qlinear_add(const Call& call) { return std::make_unique<integer::Pair>(true, call); }

std::unique_ptr<Kernel> bind_qlinear_mul(const Call& call) { return std::make_unique<integer::Pair>(false, call); }

std::unique_ptr<Kernel> bind_fused_lookup(const Call& call) { return std::make_unique<integer::Lookup>(call); }

}  // namespace gluonnx
