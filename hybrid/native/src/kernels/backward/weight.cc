#include "weight.h"

namespace gluonnx::backward {
namespace {

constexpr Index CHUNK = 192;              // rows of a panel, of at most Columns::MOST
constexpr Index SUMS = Index{4} << 20;    // elements of sums that parts may have

}  // namespace

Correlation::Correlation(const Shape& shape, int in, int out, int threads) : shape_(shape), in_(in), out_(out) {
  rows_ = shape.group_filters();
  elements_ = shape.group_channels() * shape.taps();
  flops = shape.flops();
  how = "windows to weight";
  if (shape.empty()) return;
  windows_ = volume(shape.out);
  windows_at_.count = shape.out;
  windows_at_.step = shape.stride;
  for (Index t = 0; t < shape.taps(); ++t) {
    const Three& k = shape.kernel;
    const Three tap{t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
    Three at;
    for (int i = 0; i < 3; ++i) at[i] = tap[i] * shape.dilate[i] - shape.pad[i];
    windows_at_.at.push_back(at);
  }
  layout_ = Layout(shape.in, {windows_at_});
  panels_ = ceiling(elements_, WIDTH);
  for (Index e = 0; e < panels_ * WIDTH; ++e) {
    const Index kept = std::min(e, elements_ - 1);
    offsets_.push_back(kept / shape.taps() * layout_.plane() + layout_.tap(windows_at_.at[kept % shape.taps()]));
  }
  const Index image = shape.channels * layout_.plane();
  together_ = std::clamp<Index>((layout_.copied ? COPIES : Index{1} << 30) / image, 1, shape.batch);
  pieces_ = ceiling(windows_, CHUNK);
  chunk_ = std::min(windows_, ceiling(ceiling(windows_, pieces_), 16) * 16);
  pieces_ = ceiling(windows_, chunk_);
  images_ = pieces_ > 1 ? 1 : std::clamp<Index>(CHUNK / windows_, 1, together_);

  const Index items = panels_ * shape.groups, all = rows_ * elements_ * shape.groups,
              chunks = ceiling(together_, images_) * pieces_;
  parts_ =
      threads == 1 || flops < WORTH ? 1 : std::min({ceiling(6 * threads, items), Index{2} * threads, chunks, 1 + SUMS / all});
  panel_size_ = ceiling(std::max(chunk_, images_ * windows_), 16) * 16 * WIDTH;
  sums_at_ = layout_.copied ? aligned(together_ * image * sizeof(float)) : 0;
  panels_at_ = sums_at_ + aligned((parts_ - 1) * all * sizeof(float));
  scratch = panels_at_ + threads * panel_size_ * sizeof(float);
}

void Correlation::compute(const Factor& step, const float* panel, Index columns, bool fresh, float* to) const {
  alignas(64) float sums[ROWS * WIDTH];
  const int blocks = static_cast<int>(ceiling(columns, 16));
  for (Index row = 0; row < rows_; row += ROWS) {
    const int height = static_cast<int>(std::min<Index>(ROWS, rows_ - row));
    Factor factor = step;
    factor.data += row * step.row_step;
    micro(height, blocks)(factor, panel, sums);
    for (int r = 0; r < height; ++r) {
      float* line = to + (row + r) * elements_;
      const float* sum = sums + r * blocks * 16;
      Index i = 0;
      for (; i + 16 <= columns; i += 16) store(line + i, fresh ? load(sum + i) : load(line + i) + load(sum + i));
      for (; i < columns; ++i) line[i] = fresh ? sum[i] : line[i] + sum[i];
    }
  }
}

void Correlation::run(const Run& run) const {
  const Index all = shape_.filters * elements_;
  float* weights = run.output<float>();
  if (shape_.empty()) return static_cast<void>(std::memset(weights, 0, all * sizeof(float)));
  float* copies = reinterpret_cast<float*>(run.scratch);
  float* sums = reinterpret_cast<float*>(run.scratch + sums_at_);
  float* panels = reinterpret_cast<float*>(run.scratch + panels_at_);
  const Index plane = volume(layout_.size), copy = layout_.plane();
  const Lattice lattice = layout_.lattice(windows_at_, shape_.channels);
  for (Index n = 0; n < shape_.batch; n += together_) {
    const Index count = std::min(together_, shape_.batch - n);
    const float* from = run.input<float>(in_) + n * shape_.channels * plane;
    const float* other = run.input<float>(out_) + n * shape_.filters * windows_;
    if (layout_.copied) {
      run.ranges(count * shape_.channels, ceiling(1 << 14, copy), [&](Index begin, Index end, int) {
        for (Index i = begin; i < end; ++i) layout_.copy(from + i * plane, copies + i * copy);
      });
      from = copies;
    }
    const Index chunks = ceiling(count, images_) * pieces_;
    const Index items = shape_.groups * panels_ * parts_;
    auto item = [&](Index i, int thread) {
      const Index part = i % parts_, panel = i / parts_ % panels_, group = i / parts_ / panels_;
      const Index columns = std::min(WIDTH, elements_ - panel * WIDTH);
      float* mine = panels + thread * panel_size_;
      float* to = (part ? sums + (part - 1) * all : weights) + group * rows_ * elements_ + panel * WIDTH;
      bool fresh = n == 0;
      for (Index c = part * chunks / parts_; c < (part + 1) * chunks / parts_; ++c, fresh = false) {
        const Index image = c / pieces_ * images_, begin = c % pieces_ * chunk_;
        const Index images = std::min(images_, count - image), end = std::min(windows_, begin + chunk_);
        Columns seen;
        const Index first = image * windows_ + begin, length = (images - 1) * windows_ + end - begin;
        seen.fill(shape_.out, lattice, first, first + length);
        build_transposed(seen, from + group * shape_.group_channels() * copy, offsets_.data() + panel * WIDTH,
                         ceiling(columns, 16), mine);
        const float* data = other + (image * shape_.filters + group * rows_) * windows_ + begin;
        const Index image_step = shape_.filters * windows_;
        if (windows_ == 1) compute({data, 1, {{1, 0}, {1, 0}, {images, image_step}}}, mine, columns, fresh, to);
        else compute({data, windows_, {{1, 0}, {images, image_step}, {end - begin, 1}}}, mine, columns, fresh, to);
      }
      if (fresh)
        for (Index r = 0; r < rows_; ++r) std::memset(to + r * elements_, 0, columns * sizeof(float));
    };
    if (flops < WORTH)
      for (Index i = 0; i < items; ++i) item(i, 0);
    else run.parallel(items, item);
  }
  run.ranges(parts_ > 1 ? all : 0, 1 << 14, [&](Index begin, Index end, int) {
    for (Index part = 1; part < parts_; ++part) {
      const float* more = sums + (part - 1) * all;
      for (Index i = begin; i < end; ++i) weights[i] += more[i];
    }
  });
}

}  // namespace gluonnx::backward
