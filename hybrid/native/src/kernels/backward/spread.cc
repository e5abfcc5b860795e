#include "spread.h"

namespace gluonnx::backward {
namespace {

constexpr Index PANEL_ROWS = 256;         // rows of a panel
constexpr Index PLANES = Index{1} << 18;  // elements that are added to, at a time: 1 MB

}  // namespace

bool Spread::better(const Shape& s) {
  // cycles for sixteen elements of a row of panels, and of a row of results: more when they are not neighbours
  const double gather = s.in[2] / s.stride[2] >= 16 ? 4 : 20;
  const double put = s.stride[2] > 1 ? 40 : s.out[2] >= 16 ? 8 : s.out[2] % 8 == 0 ? 14 : 40;
  const double taps = static_cast<double>(s.taps());
  const double by_gathering = s.group_filters() * taps * volume(s.in) / volume(s.stride) * (gather + s.group_channels() / 2.0);
  const double by_spreading = s.group_channels() * taps * volume(s.out) * (put + s.group_filters() / 2.0);
  return by_spreading < by_gathering;
}

Spread::Spread(const Shape& shape, int images, int weight, int bias, int threads)
    : shape_(shape), images_(images), weight_(weight), bias_(bias) {
  flops = shape.flops();
  how = "spread to data";
  for (int i = 0; i < 3; ++i)
    whole_[i] = std::max((shape.out[i] - 1) * shape.stride[i] + (shape.kernel[i] - 1) * shape.dilate[i] + 1,
                         shape.pad[i] + shape.in[i]);
  plane_ = volume(whole_);
  from_plane_ = volume(shape.out);
  const Three &k = shape.kernel, &d = shape.dilate, &s = shape.stride;
  for (Index t = 0; t < shape.taps(); ++t)
    offsets_.push_back((t / (k[1] * k[2]) * d[0] * whole_[1] + t / k[2] % k[1] * d[1]) * whole_[2] + t % k[2] * d[2]);
  const Index channels = shape.group_channels();
  const Index chunks = threads == 1 || flops < WORTH ? 1 : 4 * threads;
  together_ = std::clamp<Index>(Columns::MOST / from_plane_, 1, std::max<Index>(1, shape.batch / chunks));
  parts_ = std::max(chunks / (ceiling(shape.batch, together_) * shape.groups), channels * plane_ * together_ / PLANES);
  parts_ = std::clamp<Index>(parts_, 1, channels);
  slice_ = std::min(PANEL_ROWS, shape.group_filters());
  const Index rows = s[1] * whole_[2];
  lattice_ = {shape.filters * from_plane_, shape.out[1] * shape.out[2], shape.out[2], 1};
  results_ = {ceiling(channels, parts_) * plane_, s[0] * whole_[1] * whole_[2], rows, s[2]};
  panels_ = slice_ * Columns::MOST;
  planes_ = ceiling(together_ * ceiling(channels, parts_) * plane_, 16) * 16;
  scratch = threads * (panels_ + planes_) * sizeof(float);
}

void Spread::run(const Run& run) const {
  const float* weight = run.input<float>(weight_);
  const float* bias = bias_ < 0 ? nullptr : run.input<float>(bias_);
  const Index channels = shape_.group_channels(), filters = shape_.group_filters(), taps = shape_.taps();
  const Index to_plane = volume(shape_.in), chunks = ceiling(shape_.batch, together_);
  const Loop once{1, 0};
  const Index zero = 0;
  auto item = [&](Index i, int thread) {
    const Index part = i % parts_, group = i / parts_ % shape_.groups, image = i / parts_ / shape_.groups * together_;
    const Index images = std::min(together_, shape_.batch - image);
    const Index begin = part * channels / parts_, end = (part + 1) * channels / parts_;
    float* panels = reinterpret_cast<float*>(run.scratch) + thread * (panels_ + planes_);
    float* planes = panels + panels_;
    for (Index n = 0; n < images; ++n) std::memset(planes + n * results_.image, 0, (end - begin) * plane_ * sizeof(float));
    const float* from = run.input<float>(images_) + (image * shape_.filters + group * filters) * from_plane_;
    const Index windows = images * from_plane_;
    for (Index first = 0; first < windows; first += Columns::MOST) {
      const Index count = std::min(Columns::MOST, windows - first);
      Columns columns, results;
      columns.fill(shape_.out, lattice_, first, first + count);
      results.fill(shape_.out, results_, first, first + count);
      for (Index filter = 0; filter < filters; filter += slice_) {
        const Index slice = std::min(slice_, filters - filter);
        const Factor all{
            weight + ((group * filters + filter) * channels + begin) * taps, 1, {once, once, {slice, channels * taps}}};
        for (Index c = 0; c < count; c += WIDTH) {
          const int blocks = static_cast<int>(std::min<Index>(BLOCKS, ceiling(count - c, 16)));
          build(columns, c / 16, blocks, from + filter * from_plane_, slice, from_plane_, &zero, 1, panels);
          // Rows of a tile are channels at one tap, where there are enough: what is added goes to planes of their own then,
          // and no addition waits for the one before it.
          const bool apart = end - begin >= ROWS / 2;
          const Index turns = apart ? taps : 1, rows = (end - begin) * taps / turns;
          const Index height = ceiling(rows, ceiling(rows, ROWS));
          alignas(64) float sums[ROWS * WIDTH];
          for (Index turn = 0; turn < turns; ++turn)
            for (Index row = 0; row < rows; row += height) {
              const int tall = static_cast<int>(std::min(height, rows - row));
              Factor factor = all;
              factor.data += apart ? row * taps + turn : row;
              factor.row_step = apart ? taps : 1;
              micro(tall, blocks)(factor, panels, sums);
              float* to[ROWS];
              for (int r = 0; r < tall; ++r) {
                const Index at = apart ? (row + r) * taps + turn : row + r;
                to[r] = planes + at / taps * plane_ + offsets_[at % taps];
              }
              put(results, c / 16, blocks, tall, sums, false, nullptr, to);
            }
        }
      }
    }
    const Three &size = shape_.in, &pad = shape_.pad;
    for (Index n = 0; n < images; ++n)
      for (Index c = begin; c < end; ++c) {
        const Index channel = group * channels + c;
        const float* plane = planes + n * results_.image + (c - begin) * plane_;
        float* to = run.output<float>() + ((image + n) * shape_.channels + channel) * to_plane;
        const float start = bias ? bias[channel] : 0.f;
        for (Index z = 0; z < size[0]; ++z)
          for (Index y = 0; y < size[1]; ++y, to += size[2]) {
            const float* line = plane + ((z + pad[0]) * whole_[1] + y + pad[1]) * whole_[2] + pad[2];
            for (Index x = 0; x < size[2]; ++x) to[x] = line[x] + start;
          }
      }
  };
  const Index items = chunks * shape_.groups * parts_;
  if (flops < WORTH)
    for (Index i = 0; i < items; ++i) item(i, 0);
  else run.parallel(items, item);
}

}  // namespace gluonnx::backward
