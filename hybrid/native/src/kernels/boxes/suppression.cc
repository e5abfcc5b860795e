#include "suppression.h"

#include <algorithm>
#include <limits>

#include "../move/move.h"
#include "boxes.h"

namespace gluonnx {
namespace {

// The lower and the upper ends of a box along y and x.
void corners(const float* box, bool centred, float* edges) {
  for (int a = 0; a < 2; ++a) {
    const float one = centred ? box[1 - a] - box[3 - a] / 2 : box[a], two = centred ? box[1 - a] + box[3 - a] / 2 : box[a + 2];
    edges[a] = centred ? one : smaller(one, two), edges[a + 2] = centred ? two : larger(one, two);
  }
}

}  // namespace

std::size_t Suppression::memory() const { return 11 * aligned(boxes * sizeof(float)); }

std::int64_t Suppression::rows() const { return times(batch, classes, std::clamp<std::int64_t>(most, 0, boxes)); }

std::int64_t Suppression::choose(const float* given, const float* scores, std::byte* memory, std::int64_t* rows) const {
  const std::size_t each = aligned(boxes * sizeof(float));
  float *all[5], *kept[5];  // edges and areas: of all boxes, and of those that were chosen of a class
  for (int i = 0; i < 5; ++i) {
    all[i] = reinterpret_cast<float*>(memory + i * each);
    kept[i] = reinterpret_cast<float*>(memory + (5 + i) * each);
  }
  auto* order = reinterpret_cast<std::int32_t*>(memory + 10 * each);
  std::int64_t found = 0;
  for (std::int64_t n = 0; n < batch && most > 0; ++n) {
    for (std::int64_t i = 0; i < boxes; ++i) {
      float edges[4];
      corners(given + (n * boxes + i) * 4, centred, edges);
      for (int e = 0; e < 4; ++e) all[e][i] = edges[e];
      all[4][i] = (edges[2] - edges[0]) * (edges[3] - edges[1]);
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      const float* score = scores + (n * classes + c) * boxes;
      std::int64_t count = 0, chosen = 0;
      for (std::int64_t i = 0; i < boxes; ++i)
        if (!some || score[i] > least) order[count++] = static_cast<std::int32_t>(i);
      std::sort(order, order + count, Better{score});
      for (std::int64_t i = 0; i < count && chosen < most; ++i) {
        const std::int32_t box = order[i];
        float own[5];
        for (int e = 0; e < 5; ++e) own[e] = all[e][box];
        std::int32_t over = 0;
        for (std::int64_t k = 0; k < chosen; ++k) {
          const float high = larger(smaller(kept[2][k], own[2]) - larger(kept[0][k], own[0]), 0.f);
          const float wide = larger(smaller(kept[3][k], own[3]) - larger(kept[1][k], own[1]), 0.f);
          const float both = high * wide, whole = kept[4][k] + own[4] - both;
          over |= both > 0 && whole > 0 && both / whole > overlap;
        }
        if (over) continue;
        for (int e = 0; e < 5; ++e) kept[e][chosen] = own[e];
        ++chosen;
        if (rows) {
          std::int64_t* row = rows + 3 * found;
          row[0] = n, row[1] = c, row[2] = box;
        }
        ++found;
      }
    }
  }
  return found;
}

namespace {

// rooms: with room for the most rows, and how many there are. Else for a result whose size is known already: what a run gives has to
// have it.
class NonMaxSuppression : public Kernel {
 public:
  NonMaxSuppression(const Call& call, bool rooms) : rooms_(rooms) {
    const Attrs& attrs = call.attrs;
    const auto &boxes = call.in[0].shape, &scores = call.in[1].shape, &out = call.out[0].shape;
    want(call.in[0].dtype == DType::f32 && call.in[1].dtype == DType::f32 && call.out[0].dtype == DType::i64);
    want(boxes.size() == 3 && boxes[2] == 4 && scores.size() == 3 && scores[0] == boxes[0] && scores[2] == boxes[1]);
    want(out.size() == 2 && out[1] == 3 && boxes[1] < std::numeric_limits<std::int32_t>::max());
    rule_ = {boxes[0], scores[1], boxes[1], attrs.flag("center_point_box"), 0, 0};
    int next = 2;
    for (auto [name, input, dtype] : {std::tuple{"max_output_boxes_per_class", &most_, DType::i64}, {"iou_threshold", &overlap_, DType::f32}, {"score_threshold", &least_, DType::f32}})
      if (attrs.names("given", name)) {
        want(call.in[next].dtype == dtype);
        want_size(call.in[next], 1);
        *input = next++;
      }
    want(static_cast<int>(call.in.size()) == next);
    count_ = out[0];
    rows_at_ = rule_.memory();
    rule_.most = std::numeric_limits<std::int64_t>::max();
    if (rooms_) {
      want(count_ >= rule_.rows() && call.out.size() == 2 && call.out[1].dtype == DType::i64);
      want_size(call.out[1], 1);
      scratch = rows_at_;
    } else {
      scratch = plus(rows_at_, times(rule_.rows(), 3, sizeof(std::int64_t)));
    }
    sure = rooms_;
    how = "greedy";
  }

  void run(const Run& run) const override {
    Suppression rule = rule_;
    rule.most = most_ < 0 ? 0 : run.input<std::int64_t>(most_)[0];
    rule.overlap = overlap_ < 0 ? 0 : run.input<float>(overlap_)[0];
    rule.some = least_ >= 0;
    if (rule.some) rule.least = run.input<float>(least_)[0];
    if (rooms_) {
      *run.output<std::int64_t>(1) = rule.choose(run.input<float>(0), run.input<float>(1), run.scratch, run.output<std::int64_t>());
      return;
    }
    auto* rows = reinterpret_cast<std::int64_t*>(run.scratch + rows_at_);
    want_value(rule.choose(run.input<float>(0), run.input<float>(1), run.scratch, rows) == count_);
    std::copy_n(rows, 3 * count_, run.output<std::int64_t>());
  }

 private:
  Suppression rule_;
  int most_ = -1, overlap_ = -1, least_ = -1;
  bool rooms_;
  std::int64_t count_;
  std::size_t rows_at_;
};

}  // namespace

std::unique_ptr<Kernel> bind_non_max_suppression(const Call& call) { return std::make_unique<NonMaxSuppression>(call, false); }
std::unique_ptr<Kernel> bind_fused_suppression(const Call& call) { return std::make_unique<NonMaxSuppression>(call, true); }

}  // namespace gluonnx
