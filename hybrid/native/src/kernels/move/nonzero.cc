// Coordinates of elements other than 0: _fused_nonzero.
#include <vector>

#include "../../base/numbers.h"
#include "parts.h"

namespace gluonnx {
namespace {

class NonZero : public Kernel {
 public:
  explicit NonZero(const Call& call)
      : dtype_(call.in[0].dtype), shape_(call.in[0].shape), rank_(call.in[0].rank()), size_(call.in[0].size()) {
    want(by_number(dtype_, [](auto) { return true; }));
    call.attrs.ignore("given");
    want(call.out.size() == 2 && call.out[0].dtype == DType::i64 && call.out[1].dtype == DType::i64);
    want_size(call.out[0], times(size_, rank_));
    want_size(call.out[1], 1);
    how = "in order";
  }

  void run(const Run& run) const override {
    by_number(dtype_, [&](auto t) { return find<decltype(t)>(run), true; });
  }

 private:
  template <class T>
  void find(const Run& run) const {
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

  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::int64_t rank_, size_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_nonzero(const Call& call) {
  return std::make_unique<NonZero>(call);
}

}  // namespace gluonnx
