#include "product.h"

namespace gluonnx::backward {
namespace {

constexpr Index SLICE = 128;              // rows of a panel that stay in the first cache: 32 KB
constexpr Index COPIES = Index{8} << 20;  // elements of copied images at a time
constexpr Index SHARED = Index{2} << 20;  // elements of panels that threads may share
constexpr double WORTH = 4e6;             // flops that are worth handing over

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

  const Three& s = shape.stride;
  const Three every = to_data ? s : Three{1, 1, 1};  // which results a phase has
  for (Index z = 0; z < every[0]; ++z)
    for (Index y = 0; y < every[1]; ++y)
      for (Index x = 0; x < every[2]; ++x) {
        const Three begin{z, y, x};
        Phase phase;
        for (int i = 0; i < 3; ++i) phase.windows.count[i] = std::max<Index>(0, ceiling(to[i] - begin[i], every[i]));
        if (!to_data) phase.windows.step = s;
        for (Index t = 0; t < shape.taps(); ++t) {
          const Three& k = shape.kernel;
          const Three tap{t / (k[1] * k[2]), t / k[2] % k[1], t % k[2]};
          Three at;
          bool meets = true;
          for (int i = 0; i < 3; ++i) {
            at[i] = tap[i] * shape.dilate[i] - shape.pad[i];
            if (!to_data) continue;
            at[i] = begin[i] - at[i];
            meets &= at[i] % s[i] == 0;
            at[i] /= s[i];
          }
          if (!meets) continue;
          phase.which.push_back(t);
          phase.windows.at.push_back(at);
        }
        phase.start = (z * to[1] + y) * to[2] + x;
        phase.results = {to_channels_ * to_plane_, every[0] * to[1] * to[2], every[1] * to[2], every[2]};
        if (volume(phase.windows.count)) phases_.push_back(std::move(phase));
      }
  std::vector<Windows> readers;
  for (const auto& phase : phases_) readers.push_back(phase.windows);
  layout_ = Layout(from, readers);
  packs_ = to_data && phases_.size() > 1;

  const Index image = from_channels_ * layout_.plane(), result = to_channels_ * to_plane_;
  const Index most = layout_.copied ? COPIES : Index{1} << 30;
  together_ = std::clamp<Index>(most / std::max(image, result), 1, shape.batch);
  Index packed = 0;
  for (auto& phase : phases_) {
    for (const auto& at : phase.windows.at) phase.offsets.push_back(layout_.tap(at));
    phase.packed = packed;
    packed += shape.groups * rows_ * channels_ * phase.taps();
    plan(phase, threads);
  }
  packed_at_ = layout_.copied ? aligned(together_ * image * sizeof(float)) : 0;
  panels_at_ = packed_at_ + (packs_ ? aligned(packed * sizeof(float)) : 0);
  scratch = panels_at_ + threads * aligned(panels_ * sizeof(float));
}

void Product::plan(Phase& phase, int threads) {
  const Index windows = together_ * volume(phase.windows.count), depth = channels_ * phase.taps();
  phase.slice = std::clamp<Index>(SLICE / std::max<Index>(1, phase.taps()), 1, channels_);
  phase.slices = ceiling(channels_, phase.slice);
  phase.slice = ceiling(channels_, phase.slices);
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
  panels_ = std::max(panels_, phase.slice * phase.taps() * phase.columns);
}

// weights of each phase as (group, row, channel, tap)
void Product::pack(const Run& run, const float* weight, float* packed) const {
  const Index taps = shape_.taps();
  run.ranges(shape_.groups * rows_, ceiling(1 << 14, channels_ * taps), [&](Index begin, Index end, int) {
    for (const auto& phase : phases_) {
      float* to = packed + phase.packed + begin * channels_ * phase.taps();
      for (Index i = begin; i < end; ++i) {
        const float* row = weight + (i / rows_ * channels_ * rows_ + i % rows_) * taps;
        for (Index c = 0; c < channels_; ++c)
          for (Index t : phase.which) *to++ = row[c * rows_ * taps + t];
      }
    }
  });
}

Factor Product::factor(const Phase& phase, const float* weight, const float* packed, Index group, Index row, Index channel,
                       Index channels) const {
  const Index taps = phase.taps();
  if (!to_data_ || packs_) {
    const float* base = packs_ ? packed + phase.packed : weight;
    return {base + ((group * rows_ + row) * channels_ + channel) * taps, channels_ * taps, 0, 1, 1, channels * taps};
  }
  const float* base = weight + ((group * channels_ + channel) * rows_ + row) * taps;
  if (taps == 1) return {base, 1, 0, rows_, 1, channels};
  return {base, taps, rows_ * taps, 1, channels, taps};
}

// `rows` rows of results from panels of `count` columns
void Product::multiply(const Phase& phase, const Factor& first, const float* panels, const Columns& results, Index count,
                       Index rows, const float* bias, bool fresh, float* out) const {
  alignas(64) float sums[ROWS * WIDTH];
  const Index depth = first.outer * first.inner;
  for (Index column = 0; column < count; column += WIDTH, panels += depth * WIDTH) {
    const int blocks = static_cast<int>(std::min<Index>(BLOCKS, ceiling(count - column, 16)));
    for (Index row = 0; row < rows; row += ROWS) {
      const int height = static_cast<int>(std::min<Index>(ROWS, rows - row));
      Factor factor = first;
      factor.data += row * first.row_step;
      micro(height, blocks)(factor, panels, sums);
      for (int r = 0; r < height; ++r) {
        float* plane = out + (row + r) * to_plane_;
        const float start = fresh && bias ? bias[row + r] : 0.f;
        for (int b = 0; b < blocks; ++b) {
          const Index from = column + 16 * b;
          const float* sum = sums + (r * blocks + b) * 16;
          const std::int32_t* at = results.at + from;
          if (results.side_by_side[from / 16]) {
            float* to = plane + at[0];
            store(to, (fresh ? splat(start) : load(to)) + load(sum));
          } else {
            const Index n = std::min<Index>(16, count - from);
            for (Index i = 0; i < n; ++i) plane[at[i]] = (fresh ? start : plane[at[i]]) + sum[i];
          }
        }
      }
    }
  }
}

void Product::run_shared(const Run& run, const Phase& phase, const float* from, const float* weight, const float* packed,
                         const float* bias, float* panels, Index windows, float* out) const {
  const Lattice lattice = layout_.lattice(phase.windows, from_channels_);
  const Index taps = phase.taps(), sets = ceiling(windows, Columns::MOST), padded = ceiling(windows, WIDTH) * WIDTH;
  // slices of all windows one after the other, each in panels
  auto place = [&](Index slice, Index set) {
    const Index channel = slice * phase.slice, channels = std::min(phase.slice, channels_ - channel);
    return panels + channel * taps * padded + set * Columns::MOST * channels * taps;
  };
  run.parallel(phase.slices * sets, [&](Index i, int) {
    const Index slice = i / sets, set = i % sets;
    const Index begin = set * Columns::MOST, end = std::min(windows, begin + Columns::MOST);
    const Index channel = slice * phase.slice, channels = std::min(phase.slice, channels_ - channel);
    Columns columns;
    columns.fill(phase.windows.count, lattice, begin, end);
    float* to = place(slice, set);
    for (Index c = 0; c < end - begin; c += WIDTH, to += channels * taps * WIDTH)
      build(columns, c / 16, std::min<Index>(BLOCKS, ceiling(end - begin - c, 16)), from + channel * layout_.plane(), channels,
            layout_.plane(), phase.offsets, to);
  });
  const Index tiles = ceiling(rows_, ROWS), chunks = std::min<Index>(tiles, 4 * run.threads());
  run.parallel(chunks, [&](Index i, int) {
    const Index begin = i * tiles / chunks * ROWS, end = std::min(rows_, (i + 1) * tiles / chunks * ROWS);
    Columns results[4];
    for (Index set = 0; set < sets; ++set)
      results[set].fill(phase.windows.count, phase.results, set * Columns::MOST, std::min(windows, (set + 1) * Columns::MOST));
    for (Index slice = 0; slice < phase.slices; ++slice) {
      const Index channel = slice * phase.slice, channels = std::min(phase.slice, channels_ - channel);
      const Factor first = factor(phase, weight, packed, 0, begin, channel, channels);
      for (Index set = 0; set < sets; ++set)
        multiply(phase, first, place(slice, set), results[set], std::min(windows - set * Columns::MOST, Columns::MOST),
                 end - begin, bias ? bias + begin : nullptr, slice == 0, out + begin * to_plane_);
    }
  });
}

void Product::run_apart(const Run& run, const Phase& phase, const float* from, const float* weight, const float* packed,
                        const float* bias, float* panels, Index windows, float* out) const {
  const Lattice lattice = layout_.lattice(phase.windows, from_channels_);
  const Index chunks = ceiling(windows, phase.columns), plane = layout_.plane();
  const Index room = static_cast<Index>(aligned(panels_ * sizeof(float)) / sizeof(float));
  run.parallel(chunks * phase.group_chunks, [&](Index i, int thread) {
    const Index begin = i / phase.group_chunks * phase.columns, end = std::min(windows, begin + phase.columns);
    const Index part = i % phase.group_chunks;
    float* mine = panels + thread * room;
    Columns columns, results;
    columns.fill(phase.windows.count, lattice, begin, end);
    results.fill(phase.windows.count, phase.results, begin, end);
    for (Index g = part * shape_.groups / phase.group_chunks; g < (part + 1) * shape_.groups / phase.group_chunks; ++g)
      for (Index channel = 0; channel < channels_; channel += phase.slice) {
        const Index channels = std::min(phase.slice, channels_ - channel);
        float* to = mine;
        for (Index c = 0; c < end - begin; c += WIDTH, to += channels * phase.taps() * WIDTH)
          build(columns, c / 16, std::min<Index>(BLOCKS, ceiling(end - begin - c, 16)), from + (g * channels_ + channel) * plane,
                channels, plane, phase.offsets, to);
        multiply(phase, factor(phase, weight, packed, g, 0, channel, channels), mine, results, end - begin, rows_,
                 bias ? bias + g * rows_ : nullptr, channel == 0, out + g * rows_ * to_plane_);
      }
  });
}

void Product::run(const Run& run) const {
  const float* weight = run.input<float>(weight_);
  const float* bias = bias_ < 0 ? nullptr : run.input<float>(bias_);
  if (shape_.empty()) {  // nothing to sum
    float* out = run.output<float>();
    for (Index i = 0; i < shape_.batch * to_channels_; ++i)
      for (Index p = 0; p < to_plane_; ++p) *out++ = bias ? bias[i % to_channels_] : 0.f;
    return;
  }
  float* copies = reinterpret_cast<float*>(run.scratch);
  float* packed = reinterpret_cast<float*>(run.scratch + packed_at_);
  float* panels = reinterpret_cast<float*>(run.scratch + panels_at_);
  if (packs_) pack(run, weight, packed);
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
      if (phase.shared) run_shared(run, phase, from, weight, packed, bias, panels, windows, first);
      else run_apart(run, phase, from, weight, packed, bias, panels, windows, first);
    }
  }
}

}  // namespace gluonnx::backward
