#include "product.h"

namespace gluonnx::backward {
namespace {

constexpr Index SLICE = 288;              // rows of a panel: longer sums are less exact, shorter ones are stored more often
constexpr Index SHARED = Index{2} << 20;  // elements of panels that threads may share

}  // namespace

Product::Product(const Shape& shape, bool to_data, int images, int weight, int bias, int threads)
    : shape_(shape), to_data_(to_data), images_(images), weight_(weight), bias_(bias) {
  channels_ = to_data ? shape.group_filters() : shape.group_channels();
  rows_ = to_data ? shape.group_channels() : shape.group_filters();
  from_channels_ = to_data ? shape.filters : shape.channels;
  to_channels_ = to_data ? shape.channels : shape.filters;
  const Three& from = to_data ? shape.out : shape.in;
  const Three& to = to_data ? shape.in : shape.out;
  to_plane_ = volume(to);
  flops = shape.flops();
  how = to_data ? "windows to data" : "windows";
  if (shape.empty()) return;

  const Three every = to_data ? shape.stride : Three{1, 1, 1};  // which results a phase has
  for (Index z = 0; z < every[0]; ++z)
    for (Index y = 0; y < every[1]; ++y)
      for (Index x = 0; x < every[2]; ++x) {
        Phase phase = phase_of({z, y, x}, every);
        phase.start = (z * to[1] + y) * to[2] + x;
        phase.results = {to_channels_ * to_plane_, every[0] * to[1] * to[2], every[1] * to[2], every[2]};
        if (volume(phase.windows.count)) phases_.push_back(std::move(phase));
      }
  std::vector<Windows> readers;
  for (const auto& phase : phases_) readers.push_back(phase.windows);
  layout_ = Layout(from, readers);

  const Index image = from_channels_ * layout_.plane(), result = to_channels_ * to_plane_;
  const Index most = layout_.copied ? COPIES : Index{1} << 30;
  together_ = std::clamp<Index>(most / std::max(image, result), 1, shape.batch);
  for (auto& phase : phases_) {
    for (const auto& at : phase.windows.at) phase.offsets.push_back(layout_.tap(at));
    plan(phase, threads);
  }
  panels_at_ = layout_.copied ? aligned(together_ * image * sizeof(float)) : 0;
  scratch = panels_at_ + threads * aligned(panels_ * sizeof(float));
}

Product::Phase Product::phase_of(const Three& begin, const Three& every) const {
  const Three &s = shape_.stride, &d = shape_.dilate, &to = to_data_ ? shape_.in : shape_.out;
  Phase phase;
  std::vector<Index> found[3];  // where taps look, along each axis
  for (int i = 0; i < 3; ++i) {
    phase.windows.count[i] = std::max<Index>(0, ceiling(to[i] - begin[i], every[i]));
    if (!to_data_) phase.windows.step[i] = s[i];
    Index last = -1;
    for (Index t = 0; t < shape_.kernel[i]; ++t) {
      const Index at = to_data_ ? begin[i] + shape_.pad[i] - t * d[i] : t * d[i] - shape_.pad[i];
      if (to_data_ && at % s[i] != 0) continue;
      if (last < 0) phase.first[i] = t;
      else phase.every[i] = t - last;  // the same each time
      last = t;
      found[i].push_back(to_data_ ? at / s[i] : at);
    }
    phase.taps[i] = static_cast<Index>(found[i].size());
    phase.whole &= phase.taps[i] == shape_.kernel[i];
  }
  if (volume(phase.taps) == 0) phase.taps = {0, 0, 0};  // nothing to sum, however many there are along one axis
  if (!phase.whole && phase.taps[0] > 0) phase.layers = phase.taps[0];
  for (Index z : found[0])
    for (Index y : found[1])
      for (Index x : found[2]) phase.windows.at.push_back({z, y, x});
  return phase;
}

void Product::plan(Phase& phase, int threads) {
  const Index windows = together_ * volume(phase.windows.count), depth = channels_ * phase.offsets.size();
  phase.slice = std::clamp<Index>(SLICE / std::max<Index>(1, phase.layer()), 1, channels_);
  phase.slice = ceiling(channels_, ceiling(channels_, phase.slice));
  phase.slices = ceiling(channels_, phase.slice) * phase.layers;
  // Where weights are larger than images, each thread should read but its part of them.
  phase.shared = threads > 1 && shape_.groups == 1 && rows_ * depth > (Index{1} << 17) && windows <= 4 * Columns::MOST &&
                 depth * windows <= SHARED && 2.0 * windows * depth * rows_ > WORTH;
  if (phase.shared) {
    phase.columns = Columns::MOST;
    panels_ = std::max(panels_, ceiling(depth * ceiling(windows, WIDTH) * WIDTH, threads));
    return;
  }
  const double work = 2.0 * windows * depth * rows_ * shape_.groups;
  const Index chunks = threads == 1 ? 1 : std::clamp<Index>(static_cast<Index>(work / WORTH), 1, 4 * threads);
  const Index columns = std::clamp<Index>(ceiling(windows, chunks), WIDTH, Columns::MOST);
  phase.columns = ceiling(columns, WIDTH) * WIDTH;
  phase.group_chunks = std::clamp<Index>(chunks / ceiling(windows, phase.columns), 1, shape_.groups);
  panels_ = std::max(panels_, phase.slice * phase.layer() * phase.columns);
}

Product::Part Product::part(const Phase& phase, Index slice) const {
  const Index each = phase.slices / phase.layers, channel = slice % each * phase.slice;
  return {slice / each, channel, std::min(phase.slice, channels_ - channel)};
}

Factor Product::factor(const Phase& phase, const float* weight, Index group, Index row, const Part& part) const {
  const Index taps = shape_.taps();
  const Loop once{1, 0};
  if (!to_data_)
    return {weight + ((group * rows_ + row) * channels_ + part.channel) * taps,
            channels_ * taps,
            {once, once, {part.channels * taps, 1}}};
  const Three &k = shape_.kernel, &first = phase.first;
  const float* base = weight + ((group * channels_ + part.channel) * rows_ + row) * taps;
  base += ((first[0] + part.layer * phase.every[0]) * k[1] + first[1]) * k[2] + first[2];
  const Loop channels{part.channels, rows_ * taps};
  if (phase.layer() == 1) return {base, taps, {once, once, channels}};
  if (phase.whole) return {base, taps, {once, channels, {taps, 1}}};
  return {base, taps, {channels, {phase.taps[1], phase.every[1] * k[2]}, {phase.taps[2], phase.every[2]}}};
}

// One panel after the other, for `count` columns.
void Product::panels(const Phase& phase, const Columns& columns, Index count, const Part& part, const float* from,
                     float* to) const {
  const Index plane = layout_.plane(), layer = phase.layer();
  for (Index c = 0; c < count; c += WIDTH, to += part.channels * layer * WIDTH)
    build(columns, c / 16, std::min<Index>(BLOCKS, ceiling(count - c, 16)), from + part.channel * plane, part.channels, plane,
          phase.offsets.data() + part.layer * layer, layer, to);
}

// `rows` rows of results from panels of `count` columns
void Product::multiply(const Factor& first, const float* panels, const Columns& results, Index count, Index rows,
                       const float* bias, bool fresh, float* out) const {
  alignas(64) float sums[ROWS * WIDTH];
  const Index depth = first.depth();
  const bool far = rows * depth > (1 << 16);  // what does not come from the caches by itself
  for (Index column = 0; column < count; column += WIDTH, panels += depth * WIDTH) {
    const int blocks = static_cast<int>(std::min<Index>(BLOCKS, ceiling(count - column, 16)));
    for (Index row = 0; row < rows; row += ROWS) {
      const int height = static_cast<int>(std::min<Index>(ROWS, rows - row));
      Factor factor = first, next = first;
      factor.data += row * first.row_step;
      next.data = factor.data + ROWS * first.row_step;
      if (far && column == 0) prefetch(next, std::min<Index>(ROWS, rows - row - height));
      micro(height, blocks)(factor, panels, sums);
      float* planes[ROWS];
      for (int r = 0; r < height; ++r) planes[r] = out + (row + r) * to_plane_;
      put(results, column / 16, blocks, height, sums, fresh, bias ? bias + row : nullptr, planes);
    }
  }
}

void Product::run_shared(const Run& run, const Phase& phase, const float* from, float* panels, Index windows,
                         float* out) const {
  const float* weight = run.input<float>(weight_);
  const float* bias = bias_ < 0 ? nullptr : run.input<float>(bias_);
  const Lattice lattice = layout_.lattice(phase.windows, from_channels_);
  const Index sets = ceiling(windows, Columns::MOST), padded = ceiling(windows, WIDTH) * WIDTH, layer = phase.layer();
  // slices of all windows one after the other, each in panels
  auto place = [&](const Part& p, Index set) {
    return panels + (p.layer * channels_ + p.channel) * layer * padded + set * Columns::MOST * p.channels * layer;
  };
  run.parallel(phase.slices * sets, [&](Index i, int) {
    const Index set = i % sets, begin = set * Columns::MOST, end = std::min(windows, begin + Columns::MOST);
    const Part p = part(phase, i / sets);
    Columns columns;
    columns.fill(phase.windows.count, lattice, begin, end);
    this->panels(phase, columns, end - begin, p, from, place(p, set));
  });
  const Index tiles = ceiling(rows_, ROWS), chunks = std::min<Index>(tiles, 4 * run.threads());
  run.parallel(chunks, [&](Index i, int) {
    const Index begin = i * tiles / chunks * ROWS, end = std::min(rows_, (i + 1) * tiles / chunks * ROWS);
    Columns results[4];
    for (Index set = 0; set < sets; ++set)
      results[set].fill(phase.windows.count, phase.results, set * Columns::MOST, std::min(windows, (set + 1) * Columns::MOST));
    for (Index slice = 0; slice < phase.slices; ++slice) {
      const Part p = part(phase, slice);
      for (Index set = 0; set < sets; ++set)
        multiply(factor(phase, weight, 0, begin, p), place(p, set), results[set],
                 std::min(windows - set * Columns::MOST, Columns::MOST), end - begin, bias ? bias + begin : nullptr, slice == 0,
                 out + begin * to_plane_);
    }
  });
}

void Product::run_apart(const Run& run, const Phase& phase, const float* from, float* panels, Index windows, float* out) const {
  const float* weight = run.input<float>(weight_);
  const float* bias = bias_ < 0 ? nullptr : run.input<float>(bias_);
  const Lattice lattice = layout_.lattice(phase.windows, from_channels_);
  const Index chunks = ceiling(windows, phase.columns), plane = layout_.plane();
  const Index room = static_cast<Index>(aligned(panels_ * sizeof(float)) / sizeof(float));
  run.parallel(chunks * phase.group_chunks, [&](Index i, int thread) {
    const Index begin = i / phase.group_chunks * phase.columns, end = std::min(windows, begin + phase.columns);
    const Index share = i % phase.group_chunks;
    float* mine = panels + thread * room;
    Columns columns, results;
    columns.fill(phase.windows.count, lattice, begin, end);
    results.fill(phase.windows.count, phase.results, begin, end);
    for (Index g = share * shape_.groups / phase.group_chunks; g < (share + 1) * shape_.groups / phase.group_chunks; ++g)
      for (Index slice = 0; slice < phase.slices; ++slice) {
        const Part p = part(phase, slice);
        this->panels(phase, columns, end - begin, p, from + g * channels_ * plane, mine);
        multiply(factor(phase, weight, g, 0, p), mine, results, end - begin, rows_, bias ? bias + g * rows_ : nullptr,
                 slice == 0, out + g * rows_ * to_plane_);
      }
  });
}

void Product::run(const Run& run) const {
  if (shape_.empty()) {  // nothing to sum
    const float* bias = bias_ < 0 ? nullptr : run.input<float>(bias_);
    float* out = run.output<float>();
    for (Index i = 0; i < shape_.batch * to_channels_; ++i)
      for (Index p = 0; p < to_plane_; ++p) *out++ = bias ? bias[i % to_channels_] : 0.f;
    return;
  }
  float* copies = reinterpret_cast<float*>(run.scratch);
  float* panels = reinterpret_cast<float*>(run.scratch + panels_at_);
  const Index from_plane = volume(layout_.size), plane = layout_.plane();
  for (Index n = 0; n < shape_.batch; n += together_) {
    const Index images = std::min(together_, shape_.batch - n);
    const float* from = run.input<float>(images_) + n * from_channels_ * from_plane;
    if (layout_.copied) {
      run.ranges(images * from_channels_, ceiling(1 << 14, plane), [&](Index begin, Index end, int) {
        for (Index i = begin; i < end; ++i) layout_.copy(from + i * from_plane, copies + i * plane);
      });
      from = copies;
    }
    float* out = run.output<float>() + n * to_channels_ * to_plane_;
    for (const auto& phase : phases_) {
      const Index windows = images * volume(phase.windows.count);
      float* first = out + phase.start;
      if (phase.shared) run_shared(run, phase, from, panels, windows, first);
      else run_apart(run, phase, from, panels, windows, first);
    }
  }
}

}  // namespace gluonnx::backward
