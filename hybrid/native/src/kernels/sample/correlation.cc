// Correlation: likeness of patches of two maps, one plane for each displacement of the second.
#include <cmath>

#include "../move/move.h"

namespace gluonnx {
namespace {

class Correlation : public Kernel {
 public:
  explicit Correlation(const Call& call) {
    const Attrs& attrs = call.attrs;
    want_floats(call.in);
    want_floats(call.out);
    constexpr std::int64_t LARGEST = 1 << 20;
    kernel_ = attrs.integer("kernel_size"), stride_ = attrs.integer("stride1"), pad_ = attrs.integer("pad_size");
    reach_ = attrs.integer("max_displacement"), step_ = attrs.integer("stride2"), product_ = attrs.flag("is_multiply");
    for (std::int64_t n : {kernel_, stride_, step_}) want(n >= 1 && n <= LARGEST);
    for (std::int64_t n : {pad_, reach_}) want(n >= 0 && n <= LARGEST);
    const auto &shape = call.in[0].shape, &out = call.out[0].shape;
    want(shape.size() == 4 && out.size() == 4 && call.in[1].shape == shape && out[0] == shape[0]);
    batch_ = shape[0], channels_ = shape[1], height_ = shape[2], width_ = shape[3], rows_ = out[2], columns_ = out[3];
    each_ = 2 * (reach_ / step_) + 1;
    want(out[1] == times(each_, each_) && channels_ > 0);
    whole_height_ = plus(height_, 2 * pad_), whole_width_ = plus(width_, 2 * pad_);
    high_ = whole_height_ - 2 * reach_, wide_ = whole_width_ - 2 * reach_;
    want(rows_ > 0 && columns_ > 0 && times(rows_ - 1, stride_) + kernel_ <= high_ && times(columns_ - 1, stride_) + kernel_ <= wide_);
    const std::int64_t map = times(whole_height_, whole_width_, channels_);
    padded_ = aligned(times(map, 2, batch_, sizeof(float)));
    plane_ = aligned(times(kernel_ == 1 ? 1 : high_, wide_, sizeof(float)));
    scratch = plus(padded_, times(plane_, call.threads));
    how = "planes";
    flops = 2.0 * static_cast<double>(call.out[0].size()) * static_cast<double>(channels_);
  }

  void run(const Run& run) const override {
    const std::int64_t map = whole_height_ * whole_width_, planes = batch_ * channels_;
    float* padded = reinterpret_cast<float*>(run.scratch);
    run.ranges(2 * planes, grain_of(map * 8), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float* from = run.input<float>(i < planes ? 0 : 1) + i % planes * height_ * width_;
        float* to = padded + i * map;
        std::fill(to, to + map, 0.f);
        for (std::int64_t y = 0; y < height_; ++y) std::copy_n(from + y * width_, width_, to + (y + pad_) * whole_width_ + pad_);
      }
    });
    const std::int64_t count = each_ * each_;
    run.ranges(batch_ * count, grain_of(high_ * wide_ * channels_ * 8), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* plane = reinterpret_cast<float*>(run.scratch + padded_ + thread * plane_);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t n = i / count, dy = (i % count / each_ - reach_ / step_) * step_, dx = (i % each_ - reach_ / step_) * step_;
        const float* a = padded + n * channels_ * map + reach_ * whole_width_ + reach_;
        const float* b = a + planes * map + dy * whole_width_ + dx;
        float* out = run.output<float>() + i * rows_ * columns_;
        if (kernel_ == 1) {
          for (std::int64_t y = 0; y < rows_; ++y) {
            row(a + y * stride_ * whole_width_, b + y * stride_ * whole_width_, map, plane);
            for (std::int64_t x = 0; x < columns_; ++x) out[y * columns_ + x] = plane[x * stride_];
          }
          continue;
        }
        for (std::int64_t y = 0; y < high_; ++y) row(a + y * whole_width_, b + y * whole_width_, map, plane + y * wide_);
        patches(plane, out);
      }
    });
  }

 private:
  // The likeness of a row, the mean over channels, which lie `map` apart.
  void row(const float* a, const float* b, std::int64_t map, float* __restrict to) const {
    std::fill(to, to + wide_, 0.f);
    for (std::int64_t c = 0; c < channels_; ++c, a += map, b += map) {
      const float *__restrict p = a, *__restrict q = b;
      if (product_)
        for (std::int64_t x = 0; x < wide_; ++x) to[x] += p[x] * q[x];
      else
        for (std::int64_t x = 0; x < wide_; ++x) to[x] += std::abs(p[x] - q[x]);
    }
    const auto count = static_cast<float>(channels_);
    for (std::int64_t x = 0; x < wide_; ++x) to[x] /= count;
  }

  void patches(const float* plane, float* out) const {
    const auto count = static_cast<float>(kernel_ * kernel_);
    for (std::int64_t y = 0; y < rows_; ++y)
      for (std::int64_t x = 0; x < columns_; ++x) {
        float sum = 0;
        for (std::int64_t r = 0; r < kernel_; ++r) {
          const float* line = plane + (y * stride_ + r) * wide_ + x * stride_;
          for (std::int64_t c = 0; c < kernel_; ++c) sum += line[c];
        }
        *out++ = sum / count;
      }
  }

  std::int64_t batch_, channels_, height_, width_, rows_, columns_;
  std::int64_t kernel_, stride_, pad_, reach_, step_, each_;              // each: displacements along an axis
  std::int64_t whole_height_, whole_width_, high_, wide_;                 // of a padded map, and of its middle
  std::size_t padded_, plane_;
  bool product_;
};

}  // namespace

std::unique_ptr<Kernel> bind_correlation(const Call& call) { return std::make_unique<Correlation>(call); }

}  // namespace gluonnx
