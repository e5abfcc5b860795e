// Coordinates of elements other than 0: _fused_nonzero.
#include <vector>

#include "parts.h"

namespace gluonnx {
namespace {

template <class T>
class NonZero : public Kernel {
 public:
  explicit NonZero(const Call& call) : shape_(call.in[0].shape), rank_(call.in[0].rank()), size_(call.in[0].size()) {
    call.attrs.ignore("given");
    want(call.out.size() == 2 && call.out[0].dtype == DType::i64 && call.out[1].dtype == DType::i64);
    want_size(call.out[0], times(size_, rank_));
    want_size(call.out[1], 1);
    how = "in order";
  }

  void run(const Run& run) const override {
    const T* x = run.input<T>(0);
    std::int64_t* row = run.output<std::int64_t>();
    std::int64_t count = 0;
    const std::int64_t inner = rank_ ? shape_[rank_ - 1] : 1;
    for (std::int64_t begin = 0; begin < size_; begin += inner)
      for (std::int64_t i = begin; i < begin + inner; ++i) {
        if (x[i] == T{0}) continue;
        std::int64_t rest = begin / inner;
        if (rank_) row[rank_ - 1] = i - begin;
        for (std::int64_t a = rank_ - 2; a >= 0; --a) row[a] = rest % shape_[a], rest /= shape_[a];
        row += rank_, ++count;
      }
    *run.output<std::int64_t>(1) = count;
  }

 private:
  std::vector<std::int64_t> shape_;
  std::int64_t rank_, size_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_nonzero(const Call& call) {
  switch (call.in[0].dtype) {
    case DType::f32: return std::make_unique<NonZero<float>>(call);
    case DType::f64: return std::make_unique<NonZero<double>>(call);
    case DType::i32: return std::make_unique<NonZero<std::int32_t>>(call);
    case DType::i64: return std::make_unique<NonZero<std::int64_t>>(call);
    case DType::i8: return std::make_unique<NonZero<std::int8_t>>(call);
    case DType::b1:
    case DType::u8: return std::make_unique<NonZero<std::uint8_t>>(call);
    default: return nullptr;
  }
}

}  // namespace gluonnx
