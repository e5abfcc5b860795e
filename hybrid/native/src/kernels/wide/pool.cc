#include "pool.h"

#include <cmath>

namespace gluonnx::wide {
namespace {

class Pool64 : public Kernel {
 public:
  Pool64(std::int64_t planes, std::vector<Windows> axes, const Pooling& pooling)
      : planes_(planes), deep_(axes[0]), high_(axes[1]), wide_(axes[2]), max_(pooling.fold == Fold::max), mean_(pooling.mean),
        power_(pooling.power) {
    how = "doubles";
    flops = static_cast<double>(planes * deep_.steps * high_.steps * wide_.steps) *
            static_cast<double>(deep_.kernel * high_.kernel * wide_.kernel);
  }

  void run(const Run& run) const override {
    const std::int64_t rows = deep_.steps * high_.steps, volume = deep_.size * high_.size * wide_.size;
    const double each = 20 + flops / static_cast<double>(std::max<std::int64_t>(planes_ * rows, 1));  // nanoseconds
    run.ranges(planes_ * rows, static_cast<std::int64_t>(10e3 / each) + 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double* in = run.input<double>(0) + i / rows * volume;
        double* out = run.output<double>() + i * wide_.steps;
        if (max_) row(in, out, i % rows / high_.steps, i % high_.steps, std::numeric_limits<double>::lowest(),
                      [](double all, double v) { return v > all ? v : all; });
        else if (power_ == 1) row(in, out, i % rows / high_.steps, i % high_.steps, 0, [](double all, double v) { return all + v; });
        else row(in, out, i % rows / high_.steps, i % high_.steps, 0,
                 [p = power_](double all, double v) { return all + (p == 2 ? v * v : v * v * v); });
      }
    });
  }

 private:
  template <class F>
  void row(const double* in, double* out, std::int64_t z, std::int64_t y, double start, F fold) const {
    for (std::int64_t x = 0; x < wide_.steps; ++x) {
      double all = start;
      for (std::int64_t d = deep_.begin[z]; d < deep_.end[z]; ++d)
        for (std::int64_t h = high_.begin[y]; h < high_.end[y]; ++h) {
          const double* from = in + (d * high_.size + h) * wide_.size;
          for (std::int64_t w = wide_.begin[x]; w < wide_.end[x]; ++w) all = fold(all, from[w]);
        }
      if (mean_) all /= static_cast<double>(deep_.count[z]) * high_.count[y] * wide_.count[x];
      out[x] = power_ == 3 ? std::cbrt(all) : power_ == 2 ? std::sqrt(all) : all;
    }
  }

  std::int64_t planes_;
  Windows deep_, high_, wide_;
  bool max_, mean_;
  int power_;
};

}  // namespace

__attribute__((cold)) std::unique_ptr<Kernel> pooling(std::int64_t planes, std::vector<Windows> axes, const Pooling& pooling) {
  return std::make_unique<Pool64>(planes, std::move(axes), pooling);
}

}  // namespace gluonnx::wide
