#include "product.h"

#include "../../base/floats.h"
#include "../../base/math64.h"

namespace gluonnx::wide {
namespace {

constexpr int REGS = static_cast<int>(PANEL) / LANES64;  // of a row of a panel
#if defined(__AVX512F__)
constexpr int ROWS = 8;
#elif defined(__AVX__)
constexpr int ROWS = 3;
#else
constexpr int ROWS = 1;
#endif

// A row of a tile, with the epilogue: the same operations whichever tile it is in.
template <int N>
GX_INLINE void store(const RegD (&sum)[N], const Epilogue& f, double shift, const double* bias, const double* more, double* to) {
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    RegD y = sum[v] * f.alpha + shift;
    if (bias) y += get(bias + v * LANES64);
    if (more) y += get(more + v * LANES64) * f.beta;
    put(to + v * LANES64, y);
  }
}

// Of the first columns only.
__attribute__((noinline)) void store_some(const RegD (&sum)[REGS], const Epilogue& f, double shift, const double* more, Index columns,
                                          double* to) {
  alignas(64) double bias[PANEL] = {}, residual[PANEL] = {}, all[PANEL];
  if (f.bias) std::copy(f.bias, f.bias + columns, bias);
  if (more) std::copy(more, more + columns, residual);
  store<REGS>(sum, f, shift, f.bias ? bias : nullptr, more ? residual : nullptr, all);
  std::copy(all, all + columns, to);
}

template <int R>
void tile(const Matrix& a, const double* panel, Index k, Index columns, double* c, Index ldc, Index row, const Epilogue& f) {
  RegD sum[R][REGS] = {};
  const double* at = a.data + row * a.row;
  for (Index i = 0; i < k; ++i, panel += PANEL, at += a.column) {
    RegD b[REGS];
#pragma GCC unroll 8
    for (int v = 0; v < REGS; ++v) b[v] = get(panel + v * LANES64);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const RegD x = splat_reg(at[r * a.row]);
#pragma GCC unroll 8
      for (int v = 0; v < REGS; ++v) sum[r][v] += x * b[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    double* to = c + (row + r) * ldc;
    const double* more = f.residual ? f.residual + (row + r) * ldc : nullptr;
    const double shift = f.row_bias ? f.row_bias[row + r] : 0;
    if (columns == PANEL) {
      store<REGS>(sum[r], f, shift, f.bias, more, to);
      continue;
    }
    RegD apart[REGS];
#pragma GCC unroll 8
    for (int v = 0; v < REGS; ++v) apart[v] = sum[r][v];
    store_some(apart, f, shift, more, columns, to);
  }
}

// The last rows, fewer than ROWS.
template <int R>
void rest(const Matrix& a, const double* panel, Index k, Index columns, double* c, Index ldc, Index row, Index rows,
          const Epilogue& f) {
  if constexpr (R > 0) {
    if (rows == R) return tile<R>(a, panel, k, columns, c, ldc, row, f);
    rest<R - 1>(a, panel, k, columns, c, ldc, row, rows, f);
  }
}

Matrix matrix(const double* data, Index ld, bool transposed) {
  return transposed ? Matrix{data, 1, ld} : Matrix{data, ld, 1};
}
Matrix from_column(const Matrix& m, Index column) { return {m.data + column * m.column, m.row, m.column}; }

// Products of one size, each cut by panels and, where these are few, by rows.
class Wide : public Kernel {
 public:
  Wide(gemm::Products products, int bias, const Call& call) : p_(std::move(products)), bias_(bias) {
    const auto& [m, n, k] = p_.sizes;
    panels_ = (n + PANEL - 1) / PANEL;
    packs_ = p_.c.size() == 1 && call.in[p_.b.input].constant;
    const Index work = static_cast<Index>(p_.c.size()) * panels_;
    if (call.threads > 1 && work < 4 * call.threads) pieces_ = std::clamp<Index>(m / 64, 1, 4 * call.threads);
    panel_ = times(k, PANEL);
    if (!packs_) scratch = static_cast<std::size_t>(panel_) * sizeof(double) * call.threads;
    flops = static_cast<double>(p_.c.size()) * p_.sizes.flops();
    how = std::string(packs_ ? "packed doubles " : "doubles ") + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  }

  void prepare(const void* const* in, Pool*) override {
    if (!packs_ || !in[p_.b.input]) return;
    packed_.resize(2 * panels_ * panel_);
    const Matrix b = matrix(static_cast<const double*>(in[p_.b.input]) + p_.b.begin[0], p_.b.ld, p_.b.transposed);
    for (Index i = 0; i < panels_; ++i) pack_panel(from_column(b, i * PANEL), p_.sizes.k, width(i), packed() + i * panel_);
  }
  bool reads(int input) const override { return !(packs_ && input == p_.b.input); }

  void run(const Run& run) const override {
    const Index m = p_.sizes.m, k = p_.sizes.k;  // no bindings, as in gemm/whole.cc
    const Index count = static_cast<Index>(p_.c.size()) * panels_ * pieces_;
    const double each = 10 + 2.0 * static_cast<double>(m / pieces_ + 1) * PANEL * static_cast<double>(k) / 20;  // nanoseconds
    run.ranges(count, static_cast<Index>(10e3 / each) + 1, [&](Index begin, Index end, int thread) {
      double* own = packs_ ? nullptr : reinterpret_cast<double*>(run.scratch) + thread * panel_;
      Index held = -1;  // the panel that is packed
      for (Index i = begin; i < end; ++i) {
        const Index which = i / pieces_, product = which / panels_, panel = which % panels_, column = panel * PANEL;
        const double* b = packs_ ? packed() + panel * panel_ : own;
        if (!packs_ && held != which) {
          const Matrix all = matrix(run.input<double>(p_.b.input) + p_.b.begin[product], p_.b.ld, p_.b.transposed);
          pack_panel(from_column(all, column), k, width(panel), own);
          held = which;
        }
        const Index first = m * (i % pieces_) / pieces_, last = m * (i % pieces_ + 1) / pieces_;
        Matrix a = matrix(run.input<double>(p_.a.input) + p_.a.begin[product], p_.a.ld, p_.a.transposed);
        a.data += first * a.row;
        const Index at = p_.c[product] + first * p_.ldc + column;
        Epilogue epilogue{p_.alpha, p_.beta};
        if (bias_ >= 0) epilogue.bias = run.input<double>(bias_) + column;
        if (p_.residual >= 0) epilogue.residual = run.input<double>(p_.residual) + at;
        multiply_panel(a, b, last - first, k, width(panel), run.output<double>() + at, p_.ldc, epilogue);
      }
    });
  }

 private:
  Index width(Index panel) const { return std::min(PANEL, p_.sizes.n - panel * PANEL); }
  double* packed() const { return reinterpret_cast<double*>(packed_.data()); }

  gemm::Products p_;
  int bias_;
  Index panels_, pieces_ = 1, panel_;
  bool packs_;
  Floats packed_;
};

// That matrices of rows x columns, as an operand's layout says, lie inside it.
void want_within(const Tensor& t, const gemm::Layout& layout, Index rows, Index columns) {
  if (layout.transposed) std::swap(rows, columns);
  if (!rows || !columns) return;
  const Index end = t.size() - plus(times(rows - 1, layout.ld), columns);
  for (Index at : layout.begin) want(at >= 0 && at <= end);
}

__attribute__((cold)) std::unique_ptr<Kernel> checked(gemm::Products products, int bias, const Call& call) {
  want_doubles(call);
  const auto& [m, n, k] = products.sizes;
  want(m >= 0 && n >= 0 && k >= 0);
  want_within(call.in[products.a.input], products.a, m, k);
  want_within(call.in[products.b.input], products.b, k, n);
  want_within(call.out[0], {0, products.c, products.ldc}, m, n);
  want_size(call.out[0], times(static_cast<Index>(products.c.size()), m, n));
  want(products.a.begin.size() == products.c.size() && products.b.begin.size() == products.c.size());
  if (bias >= 0) want_size(call.in[bias], n);
  if (products.residual >= 0) want_size(call.in[products.residual], call.out[0].size());
  return std::make_unique<Wide>(std::move(products), bias, call);
}

}  // namespace

void pack_panel(const Matrix& b, Index k, Index columns, double* to) {
  if (columns == PANEL && b.column == 1) {
    for (Index i = 0; i < k; ++i, to += PANEL) std::memcpy(to, b.data + i * b.row, PANEL * sizeof(double));
    return;
  }
  if (b.row == 1) {  // along the rows of what is transposed
    if (columns < PANEL) std::fill(to, to + k * PANEL, 0.);
    for (Index j = 0; j < columns; ++j)
      for (Index i = 0; i < k; ++i) to[i * PANEL + j] = b.data[j * b.column + i];
    return;
  }
  for (Index i = 0; i < k; ++i, to += PANEL)
    for (Index j = 0; j < PANEL; ++j) to[j] = j < columns ? b.data[i * b.row + j * b.column] : 0;
}

void multiply_panel(const Matrix& a, const double* panel, Index m, Index k, Index columns, double* c, Index ldc,
                    const Epilogue& epilogue) {
  Index row = 0;
  for (; row + ROWS <= m; row += ROWS) tile<ROWS>(a, panel, k, columns, c, ldc, row, epilogue);
  rest<ROWS - 1>(a, panel, k, columns, c, ldc, row, m - row, epilogue);
}

std::unique_ptr<Kernel> make(const gemm::Plan& plan, const Call& call) {
  const auto& [m, n, k] = plan.sizes;
  want(m >= 0 && n >= 0 && k >= 0);
  want_size(call.in[plan.a], times(m, k));
  want_size(call.in[plan.b], times(k, n));
  const gemm::Epilogue& f = plan.epilogue;
  want(!f.sloped && !f.low && !f.high && !f.accumulate);
  gemm::Products one;
  one.sizes = plan.sizes;
  one.a = {plan.a, {0}, plan.a_transposed ? m : k, plan.a_transposed};
  one.b = {plan.b, {0}, plan.b_transposed ? k : n, plan.b_transposed};
  one.c = {0};
  one.ldc = n;
  one.alpha = plan.alpha;
  one.residual = plan.residual;
  one.beta = plan.beta;
  return checked(std::move(one), plan.bias, call);
}

std::unique_ptr<Kernel> make(gemm::Products products, const Call& call) { return checked(std::move(products), -1, call); }

}  // namespace gluonnx::wide
