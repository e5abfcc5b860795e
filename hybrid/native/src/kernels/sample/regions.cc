// Pooling over regions of interest: ROIPooling, PSROIPooling, and ROIAlign of MXNet and of ONNX. Regions are data: what is none
// of any image is left to NumPy, which says so.
#include <cmath>
#include <limits>

#include "../move/move.h"

namespace gluonnx {
namespace {

constexpr float FAR = 1e8f;                 // corners beyond, and what is no number, are left to NumPy
constexpr std::int64_t MOST_SAMPLES = 1 << 16;  // of a cell along an axis

bool near(float x) { return x > -FAR && x < FAR; }

// To the nearest whole number, halves away from zero.
std::int64_t whole(float x) { return static_cast<std::int64_t>(x + std::copysign(0.5f, x)); }

// Maps (images, channels, height, width), and results (regions, planes, rows, columns).
struct Sizes {
  std::int64_t images, channels, height, width, regions, planes, rows, columns;

  Sizes(const Tensor& data, const Tensor& out) {
    want(data.rank() == 4 && out.rank() == 4 && data.dtype == DType::f32 && out.dtype == DType::f32);
    images = data.shape[0], channels = data.shape[1], height = data.shape[2], width = data.shape[3];
    regions = out.shape[0], planes = out.shape[1], rows = out.shape[2], columns = out.shape[3];
    want(height > 0 && width > 0 && rows > 0 && columns > 0 && std::max(height, width) < (1 << 24));
  }
  std::int64_t area() const { return height * width; }
  std::int64_t cells() const { return rows * columns; }
};

// The image of a region; below 0 there is none.
std::int64_t image_of(float given, std::int64_t images) {
  want_value(near(given));
  const auto image = static_cast<std::int64_t>(given);
  want_value(image < images);
  return image;
}

// f(region, first, last, thread) for some planes of each region, all of them but where threads share them.
template <class F>
void each_region(const Run& run, const Sizes& s, std::int64_t bytes, F&& f) {
  run.ranges(s.regions * s.planes, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int thread) {
    while (begin < end) {
      const std::int64_t first = begin % s.planes, last = std::min(s.planes, first + end - begin);
      f(begin / s.planes, first, last, thread);
      begin += last - first;
    }
  });
}

// Where the cells of a region begin and end along an axis.
struct Cells {
  std::int64_t* from;
  std::int64_t* to;
};

// The cells of ROIPooling.
class RoiCells : public Kernel {
 protected:
  RoiCells(const Call& call, const Tensor& data, const Tensor& result, const Tensor& regions)
      : sizes_(data, result), scale_(static_cast<float>(call.attrs.real("spatial_scale"))) {
    call.attrs.ignore("pooled_size");
    want(sizes_.planes == sizes_.channels && regions.dtype == DType::f32);
    want_size(regions, times(sizes_.regions, 5));
    each_ = aligned(times(2, sizes_.rows + sizes_.columns, sizeof(std::int64_t)));
    sure = false;
  }

  // Gives the image of a region; its cells lie in memory of `each_` bytes.
  std::int64_t place(const float* roi, std::byte* memory, Cells& rows, Cells& columns) const {
    auto* at = reinterpret_cast<std::int64_t*>(memory);
    rows = {at, at + sizes_.rows}, columns = {at + 2 * sizes_.rows, at + 2 * sizes_.rows + sizes_.columns};
    const std::int64_t image = image_of(roi[0], sizes_.images);
    if (image < 0) return image;
    edges(roi[2], roi[4], sizes_.rows, sizes_.height, rows);
    edges(roi[1], roi[3], sizes_.columns, sizes_.width, columns);
    return image;
  }

  Sizes sizes_;
  std::size_t each_;

 private:
  void edges(float low, float high, std::int64_t count, std::int64_t limit, const Cells& cells) const {
    const float start = low * scale_, end = high * scale_;
    want_value(near(start) && near(end));
    const std::int64_t first = whole(start);
    const float size = static_cast<float>(std::max<std::int64_t>(whole(end) - first + 1, 1)) / static_cast<float>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      cells.from[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(static_cast<float>(i) * size)) + first, 0, limit);
      cells.to[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(static_cast<float>(i + 1) * size)) + first, 0, limit);
    }
  }

  float scale_;
};

class RoiPooling : public RoiCells {
 public:
  explicit RoiPooling(const Call& call) : RoiCells(call, call.in[0], call.out[0], call.in[1]) {
    thread_ = each_ + aligned(times(sizes_.width, sizeof(float)));
    scratch = times(thread_, call.threads);
    how = "maxima";
  }

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    each_region(run, s, 16 * s.cells() + s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      std::byte* memory = run.scratch + thread * thread_;
      Cells rows, columns;
      const std::int64_t image = place(run.input<float>(1) + 5 * region, memory, rows, columns);
      float* out = run.output<float>() + (region * s.planes + first) * s.cells();
      if (image < 0) return static_cast<void>(std::fill_n(out, (last - first) * s.cells(), 0.f));
      for (std::int64_t c = first; c < last; ++c, out += s.cells())
        maxima(run.input<float>(0) + (image * s.channels + c) * s.area(), rows, columns, reinterpret_cast<float*>(memory + each_), out);
    });
  }

 private:
  // NumPy's maximum: NaN wins.
  static float larger(float all, float more) { return more > all || more != more ? more : all; }

  // The maxima of all cells of a map, 0 of those with nothing in them: of each column first, in `line`.
  void maxima(const float* map, const Cells& rows, const Cells& columns, float* __restrict line, float* out) const {
    const std::int64_t left = columns.from[0], right = columns.to[sizes_.columns - 1];
    for (std::int64_t i = 0; i < sizes_.rows; ++i) {
      const bool any = rows.from[i] < rows.to[i];
      for (std::int64_t y = rows.from[i]; y < rows.to[i]; ++y) {
        const float* __restrict row = map + y * sizes_.width;
        if (y == rows.from[i])
          for (std::int64_t x = left; x < right; ++x) line[x] = row[x];
        else
          for (std::int64_t x = left; x < right; ++x) line[x] = larger(line[x], row[x]);
      }
      for (std::int64_t j = 0; j < sizes_.columns; ++j) {
        const std::int64_t from = columns.from[j], to = columns.to[j];
        float found = any && from < to ? line[from] : 0;
        for (std::int64_t x = from + 1; any && x < to; ++x) found = larger(found, line[x]);
        *out++ = found;
      }
    }
  }

  std::size_t thread_;  // bytes of scratch of each
};

// f(region, first, last, thread) for all regions and some planes at a time, so that what a plane gets comes in one order.
template <class F>
void each_region_of_planes(const Run& run, const Sizes& s, std::int64_t bytes, F&& f) {
  float* dx = run.output<float>();
  run.ranges(s.channels, grain_of(s.regions * bytes + s.images * s.area() * 4), [&](std::int64_t first, std::int64_t last, int thread) {
    for (std::int64_t n = 0; n < s.images; ++n) std::fill_n(dx + (n * s.channels + first) * s.area(), (last - first) * s.area(), 0.f);
    for (std::int64_t r = 0; r < s.regions; ++r) f(r, first, last, thread);
  });
}

// The first maximum of each cell gets what the cell gets. Operands: dy, data, regions.
class RoiPoolingBack : public RoiCells {
 public:
  explicit RoiPoolingBack(const Call& call) : RoiCells(call, call.in[1], call.in[0], call.in[2]) {
    want(call.out[0].dtype == DType::f32 && call.out[0].shape == call.in[1].shape);
    scratch = times(each_, call.threads);
    how = "to maxima";
  }

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    each_region_of_planes(run, s, 16 * s.cells() + s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      Cells rows, columns;
      const std::int64_t image = place(run.input<float>(2) + 5 * region, run.scratch + thread * each_, rows, columns);
      if (image < 0) return;
      for (std::int64_t c = first; c < last; ++c) {
        const std::int64_t plane = (image * s.channels + c) * s.area();
        const float* dy = run.input<float>(0) + (region * s.planes + c) * s.cells();
        for (std::int64_t i = 0; i < s.rows; ++i)
          for (std::int64_t j = 0; j < s.columns; ++j, ++dy) {
            const std::int64_t at = first_largest(run.input<float>(1) + plane, rows.from[i], rows.to[i], columns.from[j], columns.to[j]);
            if (at >= 0) run.output<float>()[plane + at] += *dy;
          }
      }
    });
  }

 private:
  // -1 where the cell is empty
  std::int64_t first_largest(const float* map, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) const {
    if (top >= bottom || left >= right) return -1;
    std::int64_t found = top * sizes_.width + left;
    for (std::int64_t y = top; y < bottom; ++y)
      for (std::int64_t x = left; x < right; ++x) {
        const float v = map[y * sizes_.width + x];
        if (map[found] != map[found]) return found;
        if (v > map[found] || v != v) found = y * sizes_.width + x;
      }
    return found;
  }
};

class PsRoiPooling : public Kernel {
 public:
  explicit PsRoiPooling(const Call& call) : sizes_(call.in[0], call.out[0]), scale_(static_cast<float>(call.attrs.real("spatial_scale"))) {
    const std::int64_t cells = call.attrs.integer("pooled_size"), groups = call.attrs.integer("group_size");
    groups_ = groups ? groups : cells;
    want(sizes_.rows == cells && sizes_.columns == cells && call.attrs.integer("output_dim") == sizes_.planes);
    want(groups_ >= 1 && groups_ < (1 << 20) && sizes_.channels == times(sizes_.planes, groups_, groups_));
    want(call.in[1].dtype == DType::f32);
    want_size(call.in[1], times(sizes_.regions, 5));
    each_ = aligned(times(4, cells, sizeof(std::int64_t)));
    scratch = times(each_, call.threads);
    sure = false;
    how = "means";
  }

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    each_region(run, s, 16 * s.cells() + s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      auto* memory = reinterpret_cast<std::int64_t*>(run.scratch + thread * each_);
      const Cells rows{memory, memory + s.rows}, columns{memory + 2 * s.rows, memory + 3 * s.rows};
      const float* roi = run.input<float>(1) + 5 * region;
      const std::int64_t image = image_of(roi[0], s.images);
      edges(roi[2], roi[4], s.height, rows);
      edges(roi[1], roi[3], s.width, columns);
      float* out = run.output<float>() + (region * s.planes + first) * s.cells();
      if (image < 0) return static_cast<void>(std::fill_n(out, (last - first) * s.cells(), 0.f));
      for (std::int64_t p = first; p < last; ++p) {
        const float* maps = run.input<float>(0) + (image * s.channels + p * groups_ * groups_) * s.area();
        for (std::int64_t i = 0; i < s.rows; ++i)
          for (std::int64_t j = 0; j < s.columns; ++j) {
            const std::int64_t group = i * groups_ / s.rows * groups_ + j * groups_ / s.rows;
            *out++ = mean(maps + group * s.area(), rows.from[i], rows.to[i], columns.from[j], columns.to[j]);
          }
      }
    });
  }

 private:
  void edges(float low, float high, std::int64_t limit, const Cells& cells) const {
    want_value(near(low) && near(high));
    const float start = static_cast<float>(whole(low)) * scale_, end = static_cast<float>(whole(high) + 1) * scale_;
    const float size = std::max(end - start, 0.1f) / static_cast<float>(sizes_.rows);
    for (std::int64_t i = 0; i < sizes_.rows; ++i) {
      const float from = std::floor(static_cast<float>(i) * size + start), to = std::ceil(static_cast<float>(i + 1) * size + start);
      want_value(near(from) && near(to));
      cells.from[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(from), 0, limit);
      cells.to[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(to), 0, limit);
    }
  }

  float mean(const float* map, std::int64_t top, std::int64_t bottom, std::int64_t left, std::int64_t right) const {
    if (top >= bottom || left >= right) return 0;
    float total = 0;
    for (std::int64_t y = top; y < bottom; ++y) {
      float line = 0;
      for (std::int64_t x = left; x < right; ++x) line += map[y * sizes_.width + x];
      total += line;
    }
    return total / static_cast<float>((bottom - top) * (right - left));
  }

  Sizes sizes_;
  float scale_;
  std::int64_t groups_;
  std::size_t each_;
};

// Of the cells of a region along one axis: the pixels that samples lie between, and how much of the mean each is.
class Shares {
 public:
  static std::size_t bytes(std::int64_t cells, std::int64_t limit) {
    return aligned(times(cells + 1, sizeof(std::int64_t))) + 2 * aligned(times(cells, limit + 1, sizeof(float)));
  }

  Shares() = default;
  Shares(std::byte* memory, std::int64_t cells, std::int64_t limit) : cells_(cells), limit_(limit) {
    const std::size_t each = aligned(cells * (limit + 1) * sizeof(float));
    begin_ = reinterpret_cast<std::int64_t*>(memory);
    memory += aligned((cells + 1) * sizeof(std::int64_t));
    pixel_ = reinterpret_cast<std::int32_t*>(memory), weight_ = reinterpret_cast<float*>(memory + each);
  }

  // samples: of each cell; zeros: what lies outside reads pixel 0 with a weight of 0, as ONNX's rule does
  __attribute__((noinline))
  void place(float start, float size, std::int64_t samples, bool zeros) {
    const float cell = size / static_cast<float>(cells_), last = static_cast<float>(limit_ - 1);
    const auto count = static_cast<float>(samples);
    low_ = limit_, high_ = 0;
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < cells_; ++i) {
      const std::int64_t first = begin_[i] = n;
      bool outside = false;
      for (std::int64_t k = 0; k < samples; ++k) {
        const float within = (static_cast<float>(k) + 0.5f) * cell / count;
        float at = start + static_cast<float>(i) * cell + within;
        if (!(at >= -1 && at <= static_cast<float>(limit_))) {
          outside = true;
          continue;
        }
        at = at < 0 ? 0 : at > last ? last : at;
        const auto low = static_cast<std::int64_t>(at), high = std::min(low + 1, limit_ - 1);
        const float part = at - static_cast<float>(low);
        n = add(low, 1 - part, first, n);
        n = add(high, part, first, n);
      }
      if (outside && zeros) n = add(0, 0, first, n);
      for (std::int64_t k = first; k < n; ++k) weight_[k] /= count;
    }
    begin_[cells_] = n;
  }

  std::int64_t begin(std::int64_t cell) const { return begin_[cell]; }
  std::int64_t end(std::int64_t cell) const { return begin_[cell + 1]; }
  std::int64_t pixel(std::int64_t k) const { return pixel_[k]; }
  float weight(std::int64_t k) const { return weight_[k]; }
  // pixels [low, high) are all that there are
  std::int64_t low() const { return low_; }
  std::int64_t high() const { return high_; }

 private:
  // A share more of a pixel of the cell that begins at `first`. Samples come in order: it is one of the last two, or a new one.
  std::int64_t add(std::int64_t pixel, float weight, std::int64_t first, std::int64_t n) {
    for (std::int64_t k = n - 1; k >= first && k >= n - 2; --k)
      if (pixel_[k] == pixel) return weight_[k] += weight, n;
    low_ = std::min(low_, pixel), high_ = std::max(high_, pixel + 1);
    pixel_[n] = static_cast<std::int32_t>(pixel), weight_[n] = weight;
    return n + 1;
  }

  std::int64_t cells_ = 0, limit_ = 0, low_ = 0, high_ = 0;
  std::int64_t* begin_ = nullptr;
  std::int32_t* pixel_ = nullptr;
  float* weight_ = nullptr;
};

// Means of samples: they are separable, so that rows are added up first, and columns of these.
class Aligned : public Kernel {
 protected:
  Aligned(const Call& call, const Tensor& data, const Tensor& result) : sizes_(data, result) {
    rows_ = Shares::bytes(sizes_.rows, sizes_.height), columns_ = Shares::bytes(sizes_.columns, sizes_.width);
    each_ = rows_ + columns_ + aligned(times(sizes_.width, sizeof(float)));
    scratch = times(each_, call.threads);
    sure = false;
    how = "means of samples";
  }

  struct Memory {
    Shares rows, columns;
    float* line;
  };
  Memory memory(const Run& run, int thread) const {
    std::byte* at = run.scratch + thread * each_;
    return {Shares(at, sizes_.rows, sizes_.height), Shares(at + rows_, sizes_.columns, sizes_.width),
            reinterpret_cast<float*>(at + rows_ + columns_)};
  }

  // cells [first, last) of a map, row by row
  __attribute__((noinline))
  void means(const float* map, const Memory& m, float* out) const {
    const std::int64_t low = m.columns.low(), wide = m.columns.high() - low;
    for (std::int64_t i = 0; i < sizes_.rows; ++i, out += sizes_.columns) {
      std::fill(m.line, m.line + std::max<std::int64_t>(wide, 0), 0.f);
      float* __restrict line = m.line;
      for (std::int64_t k = m.rows.begin(i); k < m.rows.end(i); ++k) {
        const float* __restrict row = map + m.rows.pixel(k) * sizes_.width + low;
        const float weight = m.rows.weight(k);
        for (std::int64_t x = 0; x < wide; ++x) line[x] += row[x] * weight;
      }
      for (std::int64_t j = 0; j < sizes_.columns; ++j) {
        float sum = 0;
        for (std::int64_t k = m.columns.begin(j); k < m.columns.end(j); ++k) sum += line[m.columns.pixel(k) - low] * m.columns.weight(k);
        out[j] = sum;
      }
    }
  }

  // what each pixel of a map gets of the gradients of its cells
  __attribute__((noinline))
  void spread(const float* dy, const Memory& m, float* map) const {
    const std::int64_t low = m.columns.low(), wide = std::max<std::int64_t>(m.columns.high() - low, 0);
    for (std::int64_t i = 0; i < sizes_.rows; ++i, dy += sizes_.columns) {
      float* __restrict line = m.line;
      std::fill(line, line + wide, 0.f);
      for (std::int64_t j = 0; j < sizes_.columns; ++j)
        for (std::int64_t k = m.columns.begin(j); k < m.columns.end(j); ++k) line[m.columns.pixel(k) - low] += dy[j] * m.columns.weight(k);
      for (std::int64_t k = m.rows.begin(i); k < m.rows.end(i); ++k) {
        float* __restrict row = map + m.rows.pixel(k) * sizes_.width + low;
        const float weight = m.rows.weight(k);
        for (std::int64_t x = 0; x < wide; ++x) row[x] += line[x] * weight;
      }
    }
  }

  // the mean of one cell
  float mean(const float* map, const Memory& m, std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t k = m.rows.begin(i); k < m.rows.end(i); ++k) {
      const float* row = map + m.rows.pixel(k) * sizes_.width;
      float line = 0;
      for (std::int64_t l = m.columns.begin(j); l < m.columns.end(j); ++l) line += row[m.columns.pixel(l)] * m.columns.weight(l);
      sum += line * m.rows.weight(k);
    }
    return sum;
  }

  Sizes sizes_;

 private:
  std::size_t rows_, columns_, each_;
};

// MXNet's, and its gradient.
class MeanOfSamples : public Aligned {
 protected:
  MeanOfSamples(const Call& call, const Tensor& data, const Tensor& result, int rois)
      : Aligned(call, data, result), rois_(rois), scale_(static_cast<float>(call.attrs.real("spatial_scale"))) {
    call.attrs.ignore("pooled_size");
    samples_ = call.attrs.integer("sample_ratio"), aligned_ = call.attrs.flag("aligned");
    by_place_ = call.attrs.flag("position_sensitive");
    want(samples_ <= MOST_SAMPLES && call.in[rois].dtype == DType::f32);
    want(sizes_.channels == times(sizes_.planes, by_place_ ? sizes_.cells() : 1));
    want_size(call.in[rois], times(sizes_.regions, 5));
  }

  // regions of no image may not be empty either
  void want_regions(const Run& run) const {
    for (std::int64_t r = 0; r < sizes_.regions && aligned_; ++r) {
      const float* roi = run.input<float>(rois_) + 5 * r;
      for (int a : {1, 2}) want_value(corner(roi[a + 2]) - corner(roi[a]) > 0);
    }
  }

  // Gives the image of a region, and where it is sampled.
  std::int64_t place(const Run& run, std::int64_t region, Memory& m) const {
    const float* roi = run.input<float>(rois_) + 5 * region;
    const std::int64_t image = image_of(roi[0], sizes_.images);
    if (image < 0) return image;
    along(roi[2], roi[4], sizes_.rows, m.rows);
    along(roi[1], roi[3], sizes_.columns, m.columns);
    return image;
  }

  bool by_place_;

 private:
  float corner(float x) const { return x * scale_ - (aligned_ ? 0.5f : 0.f); }

  void along(float low, float high, std::int64_t cells, Shares& shares) const {
    const float start = corner(low), size = aligned_ ? corner(high) - start : std::max(corner(high) - start, 1.f);
    want_value(near(start) && near(size));
    const float cell = size / static_cast<float>(cells);
    want_value(cell <= static_cast<float>(MOST_SAMPLES));
    shares.place(start, size, samples_ > 0 ? samples_ : static_cast<std::int64_t>(std::ceil(cell)), false);
  }

  int rois_;
  float scale_;
  std::int64_t samples_;
  bool aligned_;
};

class RoiAlign : public MeanOfSamples {
 public:
  explicit RoiAlign(const Call& call) : MeanOfSamples(call, call.in[0], call.out[0], 1) {}

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    want_regions(run);
    each_region(run, s, 16 * s.cells() + 2 * s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      Memory m = memory(run, thread);
      const std::int64_t image = place(run, region, m);
      float* out = run.output<float>() + (region * s.planes + first) * s.cells();
      if (image < 0) return static_cast<void>(std::fill_n(out, (last - first) * s.cells(), 0.f));
      for (std::int64_t p = first; p < last; ++p, out += s.cells()) {
        const float* maps = run.input<float>(0) + image * s.channels * s.area();
        if (!by_place_) {
          means(maps + p * s.area(), m, out);
          continue;
        }
        for (std::int64_t c = 0; c < s.cells(); ++c)
          out[c] = mean(maps + (p * s.cells() + c) * s.area(), m, c / s.columns, c % s.columns);
      }
    });
  }
};

// Operands: dy, data, regions.
class RoiAlignBack : public MeanOfSamples {
 public:
  explicit RoiAlignBack(const Call& call) : MeanOfSamples(call, call.in[1], call.in[0], 2) {
    want(!by_place_ && call.out[0].dtype == DType::f32 && call.out[0].shape == call.in[1].shape);
    how = "to samples";
  }

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    want_regions(run);
    each_region_of_planes(run, s, 16 * s.cells() + s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      Memory m = memory(run, thread);
      const std::int64_t image = place(run, region, m);
      if (image < 0) return;
      for (std::int64_t c = first; c < last; ++c)
        spread(run.input<float>(0) + (region * s.planes + c) * s.cells(), m, run.output<float>() + (image * s.channels + c) * s.area());
    });
  }
};

class OnnxRoiAlign : public Aligned {
 public:
  explicit OnnxRoiAlign(const Call& call) : Aligned(call, call.in[0], call.out[0]), scale_(static_cast<float>(call.attrs.real("spatial_scale"))) {
    call.attrs.ignore("given", "output_height", "output_width");
    const std::string mode = call.attrs.text("mode"), where = call.attrs.text("coordinate_transformation_mode");
    samples_ = call.attrs.integer("sampling_ratio");
    want((mode == "avg" || mode == "max") && (where == "half_pixel" || where == "output_half_pixel"));
    largest_ = mode == "max", half_ = where == "half_pixel";
    want(samples_ <= MOST_SAMPLES && call.in[1].dtype == DType::f32 && call.in[2].dtype == DType::i64);
    want(sizes_.channels == sizes_.planes);
    want_size(call.in[1], times(sizes_.regions, 4));
    want_size(call.in[2], sizes_.regions);
    if (largest_) how = "maxima of samples";
  }

  void run(const Run& run) const override {
    const Sizes& s = sizes_;
    each_region(run, s, 16 * s.cells() + 2 * s.area(), [&](std::int64_t region, std::int64_t first, std::int64_t last, int thread) {
      const float* roi = run.input<float>(1) + 4 * region;
      std::int64_t image = run.input<std::int64_t>(2)[region];
      want_value(image >= -s.images && image < s.images);
      if (image < 0) image += s.images;
      float* out = run.output<float>() + (region * s.planes + first) * s.cells();
      const Line down = line(roi[1], roi[3], s.rows), across = line(roi[0], roi[2], s.columns);
      if (!down.samples || !across.samples) return static_cast<void>(std::fill_n(out, (last - first) * s.cells(), 0.f));
      Memory m = memory(run, thread);
      if (!largest_) {
        m.rows.place(down.start, down.size, down.samples, true);
        m.columns.place(across.start, across.size, across.samples, true);
      }
      for (std::int64_t c = first; c < last; ++c, out += s.cells()) {
        const float* map = run.input<float>(0) + (image * s.channels + c) * s.area();
        if (largest_) maxima(map, down, across, out);
        else means(map, m, out);
      }
    });
  }

 private:
  // A region along an axis, and the samples of each of its cells.
  struct Line {
    float start, size;
    std::int64_t samples;
  };

  Line line(float low, float high, std::int64_t cells) const {
    const float offset = half_ ? 0.5f : 0.f, start = low * scale_ - offset, end = high * scale_ - offset;
    const float size = half_ ? end - start : std::max(end - start, 1.f), cell = size / static_cast<float>(cells);
    want_value(near(start) && near(size) && cell <= static_cast<float>(MOST_SAMPLES));
    return {start, size, samples_ > 0 ? samples_ : std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(cell)))};
  }

  // A sample: the pixels it lies between, and their weights.
  struct Sample {
    std::int64_t pixel[2];
    float weight[2];
  };

  static Sample sample(const Line& line, std::int64_t cells, std::int64_t cell, std::int64_t k, std::int64_t limit) {
    const float each = line.size / static_cast<float>(cells);
    float at = line.start + static_cast<float>(cell) * each + (static_cast<float>(k) + 0.5f) * each / static_cast<float>(line.samples);
    if (!(at >= -1 && at <= static_cast<float>(limit))) return {{0, std::min<std::int64_t>(1, limit - 1)}, {0, 0}};
    at = std::clamp(at, 0.f, static_cast<float>(limit - 1));
    const auto low = static_cast<std::int64_t>(at);
    const float part = at - static_cast<float>(low);
    return {{low, std::min(low + 1, limit - 1)}, {1 - part, part}};
  }

  // The greatest of the weighted neighbours of all samples of each cell.
  void maxima(const float* map, const Line& down, const Line& across, float* out) const {
    for (std::int64_t i = 0; i < sizes_.rows; ++i)
      for (std::int64_t j = 0; j < sizes_.columns; ++j) {
        float found = -std::numeric_limits<float>::infinity();
        for (std::int64_t k = 0; k < down.samples; ++k) {
          const Sample row = sample(down, sizes_.rows, i, k, sizes_.height);
          for (std::int64_t l = 0; l < across.samples; ++l) {
            const Sample column = sample(across, sizes_.columns, j, l, sizes_.width);
            for (int a = 0; a < 4; ++a) {
              const float value = map[row.pixel[a / 2] * sizes_.width + column.pixel[a % 2]] * (row.weight[a / 2] * column.weight[a % 2]);
              found = value > found || value != value ? value : found;
            }
            if (found != found) break;
          }
          if (found != found) break;
        }
        *out++ = found;
      }
  }

  float scale_;
  std::int64_t samples_;
  bool largest_, half_;
};

}  // namespace

std::unique_ptr<Kernel> bind_roi_pooling(const Call& call) { return std::make_unique<RoiPooling>(call); }
std::unique_ptr<Kernel> bind_roi_pooling_back(const Call& call) { return std::make_unique<RoiPoolingBack>(call); }
std::unique_ptr<Kernel> bind_roi_align_back(const Call& call) { return std::make_unique<RoiAlignBack>(call); }
std::unique_ptr<Kernel> bind_ps_roi_pooling(const Call& call) { return std::make_unique<PsRoiPooling>(call); }
std::unique_ptr<Kernel> bind_roi_align(const Call& call) { return std::make_unique<RoiAlign>(call); }
std::unique_ptr<Kernel> bind_onnx_roi_align(const Call& call) { return std::make_unique<OnnxRoiAlign>(call); }

}  // namespace gluonnx
