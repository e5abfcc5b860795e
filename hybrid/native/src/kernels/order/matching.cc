// Greedy one-to-one matching of rows with columns, best score first.
#include <vector>

#include "../../base/numbers.h"

namespace gluonnx {
namespace {

template <class T>
class Matching : public Kernel {
 public:
  explicit Matching(const Call& call)
      : ascending_(call.attrs.flag("is_ascend")), limit_(static_cast<T>(call.attrs.real("threshold"))), most_(call.attrs.integer("topk")) {
    const auto& shape = call.in[0].shape;
    const std::int64_t rank = call.in[0].rank();
    want(rank >= 2);
    rows_ = shape[rank - 2], columns_ = shape[rank - 1];
    for (std::int64_t a = 0; a < rank - 2; ++a) batch_ = times(batch_, shape[a]);
    for (const Tensor& out : call.out) want(out.dtype == call.in[0].dtype);
    want_size(call.out[0], times(batch_, rows_));
    want_size(call.out[1], times(batch_, columns_));
    room_ = static_cast<std::int64_t>(aligned(times(rows_, columns_) * sizeof(std::int64_t)));
    scratch = static_cast<std::size_t>(room_) * (batch_ > 1 ? call.threads : 1);
    how = "greedy";
  }

  void run(const Run& run) const override {
    const std::int64_t each = rows_ * columns_;
    run.ranges(batch_, (1 << 12) / std::max<std::int64_t>(1, each), [&](std::int64_t begin, std::int64_t end, int thread) {
      auto* places = reinterpret_cast<std::int64_t*>(run.scratch + room_ * thread);
      for (std::int64_t b = begin; b < end; ++b)
        match(run.input<T>(0) + b * each, run.output<T>(0) + b * rows_, run.output<T>(1) + b * columns_, places);
    });
  }

 private:
  void match(const T* scores, T* row_match, T* column_match, std::int64_t* places) const {
    std::fill(row_match, row_match + rows_, T{-1});
    std::fill(column_match, column_match + columns_, T{-1});
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows_ * columns_; ++i)
      if (ascending_ ? scores[i] < limit_ : scores[i] > limit_) places[count++] = i;
    std::sort(places, places + count, [&](std::int64_t a, std::int64_t b) {
      const T x = scores[a], y = scores[b];
      return x == y ? a < b : ascending_ ? x < y : x > y;
    });
    std::int64_t matches = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = places[i] / columns_, column = places[i] % columns_;
      if (row_match[row] >= 0 || column_match[column] >= 0) continue;
      row_match[row] = static_cast<T>(column), column_match[column] = static_cast<T>(row);
      if (++matches > most_ && most_ > 0) return;
    }
  }

  bool ascending_;
  T limit_;
  std::int64_t most_, rows_, columns_, batch_ = 1, room_;
};

}  // namespace

std::unique_ptr<Kernel> bind_bipartite_matching(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<Matching<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<Matching<double>>(call);
  return nullptr;
}

}  // namespace gluonnx
