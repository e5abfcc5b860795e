#include "many.h"

#include <map>

#include "../wide/product.h"
#include "weights.h"
#include "whole.h"

namespace gluonnx::gemm {
namespace {

constexpr Index FEW = 4096;  // products that may be listed whatever becomes of them

class Many : public Kernel {
 public:
  // precision: of constant matrices; in float32 they are read where they lie
  Many(Products products, const Call& call, Precision precision) : p_(std::move(products)) {
    const Index count = static_cast<Index>(p_.c.size());
    if (precision != Precision::f32 && call.in[p_.b.input].constant) {
      std::map<Index, Index> places;
      for (Index at : p_.b.begin) which_.push_back(places.emplace(at, places.size()).first->second);
      begins_.resize(places.size());
      for (auto [at, place] : places) begins_[place] = at;
      weights_.assign(places.size(), Weights(precision));
      how = std::string(name_of(precision)) + " packed ";
    }
    flops = count * p_.sizes.flops();
    apart_ = count >= 2 * call.threads || flops < 2e6;
    own_ = aligned(scratch_bytes(p_.sizes, false, apart_ ? 1 : call.threads));
    scratch = apart_ ? own_ * call.threads : own_;
    how += std::to_string(count) + " of " + std::to_string(p_.sizes.m) + "x" + std::to_string(p_.sizes.n) + "x" +
          std::to_string(p_.sizes.k);
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (weights_.empty()) return Kernel::prepare(in, pool);
    const auto* from = static_cast<const float*>(in[p_.b.input]);
    if (!from) return;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i].pack({from + begins_[i], p_.b.ld, p_.b.transposed}, p_.sizes.n, p_.sizes.k, pool);
  }

  bool reads(int input) const override { return weights_.empty() || input != p_.b.input; }

  bool take(const Kernel& other) override {
    const auto* from = dynamic_cast<const Many*>(&other);
    const Products& theirs = from ? from->p_ : p_;
    if (!from || weights_.empty() || begins_ != from->begins_ || theirs.sizes.n != p_.sizes.n || theirs.sizes.k != p_.sizes.k)
      return false;
    if (weights_[0].precision() != from->weights_[0].precision()) return false;
    weights_ = from->weights_;
    return true;
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
    if (weights_.empty()) p.b = operand(p_.b);
    else weights_[which_[i]].offer(p);
    p.c = run.output<float>() + p_.c[i];
    p.ldc = p_.ldc;
    p.epilogue.alpha = static_cast<float>(p_.alpha);
    if (p_.residual >= 0) {
      p.epilogue.residual = run.input<float>(p_.residual) + p_.c[i];
      p.epilogue.residual_ld = p_.ldc;
      p.epilogue.beta = static_cast<float>(p_.beta);
    }
    return p;
  }

  Products p_;
  bool apart_;       // each product on one thread
  std::size_t own_;  // scratch of one product
  std::vector<Weights> weights_;  // of constant matrices in fewer bits: those that there are, where each begins,
  std::vector<Index> begins_, which_;  // and which one each product takes
};

// That matrices of rows x columns, as an operand's layout says, lie inside it.
void want_within(const Tensor& t, const Layout& layout, Index rows, Index columns) {
  if (layout.transposed) std::swap(rows, columns);
  if (!rows || !columns) return;
  const Index end = t.size() - plus(times(rows - 1, layout.ld), columns);
  for (Index at : layout.begin) want(at >= 0 && at <= end);
}

}  // namespace

void want_products(const Call& call, Index count) { want(count >= 0 && count <= std::max(FEW, call.out[0].size())); }

std::unique_ptr<Kernel> make(Products products, const Call& call) {
  const Precision precision = precision_of(call.attrs);
  if (call.out[0].dtype == DType::f64) return wide::make(std::move(products), call);
  if (whole::is_whole(call.out[0].dtype)) return whole::make(std::move(products), -1, call);
  want_floats(call.in);
  want_floats(call.out);
  const auto& [m, n, k] = products.sizes;
  want(m >= 0 && n >= 0 && k >= 0);
  want_within(call.in[products.a.input], products.a, m, k);
  want_within(call.in[products.b.input], products.b, k, n);
  want_within(call.out[0], {0, products.c, products.ldc}, m, n);
  want_size(call.out[0], times(static_cast<Index>(products.c.size()), m, n));
  want(products.a.begin.size() == products.c.size() && products.b.begin.size() == products.c.size());
  if (products.residual >= 0) want_size(call.in[products.residual], call.out[0].size());
  return std::make_unique<Many>(std::move(products), call, precision);
}

std::vector<Index> steps(Index count, Index step) {
  std::vector<Index> all(count);
  for (Index i = 0; i < count; ++i) all[i] = i * step;
  return all;
}

}  // namespace gluonnx::gemm
