// L2Normalization and LRN: what divides an element is made of the squares of its neighbours.
#include "common.h"

namespace gluonnx {
namespace {

class L2Normalization : public Kernel {
 public:
  L2Normalization(const Call& call, const std::string& mode) : shape_(call.in[0].shape, 1) {
    eps_ = static_cast<float>(call.attrs.real("eps"));
    const auto& shape = call.in[0].shape;
    want_floats(call);
    want_size(call.out[0], shape_.all());
    across_ = mode == "channel";
    if (across_) want_size(call.out[1], shape_.before * shape_.after);
    if (across_) return;
    rows_ = mode == "instance" ? shape[0] : shape[0] * shape[1];
    n_ = rows_ ? call.in[0].size() / rows_ : 0;
    want_size(call.out[1], rows_);
  }

  void run(const Run& run) const override {
    const float* x = run.input<float>(0);
    float *y = run.output<float>(0), *norms = run.output<float>(1);
    if (!across_) {
      run.ranges(rows_, static_cast<std::int64_t>(20e3 / (0.2 * static_cast<double>(n_) + 20)) + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) row(x + i * n_, y + i * n_, norms + i);
                 });
      return;
    }
    const std::int64_t pieces = (shape_.after + COLUMNS - 1) / COLUMNS;
    const double cost = 0.3 * static_cast<double>(shape_.size * std::min(shape_.after, COLUMNS)) + 50;
    run.ranges(shape_.before * pieces, static_cast<std::int64_t>(20e3 / cost) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   std::int64_t image = i / pieces, start = i % pieces * COLUMNS;
                   std::int64_t at = image * shape_.size * shape_.after + start;
                   columns(x + at, y + at, norms + image * shape_.after + start, std::min(COLUMNS, shape_.after - start));
                 }
               });
  }

 private:
  void row(const float* x, float* y, float* norm) const {
    double squares = sum_over(n_, [&](std::int64_t i, auto k) {
      Reg v = get(x + i, k);
      return v * v;
    });
    *norm = std::sqrt(static_cast<float>(squares) + eps_);
    const float factor = *norm;
    each_vector(n_, [&](std::int64_t i, auto k) { put(y + i, get(x + i, k) / factor, k); });
  }

  void columns(const float* x, float* y, float* norms, std::int64_t width) const {
    alignas(64) float part[COLUMNS];
    std::fill(part, part + width, 0.f);
    std::fill(norms, norms + width, 0.f);
    for (std::int64_t c = 0; c < shape_.size; ++c) {
      each_vector(width, [&](std::int64_t j, auto k) {
        Reg v = get(x + c * shape_.after + j, k);
        put(part + j, get(part + j, k) + v * v, k);
      });
      if (c % 64 < 63 && c + 1 < shape_.size) continue;
      each_vector(width, [&](std::int64_t j, auto k) {
        put(norms + j, get(norms + j, k) + get(part + j, k), k);
        put(part + j, Reg{}, k);
      });
    }
    each_vector(width, [&](std::int64_t j, auto k) { put(norms + j, sqrt(get(norms + j, k) + eps_), k); });
    for (std::int64_t c = 0; c < shape_.size; ++c)
      each_vector(width, [&](std::int64_t j, auto k) {
        std::int64_t at = c * shape_.after + j;
        put(y + at, get(x + at, k) / get(norms + j, k), k);
      });
  }

  AxisSplit shape_;
  float eps_ = 0;
  bool across_ = false;  // the sum is over axis 1, with others behind it
  std::int64_t rows_ = 0, n_ = 0;
};

// x / (knorm + alpha / nsize * sum of the squares of the channels around) ** beta
class LRN : public Kernel {
 public:
  explicit LRN(const Call& call) : shape_(call.in[0].shape, 1) {
    const Attrs& attrs = call.attrs;
    const std::int64_t size = attrs.integer("nsize");
    want_floats(call);
    want(size >= 1);
    for (int i : {0, 1}) want_size(call.out[i], shape_.all());
    reach_ = std::min((size - 1) / 2, shape_.size);
    scale_ = static_cast<float>(attrs.real("alpha") / static_cast<double>(size));
    knorm_ = static_cast<float>(attrs.real("knorm"));
    beta_ = static_cast<float>(attrs.real("beta"));
  }

  void run(const Run& run) const override {
    const float* x = run.input<float>(0);
    float *y = run.output<float>(0), *norms = run.output<float>(1);
    const double cost = (1.5 + 0.1 * static_cast<double>(reach_)) * static_cast<double>(shape_.after);
    run.ranges(shape_.before * shape_.size, static_cast<std::int64_t>(20e3 / (cost + 20)) + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t c = i % shape_.size, image = i - c;
                   const std::int64_t from = image + std::max<std::int64_t>(c - reach_, 0);
                   const std::int64_t to = image + std::min(c + reach_, shape_.size - 1);
                   plane(x, from * shape_.after, to * shape_.after, i * shape_.after, y, norms);
                 }
               });
  }

 private:
  void plane(const float* x, std::int64_t from, std::int64_t to, std::int64_t at, float* y, float* norms) const {
    each_vector(shape_.after, [&](std::int64_t j, auto k) {
      Reg squares = {};
      for (std::int64_t near = from; near <= to; near += shape_.after) {
        Reg v = get(x + near + j, k);
        squares += v * v;
      }
      Reg norm = squares * scale_ + knorm_;
      put(norms + at + j, norm, k);
      put(y + at + j, get(x + at + j, k) * power(norm), k);
    });
  }

  // norm ** -beta
  Reg power(Reg norm) const {
    if (beta_ == 0.75f) {  // the usual one, by roots
      Reg root = sqrt(norm);
      return 1.f / (root * sqrt(root));
    }
    return pow(norm, splat_reg(-beta_));
  }

  AxisSplit shape_;
  std::int64_t reach_;
  float scale_, knorm_, beta_;
};

}  // namespace

std::unique_ptr<Kernel> bind_L2Normalization(const Call& call) {
  return std::make_unique<L2Normalization>(call, call.attrs.text("mode"));
}

std::unique_ptr<Kernel> bind_LRN(const Call& call) { return std::make_unique<LRN>(call); }

}  // namespace gluonnx
