// Steps written to a cache, each example's from a place of its own on: ONNX's TensorScatter.
#include "../move/index.h"
#include "../move/parts.h"
#include "update.h"

namespace gluonnx {
namespace {

class Cache : public Kernel {
 public:
  explicit Cache(const Call& call) : circular_(call.attrs.text("mode") == "circular"), given_(call.in.size() > 2) {
    const auto &past = call.in[0].shape, &update = call.in[1].shape;
    const auto rank = static_cast<std::int64_t>(past.size());
    const std::int64_t axis = axis_in(call.attrs.integer("axis"), rank);
    want(axis > 0 && update.size() == past.size());
    for (std::int64_t a = 0; a < rank; ++a) want(a == axis ? update[a] <= past[a] : update[a] == past[a]);
    for (const Tensor* t : {&call.in[0], &call.in[1], &call.out[0]}) want(t->dtype == call.out[0].dtype);
    want_shape(call.out[0], past);
    batch_ = past[0], each_ = product(past, 1, axis), places_ = past[axis], steps_ = update[axis];
    row_ = product(past, axis + 1, rank) * static_cast<std::int64_t>(size_of(call.out[0].dtype));
    if (given_) want(call.in[2].dtype == DType::i64 && call.in[2].size() == batch_);
    sure = !given_;
    how = circular_ ? "round" : "rows";
  }

  void run(const Run& run) const override {
    const auto* first = given_ ? run.input<std::int64_t>(2) : nullptr;
    if (first && !circular_)
      for (std::int64_t b = 0; b < batch_; ++b) want_value(!steps_ || (first[b] >= 0 && first[b] <= places_ - steps_));
    std::byte* to = run.output<std::byte>();
    begin_with(run, run.input<std::byte>(0), to, batch_ * each_ * places_ * row_);
    const std::byte* from = run.input<std::byte>(1);
    run.ranges(batch_ * each_, grain_of(steps_ * row_), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        for (std::int64_t step = 0; step < steps_; ++step) {
          const std::int64_t place = Positions::inside((first ? first[i / each_] : 0) % places_ + step, places_, Outside::wrap);
          std::memcpy(to + (i * places_ + place) * row_, from + (i * steps_ + step) * row_, static_cast<std::size_t>(row_));
        }
    });
  }

 private:
  bool circular_, given_;
  std::int64_t batch_, each_, places_, steps_, row_;
};

}  // namespace

std::unique_ptr<Kernel> bind_onnx_tensor_scatter(const Call& call) {
  call.attrs.ignore("given");
  return std::make_unique<Cache>(call);
}

}  // namespace gluonnx
