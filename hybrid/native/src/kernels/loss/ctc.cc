// CTCLoss and its gradient: what is computed is ops/loss_heads.py's, in float64, a sequence at a time.
#include <cmath>
#include <limits>
#include <vector>

#include "../move/index.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;
constexpr double NEVER = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double either(double a, double b) {
  if (a == b) return a + 0.693147180559945309417232121458176568;
  const double apart = a - b;
  if (apart > 0) return a + std::log1p(std::exp(-apart));
  if (apart <= 0) return b + std::log1p(std::exp(apart));
  return apart;
}

// One sequence of a batch: its label with blanks around every class, and where it ends.
struct Lattice {
  std::vector<Index> symbols;
  std::vector<char> skips;  // whether a symbol may follow the one before the last directly
  Index size = 0, span = 0;
  bool possible = false;  // there are steps enough for the label
};

class Ctc : public Kernel {
 public:
  Ctc(const Call& call, bool back) : back_(back), label_(back + 1), labels_(call.in[back + 1].dtype), wide_(call.in[back].dtype == DType::f64) {
    const Attrs& attrs = call.attrs;
    const Tensor &data = call.in[back], &label = call.in[label_];
    int next = label_ + 1;
    if (attrs.flag("use_data_lengths")) spans_ = next++;
    if (attrs.flag("use_label_lengths")) sizes_ = next++;
    first_ = attrs.text("blank_label") == "first";
    want(data.rank() == 3 && label.rank() == 2 && static_cast<int>(call.in.size()) == next);
    steps_ = data.shape[0], batch_ = data.shape[1], classes_ = data.shape[2], most_ = label.shape[1];
    want(steps_ > 0 && classes_ > 0 && label.shape[0] == batch_ && call.out[0].dtype == data.dtype);
    want(Positions::can(label.dtype));
    for (int i : {spans_, sizes_})
      if (i >= 0) {
        want(Positions::can(call.in[i].dtype));
        want_size(call.in[i], batch_);
        (i == spans_ ? spans_type_ : sizes_type_) = call.in[i].dtype;
      }
    if (back) want_shape(call.out[0], data.shape), want_size(call.in[0], batch_), want(call.in[0].dtype == data.dtype);
    else want_size(call.out[0], batch_);
    sure = false;
    how = "sequences";
  }

  void run(const Run& run) const override {
    std::vector<Lattice> lattices(static_cast<std::size_t>(batch_));
    for (Index n = 0; n < batch_; ++n) read(run, n, lattices[n]);
    run.ranges(batch_, 1, [&](Index begin, Index end, int) {
      for (Index n = begin; n < end; ++n)
        if (back_) backward(run, n, lattices[n]);
        else if (wide_) run.output<double>()[n] = loss(run, n, lattices[n]);
        else run.output<float>()[n] = static_cast<float>(loss(run, n, lattices[n]));
    });
  }

 private:
  void read(const Run& run, Index n, Lattice& to) const {
    std::vector<Index> label(static_cast<std::size_t>(most_));
    labels_.read(run.in[label_], n * most_, most_, label.data());
    const Index blank = first_ ? 0 : classes_ - 1, padding = first_ ? 0 : -1;
    to.span = steps_;
    if (spans_ >= 0) Positions(spans_type_).read(run.in[spans_], n, 1, &to.span);
    if (sizes_ >= 0) Positions(sizes_type_).read(run.in[sizes_], n, 1, &to.size);
    else
      while (to.size < most_ && label[to.size] != padding) ++to.size;
    want_value(to.size >= 0 && to.size <= most_);
    to.symbols.assign(static_cast<std::size_t>(2 * most_ + 1), blank);
    to.skips.assign(static_cast<std::size_t>(2 * most_ + 1), 0);
    Index equal = 0;
    for (Index i = 0; i < most_; ++i) {
      const Index one = i < to.size ? label[i] : padding;
      want_value(one < classes_);
      to.symbols[2 * i + 1] = one < 0 ? blank : one;
      if (i == 0) continue;
      to.skips[2 * i + 1] = to.symbols[2 * i + 1] != to.symbols[2 * i - 1];
      equal += !to.skips[2 * i + 1] && i < to.size;
    }
    to.possible = to.size + equal <= to.span;
  }

  // The logarithms of softmax at a step; gives exp of each less the greatest, too.
  void logs(const Run& run, Index n, Index step, double* log, double* share = nullptr) const {
    const Index row = (step * batch_ + n) * classes_;
    if (wide_) std::copy_n(run.input<double>(back_) + row, classes_, log);
    else std::copy_n(run.input<float>(back_) + row, classes_, log);
    double most = NEVER, sum = 0;
    for (Index c = 0; c < classes_; ++c) most = log[c] > most || log[c] != log[c] ? log[c] : most;
    for (Index c = 0; c < classes_; ++c) {
      log[c] -= most;
      const double power = std::exp(log[c]);
      sum += power;
      if (share) share[c] = power;
    }
    const double less = std::log(sum);
    for (Index c = 0; c < classes_; ++c) {
      log[c] -= less;
      if (share) share[c] /= sum;
    }
  }

  // How likely it is to have come to each symbol after a step, of how likely it was before; given what is in `alpha` already.
  static void advance(const Lattice& of, Index step, const double* log, const double* before, double* alpha) {
    const auto count = static_cast<Index>(of.symbols.size());
    for (Index s = 0; s < count; ++s) {
      double total = before[s];
      if (step) {
        total = either(total, s > 0 ? before[s - 1] : NEVER);
        total = either(total, s > 1 && of.skips[s] ? before[s - 2] : NEVER);
      }
      alpha[s] = step < of.span ? total + log[of.symbols[s]] : before[s];
    }
  }
  static void begin(std::vector<double>& alpha) {
    std::fill(alpha.begin(), alpha.end(), NEVER);
    std::fill(alpha.begin(), alpha.begin() + std::min<Index>(2, static_cast<Index>(alpha.size())), 0.);
  }

  double loss(const Run& run, Index n, const Lattice& of) const {
    if (!of.possible) return 0;
    std::vector<double> log(static_cast<std::size_t>(classes_)), before(of.symbols.size()), alpha(of.symbols.size());
    begin(before);
    for (Index step = 0; step < steps_; ++step) {
      logs(run, n, step, log.data());
      advance(of, step, log.data(), before.data(), alpha.data());
      before.swap(alpha);
    }
    return -either(before[2 * of.size], of.size ? before[2 * of.size - 1] : NEVER);
  }

  void backward(const Run& run, Index n, const Lattice& of) const {
    const auto count = static_cast<Index>(of.symbols.size());
    const double dy = wide_ ? run.input<double>(0)[n] : run.input<float>(0)[n];
    // dx null: zeros
    auto put = [&](Index step, const double* dx) {
      const Index row = (step * batch_ + n) * classes_;
      for (Index c = 0; c < classes_; ++c) {
        const double value = (dx ? dx[c] : 0) * dy;
        if (wide_) run.output<double>()[row + c] = value;
        else run.output<float>()[row + c] = static_cast<float>(value);
      }
    };
    if (!of.possible) {
      for (Index step = 0; step < steps_; ++step) put(step, nullptr);
      return;
    }
    std::vector<double> log(static_cast<std::size_t>(steps_ * classes_)), share(log.size());
    std::vector<double> alphas(static_cast<std::size_t>(steps_ * count)), before(of.symbols.size());
    begin(before);
    for (Index step = 0; step < steps_; ++step) {
      logs(run, n, step, &log[step * classes_], &share[step * classes_]);
      advance(of, step, &log[step * classes_], step ? &alphas[(step - 1) * count] : before.data(), &alphas[step * count]);
    }
    std::vector<double> beta(of.symbols.size(), NEVER), later(of.symbols.size());
    double total = NEVER;
    for (Index s = 0; s < count; ++s) {
      const bool end = s == 2 * of.size || s == 2 * of.size - 1;
      if (end) beta[s] = 0;
      const double there = end ? alphas[(steps_ - 1) * count + s] : NEVER;
      total = s ? either(total, there) : there;
    }
    for (Index step = steps_ - 1; step >= 0; --step) {
      if (step + 1 < std::min(steps_, of.span)) {
        for (Index s = 0; s < count; ++s) later[s] = beta[s] + log[(step + 1) * classes_ + of.symbols[s]];
        for (Index s = 0; s < count; ++s) {
          beta[s] = either(later[s], s + 1 < count ? later[s + 1] : NEVER);
          beta[s] = either(beta[s], s + 2 < count && of.skips[s + 2] ? later[s + 2] : NEVER);
        }
      }
      if (step >= of.span) {
        put(step, nullptr);
        continue;
      }
      double* dx = &share[step * classes_];
      for (Index s = 0; s < count; ++s) dx[of.symbols[s]] -= std::exp(alphas[step * count + s] + beta[s] - total);
      put(step, dx);
    }
  }

  bool back_, first_;
  int label_, spans_ = -1, sizes_ = -1;
  DType spans_type_ = DType::i64, sizes_type_ = DType::i64;
  Positions labels_;
  bool wide_;  // float64
  Index steps_, batch_, classes_, most_;
};

std::unique_ptr<Kernel> ctc(const Call& call, bool back) {
  const DType dtype = call.in[back].dtype;
  if (dtype != DType::f32 && dtype != DType::f64) return nullptr;
  return std::make_unique<Ctc>(call, back);
}

}  // namespace

std::unique_ptr<Kernel> bind_ctc_loss(const Call& call) { return ctc(call, false); }
std::unique_ptr<Kernel> bind_ctc_loss_back(const Call& call) { return ctc(call, true); }

}  // namespace gluonnx
