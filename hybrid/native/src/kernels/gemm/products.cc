// dot, batch_dot, matmul, gemm: products of two operands, and their gradients.
#include "dense.h"
#include "many.h"
#include "whole.h"

namespace gluonnx {
namespace gemm {
namespace {

Index product_of(const std::vector<Index>& shape, int begin, int end) {
  Index n = 1;
  for (int i = begin; i < end; ++i) n *= shape[i];
  return n;
}

// Operands of a product op(A) op(B), or of its gradient: positions among the inputs and whether they are transposed.
struct ProductOperands {
  int a, b;
  bool a_transposed, b_transposed;
  Sizes sizes;
};

// The product with operands at 0 and 1, where s are its sizes.
ProductOperands forward(const Sizes& s, bool ta, bool tb) { return {0, 1, ta, tb, s}; }

// The gradient of A (of = 0) or B, given dy, A and B.
ProductOperands backward(const Sizes& s, bool ta, bool tb, Index of) {
  if (of == 0 && ta) return {2, 0, tb, true, {s.k, s.m, s.n}};
  if (of == 0) return {0, 2, false, !tb, {s.m, s.k, s.n}};
  if (tb) return {0, 1, true, ta, {s.n, s.k, s.m}};
  return {1, 0, !ta, false, {s.k, s.n, s.m}};
}

Plan plan_of(const ProductOperands& operands) {
  Plan plan;
  plan.sizes = operands.sizes;
  plan.a = operands.a;
  plan.b = operands.b;
  plan.a_transposed = operands.a_transposed;
  plan.b_transposed = operands.b_transposed;
  return plan;
}

// `count` products of matrices that follow one another.
Products products_of(const ProductOperands& operands, Index count) {
  const auto& [m, n, k] = operands.sizes;
  Products p;
  p.sizes = operands.sizes;
  p.a = {operands.a, steps(count, m * k), operands.a_transposed ? m : k, operands.a_transposed};
  p.b = {operands.b, steps(count, k * n), operands.b_transposed ? k : n, operands.b_transposed};
  p.c = steps(count, m * n);
  p.ldc = n;
  return p;
}

// How many matrices two operands have, which have to have as many in every dim before the last two.
Index matrices(const Call& call, const Tensor& a, const Tensor& b) {
  want(a.rank() >= 2 && a.rank() == b.rank());
  for (int i = 0; i + 2 < a.rank(); ++i) want(a.shape[i] == b.shape[i]);
  const Index count = product_of(a.shape, 0, a.rank() - 2);
  want_products(call, count);
  return count;
}

// Sizes of the product of the last two dims.
Sizes sizes_of(const Tensor& a, const Tensor& b, bool ta, bool tb) {
  const int r = a.rank(), q = b.rank();
  return {a.shape[ta ? r - 1 : r - 2], b.shape[tb ? q - 2 : q - 1], a.shape[ta ? r - 2 : r - 1]};
}

// dot sums over the last axis of lhs (the first when transposed) and the first of rhs (the last when transposed).
Sizes dot_sizes(const Tensor& lhs, const Tensor& rhs, bool ta, bool tb) {
  const int r = lhs.rank(), q = rhs.rank();
  Sizes s;
  s.k = lhs.shape[ta ? 0 : r - 1];
  s.m = ta ? product_of(lhs.shape, 1, r) : product_of(lhs.shape, 0, r - 1);
  s.n = tb ? product_of(rhs.shape, 0, q - 1) : product_of(rhs.shape, 1, q);
  return s;
}

}  // namespace
}  // namespace gemm

using namespace gemm;

std::unique_ptr<Kernel> bind_dot(const Call& call) {
  const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
  call.attrs.ignore("forward_stype");
  const Tensor &lhs = call.in[0], &rhs = call.in[1];
  if (!lhs.rank() || !rhs.rank()) return nullptr;
  return make(plan_of(forward(dot_sizes(lhs, rhs, ta, tb), ta, tb)), call);
}

std::unique_ptr<Kernel> bind_backward_dot(const Call& call) {
  const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
  call.attrs.ignore("forward_stype");
  const Tensor &lhs = call.in[1], &rhs = call.in[2];
  if (!lhs.rank() || !rhs.rank()) return nullptr;
  return make(plan_of(backward(dot_sizes(lhs, rhs, ta, tb), ta, tb, call.attrs.integer("of"))), call);
}

std::unique_ptr<Kernel> bind_np_dot(const Call& call) {
  const Tensor &a = call.in[0], &b = call.in[1];
  if (!a.rank() || !b.rank()) return make(plan_of(forward({a.size(), b.size(), 1}, false, false)), call);
  if (b.rank() <= 2) return make(plan_of(forward(dot_sizes(a, b, false, false), false, false)), call);
  // all rows of a times each matrix of b: the results of one matrix lie between those of the others
  const int r = a.rank(), q = b.rank();
  const Sizes s{product_of(a.shape, 0, r - 1), b.shape[q - 1], a.shape[r - 1]};
  const Index count = product_of(b.shape, 0, q - 2);
  want(b.shape[q - 2] == s.k);
  want_products(call, count);
  Products p = products_of(forward(s, false, false), count);
  p.a.begin = steps(count, 0);
  p.c = steps(count, s.n);
  p.ldc = times(count, s.n);
  return make(std::move(p), call);
}

std::unique_ptr<Kernel> bind_batch_dot(const Call& call) {
  const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
  call.attrs.ignore("forward_stype");
  const Tensor &a = call.in[0], &b = call.in[1];
  return make(products_of(forward(sizes_of(a, b, ta, tb), ta, tb), matrices(call, a, b)), call);
}

std::unique_ptr<Kernel> bind_backward_batch_dot(const Call& call) {
  const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
  call.attrs.ignore("forward_stype");
  const Tensor &a = call.in[1], &b = call.in[2];
  const ProductOperands operands = backward(sizes_of(a, b, ta, tb), ta, tb, call.attrs.integer("of"));
  return make(products_of(operands, matrices(call, a, b)), call);
}

std::unique_ptr<Kernel> bind_backward_FullyConnected(const Call& call) {
  const Tensor &data = call.in[1], &weight = call.in[2];
  const bool flatten = call.attrs.flag("flatten");
  call.attrs.ignore("no_bias");
  const Index n = call.attrs.integer("num_hidden");
  if (!data.rank()) return nullptr;
  const Sizes s{flatten ? data.shape[0] : product_of(data.shape, 0, data.rank() - 1), n, weight.shape[1]};
  return make(plan_of(backward(s, false, true, call.attrs.integer("of"))), call);
}

std::unique_ptr<Kernel> bind_linalg_gemm(const Call& call) {
  const Tensor &a = call.in[0], &b = call.in[1];
  const bool ta = call.attrs.flag("transpose_a"), tb = call.attrs.flag("transpose_b");
  const Index axis = call.attrs.integer("axis");
  const double alpha = call.attrs.real("alpha");
  const bool plus = call.in.size() > 2;
  const double beta = plus ? call.attrs.real("beta") : 1;
  if (axis != -2 && axis != a.rank() - 2) return nullptr;
  Products p = products_of(forward(sizes_of(a, b, ta, tb), ta, tb), matrices(call, a, b));
  p.alpha = alpha;
  p.beta = beta;
  if (plus) p.residual = 2;
  return make(std::move(p), call);
}

std::unique_ptr<Kernel> bind_matmul(const Call& call) {
  const Tensor &a = call.in[0], &b = call.in[1];
  if (!a.rank() || !b.rank()) return nullptr;
  std::vector<Index> left = a.shape, right = b.shape;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const int r = static_cast<int>(left.size()), q = static_cast<int>(right.size());
  Sizes s{left[r - 2], right[q - 1], left[r - 1]};
  if (product_of(right, 0, q - 2) == 1) {  // one matrix for all: its rows are the rows of one product
    s.m *= product_of(left, 0, r - 2);
    return make(plan_of(forward(s, false, false)), call);
  }
  // which matrix of an operand each product takes, dims of 1 standing still
  const int rank = std::max(r, q) - 2;
  std::vector<Index> dims(rank);
  auto dim = [&](const std::vector<Index>& shape, int i) {
    const int j = i - rank + static_cast<int>(shape.size()) - 2;
    return j < 0 ? 1 : shape[j];
  };
  Index count = 1;
  for (int i = 0; i < rank; ++i) {
    want(dim(left, i) == 1 || dim(right, i) == 1 || dim(left, i) == dim(right, i));
    dims[i] = dim(left, i) == 1 ? dim(right, i) : dim(left, i);
    count = times(count, dims[i]);
  }
  want_products(call, count);
  Products p = products_of(forward(s, false, false), count);
  for (Index c = 0; c < count; ++c) {
    Index rest = c, x = 0, y = 0, step_x = s.m * s.k, step_y = s.k * s.n;
    for (int i = rank - 1; i >= 0; --i) {
      const Index at = rest % dims[i];
      rest /= dims[i];
      if (dim(left, i) != 1) x += at * step_x;
      if (dim(right, i) != 1) y += at * step_y;
      step_x *= dim(left, i);
      step_y *= dim(right, i);
    }
    p.a.begin[c] = x;
    p.b.begin[c] = y;
  }
  return make(std::move(p), call);
}

namespace {

// What another kernel computes, M rows of N, plus beta times a column, a row or one number.
template <class T>
class PlusSpread : public Kernel {
 public:
  PlusSpread(std::unique_ptr<Kernel> product, const Tensor& spread, int input, const Sizes& sizes, double beta)
      : product_(std::move(product)), input_(input), sizes_(sizes), beta_(static_cast<T>(beta)) {
    const int r = spread.rank();
    const Index rows = r > 1 ? spread.shape[r - 2] : 1, columns = r ? spread.shape[r - 1] : 1;
    want(r <= 2 && (rows == 1 || rows == sizes.m) && (columns == 1 || columns == sizes.n));
    down_ = rows == 1 ? 0 : columns;
    along_ = columns == 1 ? 0 : 1;
    how = product_->how;
    flops = product_->flops;
    scratch = product_->scratch;
  }

  void prepare(const void* const* in, Pool* pool) override { product_->prepare(in, pool); }
  bool take(const Kernel& other) override {
    const auto* like = dynamic_cast<const PlusSpread*>(&other);
    return like && product_->adopt(*like->product_);
  }
  bool reads(int input) const override { return input == input_ || product_->reads(input); }

  void run(const Run& run) const override {
    product_->run(run);
    const T* c = run.input<T>(input_);
    run.ranges(sizes_.m, 1 + 16384 / (sizes_.n + 1), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        T* y = run.output<T>() + i * sizes_.n;
        for (Index j = 0; j < sizes_.n; ++j) y[j] += beta_ * c[i * down_ + j * along_];
      }
    });
  }

 private:
  std::unique_ptr<Kernel> product_;
  int input_;
  Sizes sizes_;
  T beta_;
  Index down_, along_;
};

}  // namespace

std::unique_ptr<Kernel> bind_onnx_Gemm(const Call& call) {
  const auto& attrs = call.attrs;
  attrs.ignore("given");  // how many inputs there are says the same
  const bool ta = attrs.flag("transA"), tb = attrs.flag("transB");
  const double alpha = attrs.real("alpha"), beta = attrs.real("beta");
  want(call.in[0].rank() == 2 && call.in[1].rank() == 2);
  Plan plan = plan_of(forward(sizes_of(call.in[0], call.in[1], ta, tb), ta, tb));
  plan.alpha = alpha;
  if (call.in.size() > 2) {
    const auto& c = call.in[2].shape;
    const bool row = !c.empty() && c.back() == plan.sizes.n && call.in[2].size() == plan.sizes.n;
    if (row && beta == 1) {
      plan.bias = 2;
    } else if (c == std::vector<Index>{plan.sizes.m, plan.sizes.n}) {
      plan.residual = 2;
      plan.beta = beta;
    } else {
      want(!whole::is_whole(call.out[0].dtype));
      auto product = make(plan, call);
      want(product && call.in[2].dtype == call.out[0].dtype);
      if (call.out[0].dtype == DType::f64)
        return std::make_unique<PlusSpread<double>>(std::move(product), call.in[2], 2, plan.sizes, beta);
      return std::make_unique<PlusSpread<float>>(std::move(product), call.in[2], 2, plan.sizes, beta);
    }
  }
  return make(plan, call);
}

}  // namespace gluonnx
