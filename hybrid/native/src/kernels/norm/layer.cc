// LayerNorm, InstanceNorm and GroupNorm: mean and variance over contiguous elements; LayerNorm over any other axis by columns.
#include "../wide/norm.h"
#include "common.h"

namespace gluonnx {
namespace {

enum class Third { deviation, variance };  // what the third output is

// Rows of n contiguous elements, each with its own mean and variance.
class RowNorm : public Kernel {
 public:
  std::int64_t rows = 0, n = 0;
  float eps = 0;
  Third third = Third::deviation;
  bool each = false;  // gamma and beta of each element of a row (LayerNorm); else of row % parameters
  std::int64_t parameters = 1;

  void run(const Run& run) const override {
    const float *x = run.input<float>(0), *gamma = run.input<float>(1), *beta = run.input<float>(2);
    float *y = run.output<float>(0), *means = run.output<float>(1), *thirds = run.output<float>(2);
    run.ranges(rows, static_cast<std::int64_t>(20e3 / (0.25 * static_cast<double>(n) + 20)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t at = each ? 0 : i % parameters;
                   row(x + i * n, y + i * n, gamma + at, beta + at, means + i, thirds + i);
                 }
               });
  }

 private:
  void row(const float* x, float* y, const float* gamma, const float* beta, float* mean_out, float* third_out) const {
    const auto [mean, rest, variance] = moments(x, n);
    const float deviation = std::sqrt(variance + eps), factor = 1 / deviation, m = mean;
    *mean_out = mean;
    *third_out = third == Third::deviation ? deviation : variance;
    if (each) {
      const float shift = -rest * factor;
      each_vector(n, [&](std::int64_t i, auto k) {
        put(y + i, ((get(x + i, k) - m) * factor + shift) * get(gamma + i, k) + get(beta + i, k), k);
      });
    } else {
      const float scale = *gamma * factor, shift = *beta - rest * scale;
      each_vector(n, [&](std::int64_t i, auto k) { put(y + i, (get(x + i, k) - m) * scale + shift, k); });
    }
  }
};

// LayerNorm over an axis with others behind it.
class ColumnNorm : public Kernel {
 public:
  ColumnNorm(AxisSplit shape, float eps) : shape_(shape), eps_(eps) { how = "columns"; }

  void run(const Run& run) const override {
    const float *x = run.input<float>(0), *gamma = run.input<float>(1), *beta = run.input<float>(2);
    float *y = run.output<float>(0), *means = run.output<float>(1), *deviations = run.output<float>(2);
    const std::int64_t pieces = (shape_.after + COLUMNS - 1) / COLUMNS;
    const double cost = 0.4 * static_cast<double>(shape_.size * std::min(shape_.after, COLUMNS)) + 50;
    run.ranges(shape_.before * pieces, static_cast<std::int64_t>(20e3 / cost) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t image = i / pieces, start = i % pieces * COLUMNS;
                   std::int64_t at = image * shape_.size * shape_.after + start, to = image * shape_.after + start;
                   columns(x + at, y + at, gamma, beta, means + to, deviations + to, std::min(COLUMNS, shape_.after - start));
                 }
               });
  }

 private:
  void columns(const float* x, float* y, const float* gamma, const float* beta, float* means, float* deviations,
               std::int64_t width) const {
    alignas(64) float factor[COLUMNS];
    const float count = static_cast<float>(shape_.size);
    add_up(width, means, [&](std::int64_t k, std::int64_t j, auto m) { return get(x + k * shape_.after + j, m); });
    each_vector(width, [&](std::int64_t j, auto m) { put(means + j, get(means + j, m) / count, m); });
    add_up(width, deviations, [&](std::int64_t k, std::int64_t j, auto m) {
      Reg d = get(x + k * shape_.after + j, m) - get(means + j, m);
      return d * d;
    });
    each_vector(width, [&](std::int64_t j, auto m) {
      Reg d = sqrt(get(deviations + j, m) / count + eps_);
      put(deviations + j, d, m);
      put(factor + j, 1.f / d, m);
    });
    for (std::int64_t k = 0; k < shape_.size; ++k)
      each_vector(width, [&](std::int64_t j, auto m) {
        std::int64_t at = k * shape_.after + j;
        put(y + at, (get(x + at, m) - get(means + j, m)) * get(factor + j, m) * gamma[k] + beta[k], m);
      });
  }

  // totals[j] = sum of f(k, j) over k, in pieces so that long sums lose little
  template <class F>
  void add_up(std::int64_t width, float* totals, F f) const {
    alignas(64) float part[COLUMNS];
    std::fill(totals, totals + width, 0.f);
    std::fill(part, part + width, 0.f);
    for (std::int64_t k = 0; k < shape_.size; ++k) {
      each_vector(width, [&](std::int64_t j, auto m) { put(part + j, get(part + j, m) + f(k, j, m), m); });
      if (k % 64 == 63 || k + 1 == shape_.size)
        each_vector(width, [&](std::int64_t j, auto m) {
          put(totals + j, get(totals + j, m) + get(part + j, m), m);
          put(part + j, Reg{}, m);
        });
    }
  }

  AxisSplit shape_;
  float eps_;
};

// Operands and results of all three: `results` means, and gamma and beta of so many elements.
void want_sizes(const Call& call, std::int64_t parameters, std::int64_t results) {
  want_size(call.out[0], call.in[0].size());
  for (int i : {1, 2}) want_size(call.in[i], parameters), want_size(call.out[i], results);
}
void want_operands(const Call& call, std::int64_t parameters, std::int64_t results) {
  want_floats(call);
  want_sizes(call, parameters, results);
}

// Rows that lie one after the other, `parameters` of them in an image, each with a gamma and a beta.
std::unique_ptr<RowNorm> images(const Call& call, std::int64_t parameters) {
  auto kernel = std::make_unique<RowNorm>();
  kernel->eps = static_cast<float>(call.attrs.real("eps"));
  kernel->rows = times(call.in[0].shape[0], parameters);
  kernel->n = kernel->rows ? call.in[0].size() / kernel->rows : 0;
  kernel->parameters = parameters;
  want_operands(call, parameters, kernel->rows);
  want_size(call.in[0], kernel->rows * kernel->n);
  return kernel;
}

}  // namespace

std::unique_ptr<Kernel> bind_LayerNorm(const Call& call) {
  call.attrs.ignore("output_mean_var");
  float eps = static_cast<float>(call.attrs.real("eps"));
  AxisSplit shape(call.in[0].shape, call.attrs.integer("axis"));
  if (call.in[0].dtype == DType::f64) {
    for (const Tensors* all : {&call.in, &call.out})
      for (const Tensor& t : *all) want(t.dtype == DType::f64 && !t.blocked);
    want_sizes(call, shape.size, shape.before * shape.after);
    return wide::layer_norm(shape, eps, call.threads);
  }
  want_operands(call, shape.size, shape.before * shape.after);
  if (shape.after != 1) return std::make_unique<ColumnNorm>(shape, eps);
  auto kernel = std::make_unique<RowNorm>();
  kernel->rows = shape.before;
  kernel->n = shape.size;
  kernel->eps = eps;
  kernel->each = true;
  kernel->flops = 8.0 * static_cast<double>(call.in[0].size());
  return kernel;
}

std::unique_ptr<Kernel> bind_InstanceNorm(const Call& call) {
  auto kernel = images(call, call.in[0].shape[1]);
  kernel->third = Third::variance;
  return kernel;
}

std::unique_ptr<Kernel> bind_GroupNorm(const Call& call) {
  call.attrs.ignore("output_mean_var");
  const std::int64_t groups = call.attrs.integer("num_groups");
  want(groups > 0 && call.in[0].shape[1] % groups == 0);
  return images(call, groups);
}

}  // namespace gluonnx
