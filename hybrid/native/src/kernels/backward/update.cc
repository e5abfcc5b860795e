// Steps of optimizers in one pass over memory: new weight and states from weight, gradient and states. Results may lie where
// the operands do.
#include <cmath>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

constexpr std::int64_t WORTH = 1 << 14;  // elements that are worth handing over

struct Numbers {
  float lr, wd, scale, clip, first, second, epsilon;
};
constexpr int NUMBERS = sizeof(Numbers) / sizeof(float);

// Scaled, and within its limits; NaN stays NaN.
inline float scaled(float grad, const Numbers& n) { return grad * n.scale; }
inline float clipped(float grad, const Numbers& n) {
  grad = -n.clip > grad ? -n.clip : grad;
  return n.clip < grad ? n.clip : grad;
}

template <bool CLIP>
inline float gradient(float grad, const Numbers& n) {
  return CLIP ? clipped(scaled(grad, n), n) : scaled(grad, n);
}

// Each is given weight and gradient, and changes the states and gives the weight.
struct Sgd {
  static constexpr int states = 0;
  template <bool CLIP>
  static float step(const Numbers& n, float weight, float grad, float*) {
    return weight - n.lr * (gradient<CLIP>(grad, n) + n.wd * weight);
  }
};

struct SgdMomentum {
  static constexpr int states = 1;
  template <bool CLIP>
  static float step(const Numbers& n, float weight, float grad, float* state) {
    state[0] = n.first * state[0] - n.lr * (gradient<CLIP>(grad, n) + n.wd * weight);
    return weight + state[0];
  }
};

struct Nag {
  static constexpr int states = 1;
  template <bool CLIP>
  static float step(const Numbers& n, float weight, float grad, float* state) {
    const float g = gradient<CLIP>(grad, n), step = n.lr * (g + n.wd * weight);
    const float made = weight + n.first * (n.first * state[0] - step) - step;
    state[0] = n.first * state[0] - n.lr * (g + n.wd * made);
    return made;
  }
};

struct Adam {
  static constexpr int states = 2;
  template <bool CLIP>
  static float step(const Numbers& n, float weight, float grad, float* state) {
    float g = scaled(grad, n) + n.wd * weight;
    if (CLIP) g = clipped(g, n);
    state[0] = n.first * state[0] + (1 - n.first) * g;
    state[1] = n.second * state[1] + (1 - n.second) * (g * g);
    return weight - n.lr * state[0] / (std::sqrt(state[1]) + n.epsilon);
  }
};

template <class Rule>
class Update : public Kernel {
 public:
  explicit Update(std::int64_t size) : size_(size) {}
  void run(const Run& run) const override {
    Numbers numbers;
    std::memcpy(&numbers, run.in[2 + Rule::states], sizeof numbers);
    run.ranges(size_, WORTH, [&](std::int64_t begin, std::int64_t end, int) {
      if (numbers.clip >= 0) go<true>(run, numbers, begin, end);
      else go<false>(run, numbers, begin, end);
    });
  }

 private:
  template <bool CLIP>
  static void go(const Run& run, const Numbers numbers, std::int64_t begin, std::int64_t end) {
    const float* weight = run.input<float>(0);
    const float* grad = run.input<float>(1);
    const float* from0 = Rule::states > 0 ? run.input<float>(2) : nullptr;
    const float* from1 = Rule::states > 1 ? run.input<float>(3) : nullptr;
    float* made = run.output<float>(0);
    float* to0 = Rule::states > 0 ? run.output<float>(1) : nullptr;
    float* to1 = Rule::states > 1 ? run.output<float>(2) : nullptr;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::int64_t i = begin; i < end; ++i) {
      float state[2];
      if (Rule::states > 0) state[0] = from0[i];
      if (Rule::states > 1) state[1] = from1[i];
      made[i] = Rule::template step<CLIP>(numbers, weight[i], grad[i], state);
      if (Rule::states > 0) to0[i] = state[0];
      if (Rule::states > 1) to1[i] = state[1];
    }
  }

  std::int64_t size_;
};

template <class Rule>
std::unique_ptr<Kernel> made(const Call& call) {
  if (call.in.size() != 3 + Rule::states || call.in.back().size() != NUMBERS) return nullptr;
  want_floats(call.in);
  want_floats(call.out);
  for (int i = 0; i < 2 + Rule::states; ++i) want_size(call.in[i], call.in[0].size());
  for (int i = 0; i < 1 + Rule::states; ++i) want_size(call.out[i], call.in[0].size());
  return std::make_unique<Update<Rule>>(call.in[0].size());
}

}  // namespace

std::unique_ptr<Kernel> bind_update(const Call& call) {
  const std::string rule = call.attrs.text("rule");
  std::unique_ptr<Kernel> kernel;
  if (rule == "sgd") kernel = made<Sgd>(call);
  if (rule == "sgd_momentum") kernel = made<SgdMomentum>(call);
  if (rule == "nag") kernel = made<Nag>(call);
  if (rule == "adam") kernel = made<Adam>(call);
  if (kernel) kernel->how = rule;
  return kernel;
}

}  // namespace gluonnx
