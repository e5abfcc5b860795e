#include "many.h"

namespace gluonnx::gemm {
namespace {

class Many : public Kernel {
 public:
  Many(Products products, const Call& call) : p_(std::move(products)) {
    const Index count = static_cast<Index>(p_.c.size());
    flops = count * p_.sizes.flops();
    apart_ = count >= 2 * call.threads || flops < 2e6;
    own_ = (scratch_bytes(p_.sizes, false, apart_ ? 1 : call.threads) + 63) / 64 * 64;
    scratch = apart_ ? own_ * call.threads : own_;
    how = std::to_string(count) + " of " + std::to_string(p_.sizes.m) + "x" + std::to_string(p_.sizes.n) + "x" +
          std::to_string(p_.sizes.k);
  }

  void run(const Run& run) const override {
    const Index count = static_cast<Index>(p_.c.size());
    if (!apart_) {
      for (Index i = 0; i < count; ++i) multiply(product(run, i), run);
      return;
    }
    const double each = 1 + p_.sizes.flops() / 100e9 * 1e9;  // ns
    run.ranges(count, static_cast<Index>(10e3 / each) + 1, [&](Index begin, Index end, int thread) {
      for (Index i = begin; i < end; ++i) multiply_alone(product(run, i), run.scratch + thread * own_);
    });
  }

 private:
  Product product(const Run& run, Index i) const {
    auto operand = [&](const Layout& l) { return Operand{run.input<float>(l.input) + l.begin[i], l.ld, l.transposed}; };
    Product p;
    p.sizes = p_.sizes;
    p.a = operand(p_.a);
    p.b = operand(p_.b);
    p.c = run.output<float>() + p_.c[i];
    p.ldc = p_.ldc;
    p.finish.alpha = p_.alpha;
    if (p_.residual >= 0) {
      p.finish.residual = run.input<float>(p_.residual) + p_.c[i];
      p.finish.residual_ld = p_.ldc;
      p.finish.beta = p_.beta;
    }
    return p;
  }

  Products p_;
  bool apart_;       // each product on one thread
  std::size_t own_;  // scratch of one product
};

}  // namespace

std::unique_ptr<Kernel> make(Products products, const Call& call) {
  for (const Tensor& t : call.in)
    if (t.dtype != DType::f32) return nullptr;
  return std::make_unique<Many>(std::move(products), call);
}

std::vector<Index> steps(Index count, Index step) {
  std::vector<Index> all(count);
  for (Index i = 0; i < count; ++i) all[i] = i * step;
  return all;
}

}  // namespace gluonnx::gemm
