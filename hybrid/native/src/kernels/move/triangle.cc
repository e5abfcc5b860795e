// Matrices with zeros on one side of a diagonal.
#include "move.h"

namespace gluonnx {
namespace {

class Triangle : public Kernel {
 public:
  // lower: what lies above the diagonal is zero; k: of the diagonal, unless an input says it
  Triangle(const Call& call, bool lower, std::int64_t k) : lower_(lower), k_(k), given_(call.in.size() > 1), dtype_(call.out[0].dtype) {
    const Tensor &in = call.in[0], &out = call.out[0];
    const std::int64_t rank = out.rank();
    want(rank >= 2 && in.dtype == out.dtype);
    if (given_) want(call.in[1].dtype == DType::i64 && call.in[1].size() == 1);
    rows_ = out.shape[rank - 2], columns_ = out.shape[rank - 1];
    repeats_ = in.rank() == 1;
    want_size(in, repeats_ ? columns_ : out.size());
    want(!repeats_ || (rank == 2 && rows_ == columns_));
    count_ = columns_ ? out.size() / columns_ : 0;
    how = "rows";
  }

  void run(const Run& run) const override {
    by_size(dtype_, [&](auto t) { rows<decltype(t)>(run); });
  }

 private:
  template <class T>
  void rows(const Run& run) const {
    const std::int64_t k = std::clamp(given_ ? *run.input<std::int64_t>(1) : k_, -rows_, columns_);
    const T* from = run.input<T>(0);
    T* to = run.output<T>();
    run.ranges(count_, grain_of(2 * columns_ * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T* x = repeats_ ? from : from + i * columns_;
        T* y = to + i * columns_;
        // columns before `cut` are on or below the diagonal
        const std::int64_t cut = std::clamp<std::int64_t>(i % rows_ + k + (lower_ ? 1 : 0), 0, columns_);
        if (lower_) std::copy(x, x + cut, y), std::fill(y + cut, y + columns_, T{0});
        else std::fill(y, y + cut, T{0}), std::copy(x + cut, x + columns_, y + cut);
      }
    });
  }

  bool lower_;
  std::int64_t k_;
  bool given_, repeats_;  // repeats: one row is every row
  DType dtype_;
  std::int64_t rows_, columns_, count_;
};

std::unique_ptr<Kernel> triangle(const Call& call, bool lower, std::int64_t k) {
  return std::make_unique<Triangle>(call, lower, k);
}

}  // namespace

std::unique_ptr<Kernel> bind_tril(const Call& call) { return triangle(call, true, call.attrs.integer("k")); }

std::unique_ptr<Kernel> bind_onnx_trilu(const Call& call) {
  call.attrs.ignore("given");
  return triangle(call, !call.attrs.flag("upper"), 0);
}

}  // namespace gluonnx
