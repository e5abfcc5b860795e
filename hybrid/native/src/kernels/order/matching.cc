// Greedy one-to-one matching of rows with columns, best score first.
#include "positions.h"

namespace gluonnx {
namespace {

// A score and its place as one number, which is less where the score comes first, or the place of equal ones.
using Candidate = unsigned __int128;

class Matching : public Kernel {
 public:
  explicit Matching(const Call& call)
      : wide_(call.in[0].dtype == DType::f64), ascending_(call.attrs.flag("is_ascend")), limit_(call.attrs.real("threshold")),
        most_(call.attrs.integer("topk")) {
    const auto& shape = call.in[0].shape;
    const std::int64_t rank = call.in[0].rank();
    want(rank >= 2);
    rows_ = shape[rank - 2], columns_ = shape[rank - 1];
    for (std::int64_t a = 0; a < rank - 2; ++a) batch_ = times(batch_, shape[a]);
    for (const Tensor& out : call.out) want(out.dtype == call.in[0].dtype);
    want_size(call.out[0], times(batch_, rows_));
    want_size(call.out[1], times(batch_, columns_));
    room_ = static_cast<std::int64_t>(aligned(times(rows_, columns_, sizeof(Candidate))));
    scratch = static_cast<std::size_t>(room_) * (batch_ > 1 ? call.threads : 1);
    how = "greedy";
  }

  void run(const Run& run) const override {
    const std::int64_t each = rows_ * columns_;
    run.ranges(batch_, (1 << 12) / std::max<std::int64_t>(1, each), [&](std::int64_t begin, std::int64_t end, int thread) {
      auto* items = reinterpret_cast<Candidate*>(run.scratch + room_ * thread);
      for (std::int64_t b = begin; b < end; ++b) {
        Candidate* last = wide_ ? collect(run.input<double>(0) + b * each, items) : collect(run.input<float>(0) + b * each, items);
        std::sort(items, last);
        if (wide_) match(items, last, run.output<double>(0) + b * rows_, run.output<double>(1) + b * columns_);
        else match(items, last, run.output<float>(0) + b * rows_, run.output<float>(1) + b * columns_);
      }
    });
  }

 private:
  // The scores that count; where they end.
  template <class T>
  Candidate* collect(const T* scores, Candidate* items) const {
    const auto limit = static_cast<T>(limit_);
    for (std::int64_t i = 0; i < rows_ * columns_; ++i)
      if (ascending_ ? scores[i] < limit : scores[i] > limit) {
        const Word<double> word = ascending_word(static_cast<double>(scores[i]));
        *items++ = static_cast<Candidate>(ascending_ ? word : ~word) << 64 | static_cast<std::uint64_t>(i);
      }
    return items;
  }

  template <class T>
  void match(const Candidate* items, const Candidate* last, T* row_match, T* column_match) const {
    std::fill(row_match, row_match + rows_, T{-1});
    std::fill(column_match, column_match + columns_, T{-1});
    std::int64_t matches = 0;
    for (; items < last; ++items) {
      const auto place = static_cast<std::int64_t>(static_cast<std::uint64_t>(*items));
      const std::int64_t row = place / columns_, column = place % columns_;
      if (row_match[row] >= 0 || column_match[column] >= 0) continue;
      row_match[row] = static_cast<T>(column), column_match[column] = static_cast<T>(row);
      if (++matches > most_ && most_ > 0) return;
    }
  }

  bool wide_;  // float64
  bool ascending_;
  double limit_;
  std::int64_t most_, rows_, columns_, batch_ = 1, room_;
};

}  // namespace

std::unique_ptr<Kernel> bind_bipartite_matching(const Call& call) {
  if (call.in[0].dtype != DType::f32 && call.in[0].dtype != DType::f64) return nullptr;
  return std::make_unique<Matching>(call);
}

}  // namespace gluonnx
