// Rows divided by the root of the mean of their squares.
#include "common.h"

namespace gluonnx {
namespace {

class RootMeanSquare : public Kernel {
 public:
  RootMeanSquare(std::int64_t rows, std::int64_t n, double eps) : rows_(rows), n_(n), eps_(eps) {
    flops = 4.0 * static_cast<double>(rows * n);
  }

  void run(const Run& run) const override {
    run.ranges(rows_, static_cast<std::int64_t>(20e3 / (0.2 * static_cast<double>(n_) + 20)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 const float* gamma = run.input<float>(1);
                 for (std::int64_t i = begin; i < end; ++i) {
                   const float* x = run.input<float>(0) + i * n_;
                   float* y = run.output<float>() + i * n_;
                   const double squares = sum_over(n_, [&](std::int64_t j, auto k) {
                     const Reg v = get(x + j, k);
                     return v * v;
                   });
                   const float factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(n_) + eps_));
                   each_vector(n_, [&](std::int64_t j, auto k) { put(y + j, get(x + j, k) * factor * get(gamma + j, k), k); });
                 }
               });
  }

 private:
  std::int64_t rows_, n_;
  double eps_;
};

}  // namespace

std::unique_ptr<Kernel> bind_rms_norm(const Call& call) {
  want_floats(call);
  const AxisSplit shape(call.in[0].shape, -1);
  want_size(call.in[1], shape.size);
  want_size(call.out[0], shape.all());
  return std::make_unique<RootMeanSquare>(shape.before, shape.size, call.attrs.real("eps"));
}

}  // namespace gluonnx
