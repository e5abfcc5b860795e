#include "../../base/kept.h"
#include "dense.h"
#include "dots.h"
#include "weights.h"
#include "whole.h"
#include "../wide/product.h"

namespace gluonnx::gemm {
namespace {

// Weights of more bytes come from beyond the caches. Rows of data so few read them as fast where they lie.
constexpr Index LARGE = 1 << 22;

class Single : public Kernel, public Keeper {
 public:
  Single(const Plan& plan, const Call& call, Precision precision)
      : plan_(plan), packs_(call.in[plan.b].constant), weights_(packs_ ? precision : Precision::f32) {
    const Sizes& s = plan.sizes;
    const bool reduced = weights_.precision() != Precision::f32;
    if (!reduced && plan.b_transposed && !plan.a_transposed && s.m <= FEW_ROWS && 4 * s.n * s.k > LARGE) packs_ = false;
    scratch = scratch_bytes(s, packs_ && (!reduced || s.m <= FEW_ROWS), call.threads);
    flops = s.flops();
    if (reduced) {
      const std::size_t size = precision == Precision::i8 ? 1 : 2;
      bytes = static_cast<double>(size * s.n * s.k + 4 * (s.m * s.k + s.m * s.n));
      how = std::string(name_of(precision)) + " ";
    }
    how += std::string(packs_ ? "packed " : "") + std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k);
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!packs_ || !in[plan_.b]) return;
    const Sizes& s = plan_.sizes;
    weights_.pack(b(static_cast<const float*>(in[plan_.b])), s.n, s.k, pool);
  }

  bool reads(int input) const override { return !(packs_ && input == plan_.b); }

  bool take(const Kernel& other) override {
    const auto* from = dynamic_cast<const Single*>(&other);
    const Sizes& s = plan_.sizes;
    if (!from || !packs_ || !from->packs_ || from->plan_.sizes.n != s.n || from->plan_.sizes.k != s.k) return false;
    if (from->weights_.precision() != weights_.precision()) return false;
    weights_ = from->weights_;
    return true;
  }

  std::vector<Kept> kept() override {
    if (!packs_ || weights_.precision() != Precision::f32) return {};
    return {{&weights_.floats(), packed_size(plan_.sizes.n, plan_.sizes.k), panels()}};
  }

  void run(const Run& run) const override {
    const Sizes& s = plan_.sizes;
    Product p;
    p.sizes = s;
    p.a = {run.input<float>(plan_.a), plan_.a_transposed ? s.m : s.k, plan_.a_transposed};
    p.b = b(run.input<float>(plan_.b));
    if (packs_) weights_.offer(p);
    p.c = run.output<float>();
    p.ldc = s.n;
    p.epilogue = plan_.epilogue;
    p.epilogue.alpha = static_cast<float>(plan_.alpha);
    p.epilogue.beta = static_cast<float>(plan_.beta);
    if (plan_.bias >= 0) p.epilogue.bias = run.input<float>(plan_.bias);
    if (plan_.residual >= 0) p.epilogue.residual = run.input<float>(plan_.residual);
    p.epilogue.residual_ld = s.n;
    multiply(p, run);
  }

 private:
  Operand b(const float* data) const { return {data, plan_.b_transposed ? plan_.sizes.k : plan_.sizes.n, plan_.b_transposed}; }

  Plan plan_;
  bool packs_;
  Weights weights_;
};

std::unique_ptr<Kernel> of_whole(const Plan& plan, const Call& call) {
  const auto& [m, n, k] = plan.sizes;
  const Epilogue& f = plan.epilogue;
  want(m >= 0 && n >= 0 && k >= 0 && !f.sloped && !f.low && !f.high && !f.accumulate);
  want_size(call.in[plan.a], times(m, k));
  want_size(call.in[plan.b], times(k, n));
  Products one;
  one.sizes = plan.sizes;
  one.a = {plan.a, {0}, plan.a_transposed ? m : k, plan.a_transposed};
  one.b = {plan.b, {0}, plan.b_transposed ? k : n, plan.b_transposed};
  one.c = {0};
  one.ldc = n;
  one.alpha = plan.alpha;
  one.residual = plan.residual;
  one.beta = plan.beta;
  return whole::make(std::move(one), plan.bias, call);
}

}  // namespace

std::unique_ptr<Kernel> make(const Plan& plan, const Call& call) {
  const Precision precision = precision_of(call.attrs);
  if (call.out[0].dtype == DType::f64) return wide::make(plan, call);
  if (whole::is_whole(call.out[0].dtype)) return of_whole(plan, call);
  want_floats(call.in);
  want_floats(call.out);
  const auto& [m, n, k] = plan.sizes;
  want(m >= 0 && n >= 0 && k >= 0);
  want_size(call.in[plan.a], times(m, k));
  want_size(call.in[plan.b], times(k, n));
  want_size(call.out[0], times(m, n));
  if (plan.bias >= 0) want_size(call.in[plan.bias], n);
  if (plan.residual >= 0) want_size(call.in[plan.residual], times(m, n));
  return std::make_unique<Single>(plan, call, precision);
}

}  // namespace gluonnx::gemm
