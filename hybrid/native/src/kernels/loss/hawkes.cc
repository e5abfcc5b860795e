// hawkesll: the log likelihood of marked Hawkes processes, a sample at a time, in float64.
#include <cmath>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

constexpr double LARGE = 1e9;  // times and rates from which on sums depend on the order, NaN and infinities too, are NumPy's

template <class T>
class Hawkes : public Kernel {
 public:
  explicit Hawkes(const Call& call) {
    want(call.in.size() == 8 && call.out.size() == 2 && call.in[0].rank() == 2 && call.in[4].rank() == 2);
    samples_ = call.in[0].shape[0], kinds_ = call.in[0].shape[1], steps_ = call.in[4].shape[1];
    const std::vector<Index> states{samples_, kinds_}, lags{samples_, steps_};
    for (int i = 0; i < 8; ++i) want(call.in[i].dtype == (i == 5 ? DType::i32 : call.in[0].dtype));
    for (int i : {1, 2}) want_size(call.in[i], kinds_);
    for (int i : {6, 7}) want_size(call.in[i], samples_);
    want_shape(call.in[3], states), want_shape(call.in[4], lags), want_shape(call.in[5], lags);
    want_size(call.out[0], samples_), want_shape(call.out[1], states);
    want(call.out[0].dtype == call.in[0].dtype && call.out[1].dtype == call.in[0].dtype);
    sure = false;
    how = "samples";
  }

  void run(const Run& run) const override {
    const auto* marks = run.input<std::int32_t>(5);
    for (Index n = 0; n < samples_; ++n)
      for (Index j = 0; j < steps_; ++j)
        want_value(!(static_cast<T>(j) < run.input<T>(6)[n]) || (marks[n * steps_ + j] >= 0 && marks[n * steps_ + j] < kinds_));
    const Index sizes[] = {samples_ * kinds_, kinds_, kinds_, samples_ * kinds_, samples_ * steps_, 0, samples_, samples_};
    for (int i = 0; i < 8; ++i)
      for (Index j = 0; j < sizes[i]; ++j) want_value(std::fabs(run.input<T>(i)[j]) < LARGE);
    run.ranges(samples_, 1 + 1000 / (steps_ + kinds_ + 1), [&](Index begin, Index end, int) {
      for (Index n = begin; n < end; ++n) sample(run, n);
    });
  }

 private:
  void sample(const Run& run, Index n) const {
    auto at = [&](int input, Index i) { return static_cast<double>(run.input<T>(input)[i]); };
    std::vector<double> state(static_cast<std::size_t>(kinds_)), last(state.size());
    for (Index k = 0; k < kinds_; ++k) state[k] = at(3, n * kinds_ + k);
    double total = 0, time = 0;
    for (Index j = 0; j < steps_; ++j) {
      if (!(static_cast<double>(j) < at(6, n))) continue;
      const Index m = run.input<std::int32_t>(5)[n * steps_ + j];
      time += at(4, n * steps_ + j);
      const double since = time - last[m], left = std::exp(-at(2, m) * since), past = at(1, m) * state[m];
      const double rate = at(0, n * kinds_ + m);
      total += std::log(rate + at(2, m) * past * left) - rate * since - past * (1 - left);
      state[m] = 1 + state[m] * left;
      last[m] = time;
    }
    for (Index k = 0; k < kinds_; ++k) {
      const double since = at(7, n) - last[k], left = std::exp(-at(2, k) * since);
      total -= at(0, n * kinds_ + k) * since + at(1, k) * state[k] * (1 - left);
      run.output<T>(1)[n * kinds_ + k] = static_cast<T>(left * state[k]);
    }
    run.output<T>(0)[n] = static_cast<T>(total);
  }

  Index samples_, kinds_, steps_;
};

}  // namespace

std::unique_ptr<Kernel> bind_hawkesll(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<Hawkes<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<Hawkes<double>>(call);
  return nullptr;
}

}  // namespace gluonnx
