// Boxes in pairs: their overlaps, offsets from one to the other and back, and anchors laid over a map.
#include <cmath>
#include <limits>

#include "../move/move.h"
#include "boxes.h"

namespace gluonnx {
namespace {

bool in_corners(const std::string& format) {
  want(format == "corner" || format == "center");
  return format == "corner";
}

// Intersection over union of each box of one with each of the other.
template <class F>
class Overlaps : public Kernel {
 public:
  explicit Overlaps(const Call& call) : corners_(in_corners(call.attrs.text("format"))) {
    want(call.in[1].dtype == call.in[0].dtype && call.out[0].dtype == call.in[0].dtype);
    for (const Tensor& t : call.in) want(t.rank() >= 1 && t.shape.back() == 4);
    rows_ = call.in[0].size() / 4, columns_ = call.in[1].size() / 4;
    want_size(call.out[0], times(rows_, columns_));
    each_ = aligned(times(columns_, sizeof(F)));
    scratch = 5 * each_;
    how = "pairs";
  }

  void run(const Run& run) const override {
    F* parts[5];
    for (int i = 0; i < 5; ++i) parts[i] = reinterpret_cast<F*>(run.scratch + i * each_);
    for (std::int64_t j = 0; j < columns_; ++j) {
      F edges[5];
      read(run.input<F>(1) + 4 * j, edges);
      for (int i = 0; i < 5; ++i) parts[i][j] = edges[i];
    }
    run.ranges(rows_, grain_of(columns_ * 40), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        F own[5];
        read(run.input<F>(0) + 4 * i, own);
        row(own, parts, run.output<F>() + i * columns_);
      }
    });
  }

 private:
  // left, top, right, bottom, area
  void read(const F* box, F* edges) const {
    F sides[2];
    for (int a = 0; a < 2; ++a) {
      edges[a] = corners_ ? box[a] : box[a] - box[a + 2] / 2;
      edges[a + 2] = corners_ ? box[a + 2] : box[a] + box[a + 2] / 2;
      sides[a] = corners_ ? box[a + 2] - box[a] : box[a + 2];
    }
    edges[4] = area_of(sides[0], sides[1]);
  }

  void row(const F* own, F* const* parts, F* __restrict out) const {
    const F *__restrict l = parts[0], *__restrict t = parts[1], *__restrict r = parts[2], *__restrict b = parts[3], *__restrict areas = parts[4];
    const F left = own[0], top = own[1], right = own[2], bottom = own[3], area = own[4];
    for (std::int64_t j = 0; j < columns_; ++j) {
      const F found = overlap(left, top, right, bottom, area, l[j], t[j], r[j], b[j], areas[j]);
      out[j] = found != found ? 0 : found;
    }
  }

  bool corners_;
  std::int64_t rows_, columns_;
  std::size_t each_;
};

// Boxes as corners from offsets to anchors.
template <class F>
class Decode : public Kernel {
 public:
  explicit Decode(const Call& call) : corners_(in_corners(call.attrs.text("format"))), clip_(static_cast<F>(call.attrs.real("clip"))) {
    const auto& shape = call.in[0].shape;
    want(shape.size() == 3 && shape[2] == 4 && call.out[0].shape == shape);
    want(call.in[1].dtype == call.in[0].dtype && call.out[0].dtype == call.in[0].dtype);
    want_size(call.in[1], times(shape[1], 4));
    batch_ = shape[0], anchors_ = shape[1];
    int i = 0;
    for (const char* name : {"std0", "std1", "std2", "std3"}) scales_[i++] = static_cast<F>(call.attrs.real(name));
    how = "boxes";
  }

  void run(const Run& run) const override {
    run.ranges(batch_ * anchors_, grain_of(96), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const F *offset = run.input<F>(0) + 4 * i, *anchor = run.input<F>(1) + i % anchors_ * 4;
        F* out = run.output<F>() + 4 * i;
        for (int a = 0; a < 2; ++a) {
          const F side = corners_ ? anchor[a + 2] - anchor[a] : anchor[a + 2];
          const F middle = corners_ ? (anchor[a] + anchor[a + 2]) / 2 : anchor[a];
          F growth = offset[a + 2] * scales_[a + 2];
          if (clip_ > 0 && growth > clip_) growth = clip_;
          const F half = std::exp(growth) * side / 2, centre = offset[a] * scales_[a] * side + middle;
          out[a] = centre - half, out[a + 2] = centre + half;
        }
      }
    });
  }

 private:
  bool corners_;
  F clip_, scales_[4];
  std::int64_t batch_, anchors_;
};

// The offsets of anchors to the boxes that they were matched with, and masks of those that were.
class Encode : public Kernel {
 public:
  explicit Encode(const Call& call) {
    want_floats(call.in);
    want_floats(call.out);
    const auto &pairs = call.in[0].shape, &boxes = call.in[3].shape;
    want(pairs.size() == 2 && boxes.size() == 3 && boxes[0] == pairs[0] && boxes[1] > 0 && boxes[2] == 4);
    batch_ = pairs[0], anchors_ = pairs[1], boxes_ = boxes[1];
    want_size(call.in[1], call.in[0].size());
    const std::int64_t all = times(batch_, anchors_, 4);
    want_size(call.in[2], all);
    for (int i : {4, 5}) want_size(call.in[i], 4);
    for (int i : {0, 1}) want_size(call.out[i], all);
    sure = false;
    how = "boxes";
  }

  void run(const Run& run) const override {
    run.ranges(batch_ * anchors_, grain_of(128), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const bool valid = run.input<float>(0)[i] > 0.5f;
        float *target = run.output<float>(0) + 4 * i, *mask = run.output<float>(1) + 4 * i;
        std::fill_n(mask, 4, valid ? 1.f : 0.f);
        std::fill_n(target, 4, 0.f);
        if (!valid) continue;
        const float place = run.input<float>(1)[i];
        want_value(place > -1 && place < static_cast<float>(boxes_));
        encode_box(run.input<float>(2) + 4 * i, run.input<float>(3) + (i / anchors_ * boxes_ + static_cast<std::int64_t>(place)) * 4,
               run.input<float>(4), run.input<float>(5), target);
      }
    });
  }

 private:
  std::int64_t batch_, anchors_, boxes_;
};

// Anchors around the centre of each cell of a map.
class Anchors : public Kernel {
 public:
  explicit Anchors(const Call& call) : clip_(call.attrs.flag("clip")) {
    const Attrs& attrs = call.attrs;
    const std::vector<float> sizes = numbers_of(attrs, "sizes"), ratios = numbers_of(attrs, "ratios");
    const std::vector<float> steps = numbers_of(attrs, "steps"), offsets = numbers_of(attrs, "offsets");
    want(call.in[0].rank() == 4 && call.out[0].dtype == DType::f32);
    want(!sizes.empty() && !ratios.empty() && steps.size() == 2 && offsets.size() == 2);
    height_ = call.in[0].shape[2], width_ = call.in[0].shape[3];
    want_size(call.out[0], times(height_, width_, static_cast<std::int64_t>(sizes.size() + ratios.size() - 1), 4));
    const float size[2] = {static_cast<float>(height_), static_cast<float>(width_)};
    for (int a = 0; a < 2; ++a) step_[a] = steps[a] > 0 ? steps[a] : 1.f / size[a], offset_[a] = offsets[a];
    const auto add = [&](float of, float ratio) {
      const float root = std::sqrt(ratio);
      half_.push_back(of * size[0] / size[1] * root / 2.f);
      half_.push_back(of / root / 2.f);
    };
    for (float of : sizes) add(of, ratios[0]);
    for (std::size_t i = 1; i < ratios.size(); ++i) add(sizes[0], ratios[i]);
    how = "boxes";
  }

  void run(const Run& run) const override {
    const auto count = static_cast<std::int64_t>(half_.size() / 2);
    run.ranges(height_ * width_, grain_of(16 * count), [&](std::int64_t begin, std::int64_t end, int) {
      float* out = run.output<float>() + begin * count * 4;
      for (std::int64_t i = begin; i < end; ++i) {
        const float y = (static_cast<float>(i / width_) + offset_[0]) * step_[0], x = (static_cast<float>(i % width_) + offset_[1]) * step_[1];
        for (std::int64_t k = 0; k < count; ++k, out += 4) {
          const float wide = half_[2 * k], high = half_[2 * k + 1];
          out[0] = held(x - wide), out[1] = held(y - high), out[2] = held(x + wide), out[3] = held(y + high);
        }
      }
    });
  }

 private:
  float held(float v) const { return !clip_ || v != v ? v : v < 0 ? 0 : v > 1 ? 1 : v; }

  bool clip_;
  std::int64_t height_, width_;
  float step_[2], offset_[2];
  std::vector<float> half_;  // half widths and heights
};

}  // namespace

std::unique_ptr<Kernel> bind_box_iou(const Call& call) {
  if (call.in[0].dtype == DType::f64) return std::make_unique<Overlaps<double>>(call);
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<Overlaps<float>>(call);
}
std::unique_ptr<Kernel> bind_box_decode(const Call& call) {
  if (call.in[0].dtype == DType::f64) return std::make_unique<Decode<double>>(call);
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<Decode<float>>(call);
}
std::unique_ptr<Kernel> bind_box_encode(const Call& call) { return std::make_unique<Encode>(call); }
std::unique_ptr<Kernel> bind_multibox_prior(const Call& call) { return std::make_unique<Anchors>(call); }

}  // namespace gluonnx
