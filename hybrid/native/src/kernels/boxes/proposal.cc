// Proposal and MultiProposal: anchors moved by offsets, the best of them, and of those the ones that overlap no better one.
#include <cmath>
#include <limits>
#include <numeric>

#include "../move/move.h"
#include "boxes.h"

namespace gluonnx {
namespace {

struct Box {
  float edge[4];  // left, top, right, bottom
};

class Proposal : public Kernel {
 public:
  explicit Proposal(const Call& call) {
    const Attrs& attrs = call.attrs;
    attrs.ignore("output_score");
    want_floats(call.in);
    want_floats(call.out);
    const auto& shape = call.in[0].shape;
    want(shape.size() == 4);
    const std::vector<float> scales = numbers_of(attrs, "scales"), ratios = numbers_of(attrs, "ratios");
    batch_ = shape[0], height_ = shape[2], width_ = shape[3];
    anchors_ = static_cast<std::int64_t>(scales.size() * ratios.size());
    before_ = attrs.integer("rpn_pre_nms_top_n"), wanted_ = attrs.integer("rpn_post_nms_top_n");
    limit_ = static_cast<float>(attrs.real("threshold")), least_ = static_cast<float>(attrs.integer("rpn_min_size"));
    const std::int64_t stride = attrs.integer("feature_stride");
    side_ = static_cast<float>(stride), plain_ = attrs.flag("iou_loss");
    want(anchors_ > 0 && wanted_ > 0 && stride > 0 && stride < (1 << 24) && height_ > 0 && width_ > 0);
    count_ = times(height_, width_, anchors_);
    want(shape[1] == 2 * anchors_ && count_ < std::numeric_limits<std::int32_t>::max());
    want_size(call.in[1], times(batch_, 4, count_));
    want_size(call.in[2], times(batch_, 3));
    want_size(call.out[0], times(batch_, wanted_, 5));
    want_size(call.out[1], times(batch_, wanted_));
    make_base(scales, ratios);
    compared_ = before_ > 0 ? std::min(before_, count_) : count_;
    for (std::size_t* part : {&scores_at_, &order_at_}) *part = each_, each_ += aligned(count_ * sizeof(float));
    boxes_at_ = each_, each_ += aligned(count_ * sizeof(Box));
    columns_at_ = each_, each_ += 5 * aligned(compared_ * sizeof(float));
    alive_at_ = each_, each_ += aligned(compared_ * sizeof(std::int32_t));
    stays_at_ = each_, each_ += aligned(std::min(wanted_, compared_) * sizeof(std::int32_t));
    scratch = times(each_, call.threads);
    sure = false;
    how = "greedy";
  }

  void run(const Run& run) const override {
    run.parallel(batch_, [&](std::int64_t n, int thread) {
      image(n, run.input<float>(0) + (2 * n + 1) * count_, run.input<float>(1) + 4 * n * count_, run.input<float>(2) + 3 * n,
            run.scratch + thread * each_, run.output<float>() + 5 * n * wanted_, run.output<float>(1) + n * wanted_);
    });
  }

 private:
  // The anchors of the first cell.
  void make_base(const std::vector<float>& scales, const std::vector<float>& ratios) {
    const float middle = 0.5f * (side_ - 1);
    for (float ratio : ratios) {
      const float base = std::floor(std::sqrt(std::floor(side_ * side_ / ratio)) + 0.5f);
      for (float scale : scales) {
        const float width = base * scale, height = std::floor(base * ratio + 0.5f) * scale;
        const float half[2] = {0.5f * (width - 1), 0.5f * (height - 1)};
        base_.push_back({{middle - half[0], middle - half[1], middle + half[0], middle + half[1]}});
      }
    }
  }

  void image(std::int64_t number, const float* scores, const float* deltas, const float* info, std::byte* memory, float* out,
             float* kept) const {
    auto* score = reinterpret_cast<float*>(memory + scores_at_);
    auto* order = reinterpret_cast<std::int32_t*>(memory + order_at_);
    auto* boxes = reinterpret_cast<Box*>(memory + boxes_at_);
    for (int i = 0; i < 3; ++i) want_value(info[i] > -1e6f && info[i] < 1e6f);
    const auto real_height = static_cast<std::int64_t>(info[0] / side_), real_width = static_cast<std::int64_t>(info[1] / side_);
    want_value(real_height >= 0 && real_width >= 0 && real_height <= height_ && real_width <= width_);
    const float last[2] = {info[1] - 1, info[0] - 1}, least = least_ * info[2];
    const std::int64_t area = height_ * width_;
    for (std::int64_t y = 0, i = 0; y < height_; ++y)
      for (std::int64_t x = 0; x < width_; ++x)
        for (std::int64_t a = 0; a < anchors_; ++a, ++i) {
          const std::int64_t pixel = y * width_ + x;
          score[i] = y < real_height && x < real_width ? scores[a * area + pixel] : -1;
          boxes[i] = moved(base_[a], static_cast<float>(x) * side_, static_cast<float>(y) * side_, deltas + 4 * a * area + pixel, area, last);
          Box& box = boxes[i];
          if (!(box.edge[2] - box.edge[0] + 1 < least || box.edge[3] - box.edge[1] + 1 < least)) continue;
          for (int e = 0; e < 4; ++e) box.edge[e] += (e < 2 ? -0.5f : 0.5f) * least;
          score[i] = -1;
        }
    std::iota(order, order + count_, 0);
    const Better better{score};
    if (compared_ < count_) std::nth_element(order, order + compared_, order + count_, better);
    std::sort(order, order + compared_, better);
    const std::int64_t found = suppress(boxes, order, memory);
    const auto* stays = reinterpret_cast<const std::int32_t*>(memory + stays_at_);
    for (std::int64_t i = 0; i < wanted_; ++i) {
      const std::int32_t from = order[stays[i % found]];
      out[5 * i] = static_cast<float>(number);
      std::copy_n(boxes[from].edge, 4, out + 5 * i + 1);
      kept[i] = score[from];
    }
  }

  // An anchor moved by its offsets, which lie `area` apart, and cut to the image.
  Box moved(const Box& base, float x, float y, const float* deltas, std::int64_t area, const float* last) const {
    Box box;
    const float shift[2] = {x, y};
    for (int a = 0; a < 2; ++a) {
      const float low = shift[a] + base.edge[a], high = shift[a] + base.edge[a + 2], near = deltas[a * area], far = deltas[(a + 2) * area];
      if (plain_) {
        box.edge[a] = low + near, box.edge[a + 2] = high + far;
      } else {
        const float side = high - low + 1, centre = near * side + (low + 0.5f * (side - 1));
        const float half = 0.5f * (std::exp(far) * side - 1);
        box.edge[a] = centre - half, box.edge[a + 2] = centre + half;
      }
      for (int e : {a, a + 2}) {  // a NaN stays one
        if (box.edge[e] < 0) box.edge[e] = 0;
        if (box.edge[e] > last[a]) box.edge[e] = last[a];
      }
    }
    return box;
  }

  // Places in the order of those that no better one suppresses; gives how many.
  std::int64_t suppress(const Box* boxes, const std::int32_t* order, std::byte* memory) const {
    float* columns[5];
    for (int i = 0; i < 5; ++i) columns[i] = reinterpret_cast<float*>(memory + columns_at_ + i * aligned(compared_ * sizeof(float)));
    auto* alive = reinterpret_cast<std::int32_t*>(memory + alive_at_);
    auto* stays = reinterpret_cast<std::int32_t*>(memory + stays_at_);
    for (std::int64_t i = 0; i < compared_; ++i) {
      const Box& box = boxes[order[i]];
      for (int e = 0; e < 4; ++e) columns[e][i] = box.edge[e];
      columns[4][i] = (box.edge[2] - box.edge[0] + 1) * (box.edge[3] - box.edge[1] + 1);
      alive[i] = 1;
    }
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < compared_ && found < wanted_; ++i) {
      if (!alive[i]) continue;
      stays[found++] = static_cast<std::int32_t>(i);
      if (found < wanted_) against(columns, i, alive);
    }
    return found;
  }

  void against(float* const* columns, std::int64_t i, std::int32_t* __restrict alive) const {
    const float *__restrict l = columns[0], *__restrict t = columns[1], *__restrict r = columns[2], *__restrict b = columns[3];
    const float* __restrict areas = columns[4];
    const float left = l[i], top = t[i], right = r[i], bottom = b[i], area = areas[i];
    for (std::int64_t j = i + 1; j < compared_; ++j) {
      const float wide = larger(smaller(right, r[j]) - larger(left, l[j]) + 1, 0.f);
      const float high = larger(smaller(bottom, b[j]) - larger(top, t[j]) + 1, 0.f);
      const float shared = wide * high;
      alive[j] = shared / (area + areas[j] - shared) > limit_ ? 0 : alive[j];
    }
  }

  std::int64_t batch_, height_, width_, anchors_, count_, before_, wanted_, compared_;
  float limit_, least_, side_;
  bool plain_;  // offsets are added to the corners
  std::vector<Box> base_;
  std::size_t scores_at_, order_at_, boxes_at_, columns_at_, alive_at_, stays_at_, each_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> bind_proposal(const Call& call) { return std::make_unique<Proposal>(call); }

}  // namespace gluonnx
