// Products of 8-bit matrices as int32: MatMulInteger and QLinearMatMul.
//
// Zero points are taken away when operands are packed, which makes 16-bit numbers of them; two of these, neighbours along K,
// lie in each 32-bit element, because processors add up two products at a time.
#include <cmath>
#include <limits>

#include "../../base/math.h"
#include "gemm.h"

namespace gluonnx {
namespace gemm {
namespace {

#if defined(__AVX512F__)
constexpr int ROWS = 6;
#elif defined(__AVX2__)
constexpr int ROWS = 4;
#else
constexpr int ROWS = 2;
#endif

namespace any {
// sum + the products of the halves
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
#if defined(__AVX512BW__)
  return sum + reinterpret_cast<RegI>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sum + reinterpret_cast<RegI>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sum + reinterpret_cast<RegI>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}
#include "integer_tile.inc"
}  // namespace any

#if defined(__AVX512BW__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx512vnni")
namespace vnni {
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
  return reinterpret_cast<RegI>(
      _mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#include "integer_tile.inc"
}  // namespace vnni
#pragma GCC pop_options
bool has_vnni() { return __builtin_cpu_supports("avx512vnni"); }
#else
namespace vnni = any;
bool has_vnni() { return false; }
#endif

Index divided_up(Index a, Index b) { return (a + b - 1) / b; }

// An 8-bit matrix with its zero points: none, one, or one for each row or column.
struct Bytes {
  const void* data;
  DType type;
  const void* zero = nullptr;
  Index zeros = 0;

  int at(Index i) const { return number(data, i); }
  int zero_at(Index i) const { return zeros ? number(zero, zeros == 1 ? 0 : i) : 0; }

 private:
  int number(const void* p, Index i) const {
    return type == DType::u8 ? static_cast<const std::uint8_t*>(p)[i] : static_cast<const std::int8_t*>(p)[i];
  }
};

// The operands of a call; scales are there when the sums are quantised again.
struct Inputs {
  int a = 0, b = 1, a_zero = -1, b_zero = -1, a_scale = -1, b_scale = -1, y_scale = -1, y_zero = -1;
};

class Integer : public Kernel {
 public:
  Integer(const Sizes& sizes, const Inputs& inputs, const Call& call) : s_(sizes), in_(inputs), vnni_(has_vnni()) {
    a_type_ = call.in[in_.a].dtype;
    b_type_ = call.in[in_.b].dtype;
    out_type_ = call.out[0].dtype;
    auto size = [&](int i) { return i < 0 ? 0 : call.in[i].size(); };
    a_zeros_ = size(in_.a_zero);
    b_zeros_ = size(in_.b_zero);
    b_scales_ = size(in_.b_scale);
    pairs_ = divided_up(s_.k, 2);
    panels_ = divided_up(s_.n, WIDTH);
    constant_ = call.in[in_.b].constant && (in_.b_zero < 0 || call.in[in_.b_zero].constant);
    const Index a = rounded(s_.m * pairs_), b = constant_ ? 0 : panels_ * WIDTH * pairs_;
    scratch = (a + b + (in_.y_zero < 0 ? 0 : s_.m * s_.n)) * sizeof(std::int32_t);
    flops = s_.flops();
    how = vnni_ ? "vnni" : "pairs";
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!constant_ || !in[in_.b] || (in_.b_zero >= 0 && !in[in_.b_zero])) return;
    packed_.resize(panels_ * WIDTH * pairs_);
    pack_b(bytes(in, in_.b, b_type_, in_.b_zero, b_zeros_), reinterpret_cast<std::int32_t*>(packed_.data()), pool);
  }

  bool reads(int input) const override { return !(constant_ && input == in_.b); }

  void run(const Run& run) const override {
    if (!s_.m || !s_.n) return;
    auto* a = reinterpret_cast<std::int32_t*>(run.scratch);
    auto* b = reinterpret_cast<std::int32_t*>(packed_.data());
    auto* c = a + rounded(s_.m * pairs_);
    if (!constant_) {
      b = c;
      c += panels_ * WIDTH * pairs_;
      pack_b(bytes(run.in, in_.b, b_type_, in_.b_zero, b_zeros_), b, run.pool);
    }
    if (in_.y_zero < 0) c = run.output<std::int32_t>();
    const Bytes left = bytes(run.in, in_.a, a_type_, in_.a_zero, a_zeros_);
    run.ranges(s_.m, 1 + (1 << 15) / (s_.k + 1), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) pack_row(left, i, a + i * pairs_);
    });
    const Index strips = divided_up(s_.m, ROWS);
    // what there is more of is cut
    const bool by_rows = strips > panels_;
    const double each = flops / (by_rows ? strips : panels_) / 300e9;
    run.ranges(by_rows ? strips : panels_, 1 + static_cast<Index>(10e-6 / each), [&](Index begin, Index end, int) {
      for (Index panel = by_rows ? 0 : begin; panel < (by_rows ? panels_ : end); ++panel)
        for (Index strip = by_rows ? begin : 0; strip < (by_rows ? end : strips); ++strip) {
          const Index row = strip * ROWS, column = panel * WIDTH;
          const int rows = static_cast<int>(std::min<Index>(ROWS, s_.m - row));
          (vnni_ ? vnni::tiles : any::tiles)(rows, pairs_, a + row * pairs_, b + panel * WIDTH * pairs_,
                                             c + row * s_.n + column, s_.n, std::min(WIDTH, s_.n - column));
        }
    });
    if (in_.y_zero < 0) return;
    if (out_type_ == DType::u8) requantize(run, c, run.output<std::uint8_t>());
    else requantize(run, c, run.output<std::int8_t>());
  }

 private:
  static Index rounded(Index n) { return divided_up(n, 16) * 16; }
  static Bytes bytes(const void* const* in, int i, DType type, int zero, Index zeros) {
    return {in[i], type, zero < 0 ? nullptr : in[zero], zeros};
  }
  // two 16-bit numbers
  static std::int32_t pair(int low, int high) {
    return static_cast<std::int32_t>((static_cast<std::uint32_t>(low) & 0xffff) | static_cast<std::uint32_t>(high) << 16);
  }

  void pack_row(const Bytes& a, Index row, std::int32_t* to) const {
    const int zero = a.zero_at(row % std::max<Index>(1, a.zeros));
    const Index from = row * s_.k;
    for (Index k = 0; k + 1 < s_.k; k += 2) to[k / 2] = pair(a.at(from + k) - zero, a.at(from + k + 1) - zero);
    if (s_.k % 2) to[pairs_ - 1] = pair(a.at(from + s_.k - 1) - zero, 0);
  }

  void pack_b(const Bytes& b, std::int32_t* to, Pool* pool) const {
    Run run{nullptr, nullptr, nullptr, pool};
    run.ranges(panels_, 1 + (1 << 12) / (s_.k + 1), [&](Index begin, Index end, int) {
      for (Index panel = begin; panel < end; ++panel)
        for (Index i = 0; i < pairs_; ++i)
          for (Index j = 0; j < WIDTH; ++j) {
            const Index column = panel * WIDTH + j, k = 2 * i;
            std::int32_t& place = to[(panel * pairs_ + i) * WIDTH + j];
            place = 0;
            if (column >= s_.n) continue;
            const int zero = b.zero_at(column);
            place = pair(b.at(k * s_.n + column) - zero, k + 1 < s_.k ? b.at((k + 1) * s_.n + column) - zero : 0);
          }
    });
  }

  template <class T>
  void requantize(const Run& run, const std::int32_t* sums, T* out) const {
    const float a = *run.input<float>(in_.a_scale), y = *run.input<float>(in_.y_scale);
    const float* b = run.input<float>(in_.b_scale);
    const double zero = *run.input<T>(in_.y_zero);
    const double low = std::numeric_limits<T>::lowest(), high = std::numeric_limits<T>::max();
    run.ranges(s_.m, 1 + (1 << 13) / s_.n, [&](Index begin, Index end, int) {
      for (Index i = begin * s_.n; i < end * s_.n; ++i) {
        const float scale = a * b[b_scales_ == 1 ? 0 : i % s_.n] / y;
        const double value = std::nearbyint(static_cast<double>(static_cast<float>(sums[i]) * scale)) + zero;
        out[i] = static_cast<T>(value > low ? std::min(value, high) : low);  // NaN is the least
      }
    });
  }

  Sizes s_;
  Inputs in_;
  bool vnni_, constant_;
  DType a_type_, b_type_, out_type_;
  Index a_zeros_, b_zeros_, b_scales_, pairs_, panels_;
  Floats packed_;
};

bool is_byte(const Tensor& t) { return t.dtype == DType::u8 || t.dtype == DType::i8; }

std::unique_ptr<Kernel> make_integer(const Inputs& in, const Call& call) {
  const Tensor &a = call.in[in.a], &b = call.in[in.b];
  if (a.rank() < 2 || b.rank() != 2 || !is_byte(a) || !is_byte(b)) return nullptr;
  Sizes s{1, b.shape[1], b.shape[0]};
  for (int i = 0; i + 1 < a.rank(); ++i) s.m *= a.shape[i];
  // one number, or one for each row of a matrix or column
  auto suits = [&](int i, const Tensor& of, Index many) {
    if (i < 0) return true;
    const Tensor& t = call.in[i];
    return (t.size() == 1 || (t.rank() == 1 && t.size() == many)) && (t.dtype == DType::f32 || t.dtype == of.dtype);
  };
  if (!suits(in.a_zero, a, a.shape[a.rank() - 2]) || !suits(in.b_zero, b, s.n)) return nullptr;
  if (in.y_zero >= 0) {
    for (int i : {in.a_scale, in.b_scale, in.y_scale})
      if (call.in[i].dtype != DType::f32 || !suits(i, a, i == in.b_scale ? s.n : 1)) return nullptr;
    if (!is_byte(call.out[0]) || !suits(in.y_zero, call.out[0], 1)) return nullptr;
  }
  return std::make_unique<Integer>(s, in, call);
}

}  // namespace
}  // namespace gemm

std::unique_ptr<Kernel> bind_matmul_integer(const Call& call) {
  gemm::Inputs in;
  int next = 2;
  if (call.attrs.names("given", "a_zero_point")) in.a_zero = next++;
  if (call.attrs.names("given", "b_zero_point")) in.b_zero = next++;
  return gemm::make_integer(in, call);
}

std::unique_ptr<Kernel> bind_qlinear_matmul(const Call& call) {
  call.attrs.ignore("given");
  gemm::Inputs in;
  in.a_scale = 1;
  in.a_zero = 2;
  in.b = 3;
  in.b_scale = 4;
  in.b_zero = 5;
  in.y_scale = 6;
  in.y_zero = 7;
  return gemm::make_integer(in, call);
}

}  // namespace gluonnx
