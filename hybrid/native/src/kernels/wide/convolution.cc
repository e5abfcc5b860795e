#include "convolution.h"

#include "product.h"

namespace gluonnx::wide {
namespace {

class Convolution : public Kernel {
 public:
  Convolution(const backward::Shape& shape, int bias, int threads) : s_(shape), bias_(bias) {
    depth_ = s_.group_channels() * s_.taps();
    pixels_ = backward::volume(s_.out);
    panels_ = (pixels_ + PANEL - 1) / PANEL;
    scratch = static_cast<std::size_t>(times(depth_, PANEL)) * sizeof(double) * threads;
    flops = s_.flops();
    how = "panels of doubles";
  }

  void run(const Run& run) const override {
    const Index each = s_.group_filters();
    const double cost = 10 + static_cast<double>(depth_) * (PANEL + 2.0 * static_cast<double>(each) * PANEL / 20);  // nanoseconds
    run.ranges(s_.batch * s_.groups * panels_, static_cast<Index>(10e3 / cost) + 1, [&](Index begin, Index end, int thread) {
      double* panel = reinterpret_cast<double*>(run.scratch) + thread * depth_ * PANEL;
      for (Index i = begin; i < end; ++i) {
        const Index group = i / panels_ % s_.groups, image = i / panels_ / s_.groups, first = i % panels_ * PANEL;
        const Index columns = std::min(PANEL, pixels_ - first);
        const double* data = run.input<double>(0) + (image * s_.channels + group * s_.group_channels()) * backward::volume(s_.in);
        fill(data, first, columns, panel);
        const Matrix weight{run.input<double>(1) + group * each * depth_, depth_, 1};
        Epilogue epilogue;
        if (bias_ >= 0) epilogue.row_bias = run.input<double>(bias_) + group * each;
        double* to = run.output<double>() + (image * s_.filters + group * each) * pixels_ + first;
        multiply_panel(weight, panel, each, depth_, columns, to, pixels_, epilogue);
      }
    });
  }

 private:
  // Windows of one row of results that lie side by side in a panel.
  struct Stretch {
    Index column, count, z, y, x;  // where the first looks for its first tap, which may lie outside the data
  };

  // What the windows of results [first, first + columns) see, a row for each channel and tap.
  void fill(const double* data, Index first, Index columns, double* to) const {
    Stretch stretches[PANEL];
    int count = 0;
    for (Index column = 0; column < columns;) {
      const Index pixel = first + column, x = pixel % s_.out[2], y = pixel / s_.out[2] % s_.out[1], z = pixel / s_.out[2] / s_.out[1];
      const Index some = std::min(columns - column, s_.out[2] - x);
      stretches[count++] = {column, some, z * s_.stride[0] - s_.pad[0], y * s_.stride[1] - s_.pad[1], x * s_.stride[2] - s_.pad[2]};
      column += some;
    }
    const Index plane = backward::volume(s_.in), step = s_.stride[2];
    for (Index c = 0; c < s_.group_channels(); ++c)
      for (Index kz = 0; kz < s_.kernel[0]; ++kz)
        for (Index ky = 0; ky < s_.kernel[1]; ++ky)
          for (Index kx = 0; kx < s_.kernel[2]; ++kx, to += PANEL) {
            if (columns < PANEL) std::fill(to + columns, to + PANEL, 0.);
            for (int i = 0; i < count; ++i) {
              const Stretch& s = stretches[i];
              const Index z = s.z + kz * s_.dilate[0], y = s.y + ky * s_.dilate[1], x = s.x + kx * s_.dilate[2];
              double* own = to + s.column;
              if (z < 0 || z >= s_.in[0] || y < 0 || y >= s_.in[1]) {
                std::fill(own, own + s.count, 0.);
                continue;
              }
              const double* row = data + c * plane + (z * s_.in[1] + y) * s_.in[2];
              if (x >= 0 && x + (s.count - 1) * step < s_.in[2])
                for (Index j = 0; j < s.count; ++j) own[j] = row[x + j * step];
              else
                for (Index j = 0; j < s.count; ++j) own[j] = x + j * step >= 0 && x + j * step < s_.in[2] ? row[x + j * step] : 0;
            }
          }
  }

  backward::Shape s_;
  int bias_;
  Index depth_, pixels_, panels_;
};

}  // namespace

std::unique_ptr<Kernel> convolution(const backward::Shape& shape, int bias, const Call& call) {
  want_doubles(call);
  return std::make_unique<Convolution>(shape, bias, call.threads);
}

}  // namespace gluonnx::wide
