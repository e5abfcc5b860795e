// Support vector machines: how far rows are from vectors, _fused_distances; what machines for pairs of classes vote,
// _fused_pairs; and the probabilities of classes that follow from theirs, _fused_coupling.
#include <cmath>
#include <limits>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

std::int64_t grain_of(std::int64_t each) { return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, each)); }

class Distances : public Kernel {
 public:
  explicit Distances(const Call& call) {
    want(call.in.size() == 2 && call.out.size() == 1);
    for (const Tensor& t : {call.in[0], call.in[1], call.out[0]}) want(t.dtype == DType::f32 && t.rank() == 2);
    rows_ = call.in[0].shape[0], features_ = call.in[0].shape[1], vectors_ = call.in[1].shape[0];
    want(call.in[1].shape[1] == features_);
    want_size(call.out[0], times(rows_, vectors_));
    blocks_ = plus(vectors_, WIDTH - 1) / WIDTH;
    times(blocks_, WIDTH, plus(features_, 1));
    flops = 3.0 * static_cast<double>(rows_) * static_cast<double>(vectors_) * static_cast<double>(features_);
    how = "row by row";
  }

  void prepare(const void* const* in, Pool*) override {
    packed_ = in[1] != nullptr;
    if (packed_) vectors_packed_ = pack(static_cast<const float*>(in[1]));
  }
  bool reads(int input) const override { return input == 0 || !packed_; }

  void run(const Run& run) const override {
    if (packed_) return measure(run, vectors_packed_.data());
    measure(run, pack(run.input<float>(1)).data());
  }

 protected:
  bool take(const Kernel& other) override {
    const auto& from = static_cast<const Distances&>(other);
    if (!from.packed_ || from.vectors_ != vectors_ || from.features_ != features_) return false;
    vectors_packed_ = from.vectors_packed_, packed_ = true;
    return true;
  }

 private:
  static constexpr std::int64_t WIDTH = 16;

  // Vectors in groups, feature by feature; the last group is filled with zeros.
  std::vector<float> pack(const float* vectors) const {
    std::vector<float> made(static_cast<std::size_t>(blocks_ * WIDTH * features_), 0.0f);
    for (std::int64_t v = 0; v < vectors_; ++v)
      for (std::int64_t f = 0; f < features_; ++f)
        made[(v / WIDTH * features_ + f) * WIDTH + v % WIDTH] = vectors[v * features_ + f];
    return made;
  }

  void measure(const Run& run, const float* packed) const {
    const float* data = run.input<float>(0);
    float* out = run.output<float>();
    run.ranges(rows_, grain_of(vectors_ * features_), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = data + row * features_;
        for (std::int64_t block = 0; block < blocks_; ++block) {
          const float* group = packed + block * features_ * WIDTH;
          float sums[WIDTH] = {};
          for (std::int64_t f = 0; f < features_; ++f)
            for (std::int64_t i = 0; i < WIDTH; ++i) {
              const float between = x[f] - group[f * WIDTH + i];
              sums[i] += between * between;
            }
          const std::int64_t many = std::min(WIDTH, vectors_ - block * WIDTH);
          std::copy(sums, sums + many, out + row * vectors_ + block * WIDTH);
        }
      }
    });
  }

  std::int64_t rows_, features_, vectors_, blocks_;
  bool packed_ = false;
  std::vector<float> vectors_packed_;
};

class Pairs : public Kernel {
 public:
  explicit Pairs(const Call& call) {
    want(call.in.size() == 4 && call.out.size() == 2);
    for (const Tensor& t : {call.in[0], call.in[1], call.in[3], call.out[0]}) want(t.dtype == DType::f32);
    want(call.in[2].dtype == DType::i64 && call.out[1].dtype == DType::i64);
    want(call.in[0].rank() == 2 && call.in[2].rank() == 1);
    rows_ = call.in[0].shape[0], vectors_ = call.in[0].shape[1], classes_ = call.in[2].shape[0] - 1;
    want(classes_ >= 2 && classes_ <= 1 << 15);
    pairs_ = classes_ * (classes_ - 1) / 2;
    want_size(call.in[1], times(classes_ - 1, vectors_));
    want_size(call.in[3], pairs_);
    want_size(call.out[0], times(rows_, pairs_));
    want_size(call.out[1], rows_);
    sure = call.in[2].constant;
    flops = 2.0 * static_cast<double>(rows_) * static_cast<double>(vectors_) * static_cast<double>(classes_ - 1);
    scratch = static_cast<std::size_t>(times(call.threads, classes_, static_cast<std::int64_t>(sizeof(std::int32_t))));
    how = "row by row";
  }

  void prepare(const void* const* in, Pool*) override {
    if (in[2] && !fits(static_cast<const std::int64_t*>(in[2])))
      throw std::invalid_argument("classes have vectors that there are not");
  }

  void run(const Run& run) const override {
    const auto *near = run.input<float>(0), *weights = run.input<float>(1), *offsets = run.input<float>(3);
    const auto* starts = run.input<std::int64_t>(2);
    if (!sure) want_value(fits(starts));
    auto* scores = run.output<float>(0);
    auto* best = run.output<std::int64_t>(1);
    auto* counts = reinterpret_cast<std::int32_t*>(run.scratch);
    run.ranges(rows_, grain_of(vectors_ * classes_), [&](std::int64_t begin, std::int64_t end, int thread) {
      std::int32_t* votes = counts + thread * classes_;
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = near + row * vectors_;
        float* to = scores + row * pairs_;
        const float* offset = offsets;
        std::fill(votes, votes + classes_, 0);
        for (std::int64_t i = 0; i < classes_; ++i)
          for (std::int64_t j = i + 1; j < classes_; ++j) {
            const float score = product(x, weights + (j - 1) * vectors_, starts[i], starts[i + 1]) +
                                product(x, weights + i * vectors_, starts[j], starts[j + 1]) + *offset++;
            ++votes[score > 0 ? i : j];
            *to++ = score;
          }
        best[row] = std::max_element(votes, votes + classes_) - votes;
      }
    });
  }

 private:
  bool fits(const std::int64_t* starts) const {
    return starts[0] >= 0 && starts[classes_] <= vectors_ && std::is_sorted(starts, starts + classes_ + 1);
  }

  __attribute__((noinline))
  static float product(const float* x, const float* weights, std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t WIDTH = 8;
    float sums[WIDTH] = {}, rest = 0;
    for (; begin + WIDTH <= end; begin += WIDTH)
      for (std::int64_t k = 0; k < WIDTH; ++k) sums[k] += x[begin + k] * weights[begin + k];
    for (; begin < end; ++begin) rest += x[begin] * weights[begin];
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7])) + rest;
  }

  std::int64_t rows_, vectors_, classes_, pairs_;
};

// By the iteration of Wu, Lin and Weng 2004, algorithm 2, in double, as hybrid/ops/onnx/ml_machine.py has it.
class Coupling : public Kernel {
 public:
  explicit Coupling(const Call& call) {
    want(call.in.size() == 3 && call.out.size() == 1);
    for (const Tensor& t : {call.in[0], call.in[1], call.in[2], call.out[0]}) want(t.dtype == DType::f32);
    want(call.in[0].rank() == 2 && call.out[0].rank() == 2);
    rows_ = call.out[0].shape[0], classes_ = call.out[0].shape[1];
    want(classes_ >= 2 && classes_ <= 1 << 10 && call.attrs.integer("count") == classes_);
    pairs_ = classes_ * (classes_ - 1) / 2;
    want_size(call.in[0], times(rows_, pairs_));
    want_size(call.in[1], pairs_);
    want_size(call.in[2], pairs_);
    each_ = classes_ * (2 * classes_ + 2);
    scratch = static_cast<std::size_t>(times(call.threads, each_, static_cast<std::int64_t>(sizeof(double))));
    how = "row by row";
  }

  void run(const Run& run) const override {
    const auto *pairs = run.input<float>(0), *a = run.input<float>(1), *b = run.input<float>(2);
    float* out = run.output<float>();
    auto* memory = reinterpret_cast<double*>(run.scratch);
    run.ranges(rows_, grain_of(64 * classes_ * classes_), [&](std::int64_t begin, std::int64_t end, int thread) {
      double* own = memory + thread * each_;
      for (std::int64_t row = begin; row < end; ++row) couple(pairs + row * pairs_, a, b, own, out + row * classes_);
    });
  }

 private:
  void couple(const float* pairs, const float* a, const float* b, double* memory, float* out) const {
    const std::int64_t n = classes_;
    double *rate = memory, *q = rate + n * n, *p = q + n * n, *qp = p + n;
    for (std::int64_t i = 0, pair = 0; i < n; ++i) {
      rate[i * n + i] = 0;
      for (std::int64_t j = i + 1; j < n; ++j, ++pair) {
        const double x = static_cast<double>(pairs[pair]) * static_cast<double>(a[pair]) + static_cast<double>(b[pair]);
        double found = 1 - 1 / (1 + std::exp(-x));
        if (found < 1e-7) found = 1e-7;  // NaN stays
        if (found > 1 - 1e-7) found = 1 - 1e-7;
        rate[i * n + j] = found, rate[j * n + i] = 1 - found;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      double squares = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        q[i * n + j] = -rate[j * n + i] * rate[i * n + j];
        squares += rate[j * n + i] * rate[j * n + i];
      }
      q[i * n + i] = squares;
    }
    std::fill(p, p + n, 1.0 / static_cast<double>(n));
    const std::int64_t most = std::max<std::int64_t>(100, n);
    for (std::int64_t turn = 0; turn < most; ++turn) {
      double total = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        qp[i] = 0;
        for (std::int64_t j = 0; j < n; ++j) qp[i] += q[i * n + j] * p[j];
        total += p[i] * qp[i];
      }
      double off = 0;
      bool known = true;
      for (std::int64_t i = 0; i < n; ++i) {
        off = std::max(off, std::abs(qp[i] - total));
        known = known && !std::isnan(qp[i] - total);
      }
      if (!known || off < 0.005 / static_cast<double>(n)) break;
      for (std::int64_t t = 0; t < n; ++t) {
        const double own = q[t * n + t], step = (total - qp[t]) / own, whole = 1 + step;
        p[t] += step;
        total = (total + step * (step * own + 2 * qp[t])) / (whole * whole);
        for (std::int64_t i = 0; i < n; ++i) qp[i] = (qp[i] + step * q[i * n + t]) / whole, p[i] /= whole;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(p[i]);
  }

  std::int64_t rows_, classes_, pairs_, each_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_distances(const Call& call) { return std::make_unique<Distances>(call); }
std::unique_ptr<Kernel> bind_fused_pairs(const Call& call) { return std::make_unique<Pairs>(call); }
std::unique_ptr<Kernel> bind_fused_coupling(const Call& call) { return std::make_unique<Coupling>(call); }

}  // namespace gluonnx
