// _contrib_BilinearResize2D and its gradient. A new pixel lies between two old ones in either direction.
#include <cmath>

#include "move.h"

namespace gluonnx {
namespace {

// For every new pixel along an axis the two old ones it lies between, and its part of the way.
struct Between {
  std::int64_t old, size;
  std::vector<std::int32_t> low, high;
  std::vector<float> near, far;  // weights of the two

  Between(std::int64_t old, std::int64_t size, bool corners) : old(old), size(size) {
    for (std::int64_t i = 0; i < size; ++i) {
      const auto n = static_cast<double>(old), m = static_cast<double>(size), at = static_cast<double>(i);
      double position = at;
      if (old != size && size == 1) position = 0;
      else if (old != size) position = corners ? at * ((n - 1) / (m - 1)) : std::max((at + 0.5) * (n / m) - 0.5, 0.0);
      const std::int64_t first = std::min(static_cast<std::int64_t>(position), old - 1);
      low.push_back(static_cast<std::int32_t>(first));
      high.push_back(static_cast<std::int32_t>(std::min(first + 1, old - 1)));
      far.push_back(static_cast<float>(position - static_cast<double>(first)));
      near.push_back(1.f - far.back());
    }
  }
};

class Resize : public Kernel {
 public:
  Resize(const Tensor& in, const Tensor& out, bool corners, int threads)
      : planes_(in.shape[0] * in.shape[1]),
        rows_(in.shape[2], out.shape[2], corners),
        columns_(in.shape[3], out.shape[3], corners),
        row_((out.shape[3] + BLOCK - 1) / BLOCK * BLOCK) {
    how = "rows";
    flops = 6.0 * static_cast<double>(out.size());
    scratch = static_cast<std::size_t>(2 * row_ * threads) * sizeof(float);
  }

  void run(const Run& run) const override {
    const std::int64_t wide = columns_.size;
    run.ranges(planes_ * rows_.size, grain_of(wide * 16), [&](std::int64_t begin, std::int64_t end, int thread) {
      // the two old rows in their new width, of which consecutive new rows need one or both again
      float* memory = reinterpret_cast<float*>(run.scratch) + thread * 2 * row_;
      float* held[2] = {memory, memory + row_};
      std::int64_t which[2] = {-1, -1};
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t plane = i / rows_.size, y = i % rows_.size;
        const std::int64_t low = plane * rows_.old + rows_.low[y], high = plane * rows_.old + rows_.high[y];
        if (which[1] == low) std::swap(held[0], held[1]), std::swap(which[0], which[1]);
        if (which[0] != low) across(run.input<float>(0) + low * columns_.old, held[0]), which[0] = low;
        float* out = run.output<float>() + i * wide;
        if (rows_.far[y] == 0 && rows_.old == rows_.size) {
          std::copy(held[0], held[0] + wide, out);
          continue;
        }
        if (which[1] != high) across(run.input<float>(0) + high * columns_.old, held[1]), which[1] = high;
        const float near = rows_.near[y], far = rows_.far[y];
        const float* __restrict a = held[0], * __restrict b = held[1];
        for (std::int64_t x = 0; x < wide; ++x) out[x] = a[x] * near + b[x] * far;
      }
    });
  }

 private:
  void across(const float* __restrict from, float* __restrict to) const {
    if (columns_.old == columns_.size) return static_cast<void>(std::copy(from, from + columns_.size, to));
    const std::int32_t *low = columns_.low.data(), *high = columns_.high.data();
    const float *near = columns_.near.data(), *far = columns_.far.data();
    for (std::int64_t x = 0; x < columns_.size; ++x) to[x] = from[low[x]] * near[x] + from[high[x]] * far[x];
  }

  std::int64_t planes_;
  Between rows_, columns_;
  std::int64_t row_;
};

class ResizeBack : public Kernel {
 public:
  ResizeBack(const Tensor& dy, const Tensor& dx, bool corners, int threads)
      : planes_(dx.shape[0] * dx.shape[1]),
        rows_(dx.shape[2], dy.shape[2], corners),
        columns_(dx.shape[3], dy.shape[3], corners),
        row_((dx.shape[3] + BLOCK - 1) / BLOCK * BLOCK) {
    how = "rows";
    flops = 6.0 * static_cast<double>(dy.size());
    scratch = static_cast<std::size_t>(row_ * threads) * sizeof(float);
  }

  void run(const Run& run) const override {
    const std::int64_t wide = columns_.old, area = rows_.old * wide;
    run.ranges(planes_, grain_of(rows_.size * columns_.size * 16), [&](std::int64_t begin, std::int64_t end, int thread) {
      float* row = reinterpret_cast<float*>(run.scratch) + thread * row_;
      float* dx = run.output<float>();
      std::fill(dx + begin * area, dx + end * area, 0.f);
      for (std::int64_t p = begin; p < end; ++p)
        for (std::int64_t y = 0; y < rows_.size; ++y) {
          const float* dy = run.input<float>(0) + (p * rows_.size + y) * columns_.size;
          std::fill(row, row + wide, 0.f);
          for (std::int64_t x = 0; x < columns_.size; ++x) {
            row[columns_.low[x]] += dy[x] * columns_.near[x];
            if (columns_.far[x] != 0) row[columns_.high[x]] += dy[x] * columns_.far[x];
          }
          add(row, rows_.near[y], dx + p * area + rows_.low[y] * wide);
          if (rows_.far[y] != 0) add(row, rows_.far[y], dx + p * area + rows_.high[y] * wide);
        }
    });
  }

 private:
  void add(const float* __restrict row, float weight, float* __restrict to) const {
    for (std::int64_t x = 0; x < columns_.old; ++x) to[x] += row[x] * weight;
  }

  std::int64_t planes_;
  Between rows_, columns_;
  std::int64_t row_;
};

bool corners(const Attrs& attrs) {
  attrs.ignore("height", "width", "scale_height", "scale_width", "mode");  // the shapes tell
  return attrs.flag("align_corners");
}

bool fits(const Tensor& a, const Tensor& b) {
  want(a.rank() == 4 && b.rank() == 4 && a.shape[0] == b.shape[0] && a.shape[1] == b.shape[1]);
  return a.dtype == b.dtype && a.shape[2] && a.shape[3] && b.shape[2] && b.shape[3];
}

}  // namespace

std::unique_ptr<Kernel> bind_bilinear_resize(const Call& call) {
  const bool align = corners(call.attrs);
  if (!fits(call.in[0], call.out[0])) return nullptr;
  return std::make_unique<Resize>(call.in[0], call.out[0], align, call.threads);
}

std::unique_ptr<Kernel> bind_bilinear_resize_back(const Call& call) {
  const bool align = corners(call.attrs);
  if (call.attrs.integer("of") != 0 || !fits(call.in[0], call.out[0])) return nullptr;
  return std::make_unique<ResizeBack>(call.in[0], call.out[0], align, call.threads);
}

}  // namespace gluonnx
