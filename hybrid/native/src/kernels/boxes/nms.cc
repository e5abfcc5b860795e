// Non-maximum suppression: box_nms, and the detections of an SSD.
#include <cmath>
#include <limits>
#include <numeric>

#include "../move/move.h"
#include "boxes.h"

namespace gluonnx {
namespace {

// Boxes in order of precedence, coordinate by coordinate, in memory for `most` of them. One that stays removes the later ones
// of its id whose overlap with it is above the limit (`inclusive`: or at it).
class Boxes {
 public:
  static std::int64_t floats(std::int64_t most) { return 7 * ((most + 15) / 16 * 16); }

  Boxes(float* memory, std::int64_t most) {
    const std::int64_t each = (most + 15) / 16 * 16;
    for (float** part : {&left_, &top_, &right_, &bottom_, &area_, &id_}) *part = memory, memory += each;
    stays_ = reinterpret_cast<std::int32_t*>(memory);
  }

  void put(std::int64_t i, const float* box, bool corners, float id) {
    if (corners) {
      left_[i] = box[0], top_[i] = box[1], right_[i] = box[2], bottom_[i] = box[3];
    } else {
      left_[i] = box[0] - box[2] / 2, right_[i] = box[0] + box[2] / 2;
      top_[i] = box[1] - box[3] / 2, bottom_[i] = box[1] + box[3] / 2;
    }
    const float wide = corners ? box[2] - box[0] : box[2], high = corners ? box[3] - box[1] : box[3];
    area_[i] = area_of(wide, high);
    id_[i] = id;
  }

  template <bool INCLUSIVE>
  void suppress(std::int64_t count, float limit) {
    std::fill(stays_, stays_ + count, 1);
    for (std::int64_t i = 0; i + 1 < count; ++i)
      if (stays_[i]) against<INCLUSIVE>(i, count, limit);
  }
  bool stays(std::int64_t i) const { return stays_[i] != 0; }

 private:
  template <bool INCLUSIVE>
  void against(std::int64_t i, std::int64_t count, float limit) {
    const float left = left_[i], top = top_[i], right = right_[i], bottom = bottom_[i], area = area_[i], id = id_[i];
    const float* __restrict l = left_, * __restrict t = top_, * __restrict r = right_, * __restrict b = bottom_;
    const float* __restrict areas = area_, * __restrict ids = id_;
    std::int32_t* __restrict stays = stays_;
    for (std::int64_t j = i + 1; j < count; ++j) {
      const float found = overlap(left, top, right, bottom, area, l[j], t[j], r[j], b[j], areas[j]);
      const bool over = INCLUSIVE ? found >= limit : found > limit;
      stays[j] = over && ids[j] == id ? 0 : stays[j];
    }
  }

  float *left_, *top_, *right_, *bottom_, *area_, *id_;
  std::int32_t* stays_;
};

// Numbers of those chosen, the best first; ties stay in order. Scores lie `stride` apart; memory: for that of every number.
void sort_by(const float* score, std::int64_t stride, std::int32_t* order, std::int64_t count, float* memory) {
  for (std::int64_t i = 0; i < count; ++i) memory[order[i]] = score[order[i] * stride];
  std::sort(order, order + count, Better{memory});
}

class BoxNms : public Kernel {
 public:
  explicit BoxNms(const Call& call) {
    const Attrs& attrs = call.attrs;
    const auto& shape = call.in[0].shape;
    want(shape.size() >= 2 && shape[shape.size() - 2] < std::numeric_limits<std::int32_t>::max());
    width_ = shape.back(), count_ = shape[shape.size() - 2];
    batch_ = std::accumulate(shape.begin(), shape.end() - 2, std::int64_t{1}, std::multiplies<>());
    overlap_ = static_cast<float>(attrs.real("overlap_thresh")), valid_ = static_cast<float>(attrs.real("valid_thresh"));
    topk_ = attrs.integer("topk"), coords_ = attrs.integer("coord_start"), score_ = attrs.integer("score_index");
    id_ = attrs.integer("id_index"), background_ = static_cast<float>(attrs.integer("background_id"));
    const bool forced = attrs.flag("force_suppress");
    by_class_ = id_ >= 0 && !forced;
    from_corners_ = attrs.text("in_format") == "corner", to_corners_ = attrs.text("out_format") == "corner";
    want(coords_ >= 0 && coords_ <= width_ - 4 && score_ >= 0 && score_ < width_ && id_ < width_);
    want_shape(call.out[0], shape);
    want_size(call.out[1], batch_ * count_);
    want_floats(call.out);
    how = "greedy";
    each_ = Boxes::floats(count_) + (count_ + 15) / 16 * 16;
    scratch = static_cast<std::size_t>(each_ * call.threads) * sizeof(float);
  }

  void run(const Run& run) const override {
    run.parallel(batch_, [&](std::int64_t n, int thread) {
      float* memory = reinterpret_cast<float*>(run.scratch) + thread * each_;
      image(run.input<float>(0) + n * count_ * width_, run.output<float>() + n * count_ * width_,
            run.output<float>(1) + n * count_, n * count_, memory);
    });
  }

 private:
  void image(const float* rows, float* out, float* place, std::int64_t first, float* memory) const {
    auto* order = reinterpret_cast<std::int32_t*>(memory + Boxes::floats(count_));
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const float* row = rows + i * width_;
      if (row[score_] > valid_ && !(id_ >= 0 && row[id_] == background_)) order[found++] = static_cast<std::int32_t>(i);
    }
    sort_by(rows + score_, width_, order, found, memory);
    if (topk_ > 0) found = std::min(found, topk_);
    Boxes boxes(memory, count_);
    for (std::int64_t i = 0; i < found; ++i) {
      const float* row = rows + order[i] * width_;
      boxes.put(i, row + coords_, from_corners_, by_class_ ? row[id_] : 0);
    }
    boxes.suppress<false>(found, overlap_);
    std::int64_t kept = 0;
    for (std::int64_t i = 0; i < found; ++i) {
      if (!boxes.stays(i)) continue;
      float* to = out + kept * width_;
      std::copy_n(rows + order[i] * width_, width_, to);
      if (!(to[coords_] < 0) && from_corners_ != to_corners_) reform(to + coords_);
      place[kept++] = static_cast<float>(first + order[i]);
    }
    std::fill(out + kept * width_, out + count_ * width_, -1.f);
    std::fill(place + kept, place + count_, -1.f);
  }

  void reform(float* box) const {
    for (int i = 0; i < 2; ++i) {
      const float a = box[i], b = box[i + 2];
      box[i] = to_corners_ ? a - b / 2 : (a + b) / 2;
      box[i + 2] = to_corners_ ? a + b / 2 : b - a;
    }
  }

  std::int64_t batch_, count_, width_, topk_, coords_, score_, id_, each_;
  float overlap_, valid_, background_;
  bool by_class_, from_corners_, to_corners_;
};

class Detection : public Kernel {
 public:
  Detection(const Call& call, const std::vector<float>& variances) : variances_(variances) {
    const Attrs& attrs = call.attrs;
    const auto& shape = call.in[0].shape;
    want(shape.size() == 3 && shape[2] < std::numeric_limits<std::int32_t>::max());
    batch_ = shape[0], classes_ = shape[1], count_ = shape[2];
    want_floats(call.in);
    want_floats(call.out);
    want_size(call.in[1], times(batch_, count_, 4));
    want_size(call.in[2], times(count_, 4));
    want_size(call.out[0], times(batch_, count_, 6));
    clip_ = attrs.flag("clip"), forced_ = attrs.flag("force_suppress");
    threshold_ = static_cast<float>(attrs.real("threshold")), topk_ = attrs.integer("nms_topk");
    const double overlap = attrs.real("nms_threshold");
    overlap_ = static_cast<float>(overlap), sorts_ = overlap > 0 && overlap <= 1;
    attrs.ignore("background_id");
    how = "greedy";
    const std::int64_t padded = (count_ + 15) / 16 * 16;
    each_ = Boxes::floats(count_) + 9 * padded;
    scratch = static_cast<std::size_t>(each_ * call.threads) * sizeof(float);
  }

  void run(const Run& run) const override {
    run.parallel(batch_, [&](std::int64_t n, int thread) {
      image(run.input<float>(0) + n * classes_ * count_, run.input<float>(1) + n * count_ * 4, run.input<float>(2),
            run.output<float>() + n * count_ * 6, reinterpret_cast<float*>(run.scratch) + thread * each_);
    });
  }

 private:
  void image(const float* scores, const float* offsets, const float* anchors, float* out, float* memory) const {
    const std::int64_t padded = (count_ + 15) / 16 * 16;
    float *rows = memory + Boxes::floats(count_), *score = rows + 6 * padded, *best = score + padded;
    auto* order = reinterpret_cast<std::int32_t*>(best + padded);
    std::fill(score, score + count_, -1.f);
    std::fill(best, best + count_, 0.f);
    for (std::int64_t c = 1; c < classes_; ++c) {
      const float* one = scores + c * count_;
      for (std::int64_t i = 0; i < count_; ++i) {
        best[i] = one[i] > score[i] ? static_cast<float>(c) : best[i];
        score[i] = one[i] > score[i] ? one[i] : score[i];
      }
    }
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!(best[i] > 0) || score[i] < threshold_) continue;
      float* row = rows + 6 * found;
      row[0] = best[i] - 1, row[1] = score[i];
      decode(offsets + 4 * i, anchors + 4 * i, row + 2);
      order[found] = static_cast<std::int32_t>(found);
      ++found;
    }
    std::copy(rows, rows + 6 * found, out);
    std::fill(out + 6 * found, out + 6 * count_, -1.f);
    if (!sorts_) return;
    sort_by(rows + 1, 6, order, found, memory);
    const std::int64_t compared = topk_ > 0 ? std::min(found, topk_) : found;
    Boxes boxes(memory, count_);
    for (std::int64_t i = 0; i < compared; ++i) boxes.put(i, rows + 6 * order[i] + 2, true, forced_ ? 0 : rows[6 * order[i]]);
    boxes.suppress<true>(compared, overlap_);
    for (std::int64_t i = 0; i < found; ++i) {
      if (i < compared) std::copy_n(rows + 6 * order[i], 6, out + 6 * i);
      if (i >= compared || !boxes.stays(i)) out[6 * i] = -1;
    }
  }

  void decode(const float* offset, const float* anchor, float* box) const {
    for (int i = 0; i < 2; ++i) {
      const float side = anchor[i + 2] - anchor[i], centre = (anchor[i] + anchor[i + 2]) / 2;
      const float half = std::exp(offset[i + 2] * variances_[i + 2]) * side / 2, at = offset[i] * variances_[i] * side + centre;
      box[i] = clipped(at - half), box[i + 2] = clipped(at + half);
    }
  }
  float clipped(float x) const { return clip_ ? smaller(larger(x, 0.f), 1.f) : x; }

  std::vector<float> variances_;
  std::int64_t batch_, classes_, count_, topk_, each_;
  float threshold_, overlap_;
  bool clip_, forced_, sorts_;
};

}  // namespace

std::unique_ptr<Kernel> bind_box_nms(const Call& call) {
  if (call.attrs.integer("topk") == 0) return nullptr;
  return std::make_unique<BoxNms>(call);
}

std::unique_ptr<Kernel> bind_multibox_detection(const Call& call) {
  const std::vector<float> variances = numbers_of(call.attrs, "variances");
  if (variances.size() != 4) return nullptr;
  return std::make_unique<Detection>(call, variances);
}

}  // namespace gluonnx
