// The targets of an SSD: which anchors stand for which objects.
#include <cmath>
#include <limits>
#include <numeric>

#include "../move/move.h"
#include "boxes.h"

namespace gluonnx {
namespace {

// What an SSD's anchors are to learn: which stands for which object, and which for the background.
class Targets : public Kernel {
 public:
  explicit Targets(const Call& call) {
    const Attrs& attrs = call.attrs;
    attrs.ignore("minimum_negative_samples");
    const auto &label = call.in[1].shape, &scores = call.in[2].shape;
    variances_ = numbers_of(attrs, "variances");
    overlap_ = attrs.real("overlap_threshold"), ignored_ = static_cast<float>(attrs.real("ignore_label"));
    ratio_ = attrs.real("negative_mining_ratio"), below_ = static_cast<float>(attrs.real("negative_mining_thresh"));
    want_floats(call.in);
    want_floats(call.out);
    want(call.in[0].rank() == 3 && label.size() == 3 && scores.size() == 3 && label[2] >= 5 && variances_.size() == 4);
    anchors_ = call.in[0].shape[1], batch_ = label[0], objects_ = label[1], width_ = label[2], classes_ = scores[1];
    want(anchors_ > 0 && anchors_ < std::numeric_limits<std::int32_t>::max() && (classes_ > 0 || !(ratio_ > 0)));
    want_size(call.in[0], times(anchors_, 4));
    want_size(call.in[2], times(batch_, classes_, anchors_));
    for (int i : {0, 1}) want_size(call.out[i], times(batch_, anchors_, 4));
    want_size(call.out[2], times(batch_, anchors_));
    pairs_ = aligned(times(anchors_, objects_, sizeof(float)));
    line_ = aligned(times(anchors_, sizeof(float)));
    each_ = 2 * pairs_ + 5 * line_;
    scratch = times(each_, call.threads);
    how = "greedy";
  }

  void run(const Run& run) const override {
    run.parallel(batch_, [&](std::int64_t n, int thread) {
      const std::int64_t all = 4 * anchors_;
      image(run.input<float>(0), run.input<float>(1) + n * objects_ * width_, run.input<float>(2) + n * classes_ * anchors_,
            run.scratch + thread * each_, run.output<float>() + n * all, run.output<float>(1) + n * all, run.output<float>(2) + n * anchors_);
    });
  }

 private:
  // Arrays of one number for each anchor.
  struct Lines {
    float* most;            // the greatest overlap with an object,
    std::int32_t* best;     // and which that is
    std::int32_t* matched;  // whether it stands for one
    float* sure;            // how sure of the background
    std::int32_t* order;
  };

  void image(const float* anchors, const float* label, const float* scores, std::byte* memory, float* targets, float* masks, float* classes) const {
    std::fill_n(targets, 4 * anchors_, 0.f);
    std::fill_n(masks, 4 * anchors_, 0.f);
    std::fill_n(classes, anchors_, ignored_);
    std::int64_t count = 0;
    while (count < objects_ && label[count * width_] != -1) ++count;
    if (!count) return;
    auto *pairs = reinterpret_cast<float*>(memory), *free = reinterpret_cast<float*>(memory + pairs_);
    std::byte* at = memory + 2 * pairs_;
    const auto floats = [&](int i) { return reinterpret_cast<float*>(at + i * line_); };
    const auto numbers = [&](int i) { return reinterpret_cast<std::int32_t*>(at + i * line_); };
    const Lines lines{floats(0), numbers(1), numbers(2), floats(3), numbers(4)};
    compare(anchors, label, count, pairs, lines);
    match(pairs, free, count, lines);
    background(scores, lines, classes);
    const float none[4] = {0, 0, 0, 0};
    for (std::int64_t i = 0; i < anchors_; ++i) {
      if (!lines.matched[i]) continue;
      const float* object = label + lines.best[i] * width_;
      classes[i] = object[0] + 1;
      std::fill_n(masks + 4 * i, 4, 1.f);
      encode_box(anchors + 4 * i, object + 1, none, variances_.data(), targets + 4 * i);
    }
  }

  void compare(const float* anchors, const float* label, std::int64_t count, float* pairs, const Lines& lines) const {
    const auto area = [](const float* box) { return area_of(box[2] - box[0], box[3] - box[1]); };
    for (std::int64_t i = 0; i < anchors_; ++i) {
      const float* a = anchors + 4 * i;
      for (std::int64_t j = 0; j < count; ++j) {
        const float* b = label + j * width_ + 1;
        float found = overlap(a[0], a[1], a[2], a[3], area(a), b[0], b[1], b[2], b[3], area(b));
        if (found != found) found = 0;
        found = std::clamp(found, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
        pairs[i * count + j] = found;
        if (j == 0 || found > lines.most[i]) lines.most[i] = found, lines.best[i] = static_cast<std::int32_t>(j);
      }
      lines.matched[i] = 0;
    }
  }

  // Objects take their best free anchor, the best pair first; then anchors take an object that they overlap enough.
  void match(const float* pairs, float* free, std::int64_t count, const Lines& lines) const {
    std::copy_n(pairs, anchors_ * count, free);
    for (std::int64_t round = 0; round < count; ++round) {
      std::int64_t at = 0;
      for (std::int64_t k = 1; k < anchors_ * count; ++k)
        if (free[k] > free[at]) at = k;
      if (!(static_cast<double>(free[at]) > 1e-6)) break;
      const std::int64_t anchor = at / count, object = at % count;
      lines.matched[anchor] = 1, lines.best[anchor] = static_cast<std::int32_t>(object);
      std::fill_n(free + anchor * count, count, -1.f);
      for (std::int64_t i = 0; i < anchors_; ++i) free[i * count + object] = -1;
    }
    if (overlap_ > 0)
      for (std::int64_t i = 0; i < anchors_; ++i) lines.matched[i] |= lines.most[i] > static_cast<float>(overlap_);
  }

  void background(const float* scores, const Lines& lines, float* classes) const {
    const std::int64_t matched = std::accumulate(lines.matched, lines.matched + anchors_, std::int64_t{0});
    if (!(ratio_ > 0)) {
      for (std::int64_t i = 0; i < anchors_; ++i)
        if (!lines.matched[i]) classes[i] = 0;
      return;
    }
    const auto wanted = static_cast<std::int64_t>(std::min(static_cast<double>(matched) * ratio_, static_cast<double>(anchors_ - matched)));
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < anchors_ && matched; ++i) {
      if (lines.matched[i] || !(lines.most[i] < below_)) continue;
      float most = scores[i], total = 0;
      for (std::int64_t c = 1; c < classes_; ++c) most = larger(most, scores[c * anchors_ + i]);
      for (std::int64_t c = 0; c < classes_; ++c) total += std::exp(scores[c * anchors_ + i] - most);
      lines.sure[i] = std::exp(scores[i] - most) / total;
      lines.order[count++] = static_cast<std::int32_t>(i);
    }
    // the least sure first, ties in order, NaN last
    std::sort(lines.order, lines.order + count, [&](std::int32_t a, std::int32_t b) {
      const float p = lines.sure[a], q = lines.sure[b];
      if (p != p || q != q) return p == p || (q != q && a < b);
      return p != q ? p < q : a < b;
    });
    for (std::int64_t i = 0; i < std::min(wanted, count); ++i) classes[lines.order[i]] = 0;
  }

  std::int64_t batch_, anchors_, objects_, width_, classes_;
  double overlap_, ratio_;
  float ignored_, below_;
  std::vector<float> variances_;
  std::size_t pairs_, line_, each_;
};

}  // namespace

std::unique_ptr<Kernel> bind_multibox_target(const Call& call) { return std::make_unique<Targets>(call); }

}  // namespace gluonnx
