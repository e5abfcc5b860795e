// Images read at the points of a grid: BilinearSampler, SpatialTransformer and ONNX's GridSample; and the grids themselves.
#include <cmath>
#include <limits>
#include <type_traits>

#include "../move/move.h"

namespace gluonnx {
namespace {

constexpr std::int64_t TILE = 64;  // points at a time: where they lie is found once for all channels
constexpr int CORNERS = 16;           // elements that a point is made of

// For some points the elements that each is made of, and their weights.
template <class F>
struct Points {
  std::int32_t at[CORNERS][TILE];
  F weight[CORNERS][TILE];
  std::int32_t inside[CORNERS][TILE];  // 0 for what counts as 0, whatever it is
  F base[TILE];                     // added: NaN where the grid is no number
};

// out[i] = the sum over four taps, with what is not inside left out, and with base.
template <class F>
void read_inside(const F* __restrict plane, const Points<F>& points, std::int64_t count, F* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    F sum = points.base[i];
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      const F part = plane[points.at[t][i]] * points.weight[t][i];
      sum += points.inside[t][i] ? part : 0;
    }
    out[i] = sum;
  }
}

// The same of SOME taps from the t-th on, all of which count; added to what the taps before gave.
template <class F, int SOME>
void add_taps(int t, const F* __restrict plane, const Points<F>& points, std::int64_t count, F* __restrict out) {
  for (std::int64_t i = 0; i < count; ++i) {
    F sum = t ? out[i] : 0;
#pragma GCC unroll 16
    for (int k = 0; k < SOME; ++k) sum += plane[points.at[t + k][i]] * points.weight[t + k][i];
    out[i] = sum;
  }
}

// The part of a kernel that goes over points and channels. Its shapes: data (batch, channels, area), result (batch, channels, points).
struct Work {
  std::int64_t batch, channels, area, points;

  // place(n, first, count, points): where points lie; read(plane, points, count, out)
  template <class F, class P, class R>
  void run(const Run& run, int taps, P&& place, R&& read) const {
    const std::int64_t tiles = (points + TILE - 1) / TILE;
    const std::int64_t bytes = TILE * (channels + 4) * (taps + 1) * static_cast<std::int64_t>(sizeof(F));
    run.ranges(batch * tiles, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) {
      Points<F> found;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t n = i / tiles, first = i % tiles * TILE, count = std::min(TILE, points - first);
        place(n, first, count, found);
        for (std::int64_t c = 0; c < channels; ++c)
          read(run.input<F>(0) + (n * channels + c) * area, found, count, run.output<F>() + (n * channels + c) * points + first);
      }
    });
  }
};

// Between the four pixels around a point (x, y), as MXNet has it: those outside are 0.
template <class F>
class Bilinear {
 public:
  Bilinear(std::int64_t height, std::int64_t width)
      : height_(height), width_(width), high_(static_cast<F>(static_cast<double>(height - 1) / 2)), wide_(static_cast<F>(static_cast<double>(width - 1) / 2)) {}

  // The i-th of the points, from coordinates of the grid.
  void put(F gx, F gy, std::int64_t i, Points<F>& points) const {
    const F x = (gx + 1) * wide_, y = (gy + 1) * high_, left = std::floor(x), top = std::floor(y);
    points.base[i] = x * 0 + y * 0;
    const F down = y - top, right = x - left;
    tap(0, i, top, left, (1 - down) * (1 - right), points);
    tap(1, i, top, left + 1, (1 - down) * right, points);
    tap(2, i, top + 1, left, down * (1 - right), points);
    tap(3, i, top + 1, left + 1, down * right, points);
  }

  // The gradients of the coordinates, from what the four pixels are multiplied by.
  void slope(F gx, F gy, F a, F b, F c, F d, F& dx, F& dy) const {
    const F x = (gx + 1) * wide_, y = (gy + 1) * high_, right = x - std::floor(x), down = y - std::floor(y);
    dx = (-(1 - down) * a + (1 - down) * b - down * c + down * d) * wide_;
    dy = (-(1 - right) * a - right * b + (1 - right) * c + right * d) * high_;
  }

 private:
  void tap(int t, std::int64_t i, F row, F column, F weight, Points<F>& points) const {
    const bool inside = row >= 0 && row <= static_cast<F>(height_ - 1) && column >= 0 && column <= static_cast<F>(width_ - 1);
    points.inside[t][i] = inside;
    points.at[t][i] = inside ? static_cast<std::int32_t>(row) * static_cast<std::int32_t>(width_) + static_cast<std::int32_t>(column) : 0;
    points.weight[t][i] = weight;
  }

  std::int64_t height_, width_;
  F high_, wide_;
};

// (x, y) of the pixels of a grid under an affine map, corners at -1 and 1; of one pixel along an axis it is no number.
struct Affine {
  std::int64_t height, width;

  static float along(std::int64_t i, std::int64_t size) { return static_cast<float>(i) * (2.f / static_cast<float>(size - 1)) - 1; }
  // a row of the matrix times a pixel
  template <class F>
  F apply(const F* row, std::int64_t pixel) const {
    return row[0] * along(pixel % width, width) + row[1] * along(pixel / width, height) + row[2];
  }
};

Work want_images(const Call& call, std::int64_t points) {
  const auto& shape = call.in[0].shape;
  want(shape.size() >= 3 && call.out[0].dtype == call.in[0].dtype && call.in[1].dtype == call.in[0].dtype);
  Work work{shape[0], shape[1], 1, points};
  for (std::size_t i = 2; i < shape.size(); ++i) work.area = times(work.area, shape[i]);
  want(work.area > 0 && work.area < std::numeric_limits<std::int32_t>::max());
  want_size(call.out[0], times(work.batch, work.channels, points));
  return work;
}

template <class F>
class Sampler : public Kernel {
 public:
  explicit Sampler(const Call& call) {
    call.attrs.ignore("cudnn_off");
    const auto &shape = call.in[0].shape, &grid = call.in[1].shape;
    want(shape.size() == 4 && grid.size() == 4 && grid[0] == shape[0] && grid[1] == 2);
    bilinear_ = {shape[2], shape[3]};
    work_ = want_images(call, times(grid[2], grid[3]));
    how = "bilinear";
    flops = 12.0 * static_cast<double>(call.out[0].size());
  }

  void run(const Run& run) const override {
    const F* grid = run.input<F>(1);
    work_.run<F>(
        run, 4,
        [&](std::int64_t n, std::int64_t first, std::int64_t count, Points<F>& points) {
          const F* x = grid + 2 * n * work_.points + first;
          for (std::int64_t i = 0; i < count; ++i) bilinear_.put(x[i], x[i + work_.points], i, points);
        },
        read_inside<F>);
  }

 private:
  Work work_{};
  Bilinear<F> bilinear_{1, 1};
};

template <class F>
class Transformer : public Kernel {
 public:
  explicit Transformer(const Call& call) {
    call.attrs.ignore("cudnn_off", "target_shape", "transform_type", "sampler_type");
    const auto &shape = call.in[0].shape, &out = call.out[0].shape;
    want(shape.size() == 4 && out.size() == 4);
    want_size(call.in[1], times(shape[0], 6));
    bilinear_ = {shape[2], shape[3]};
    affine_ = {out[2], out[3]};
    work_ = want_images(call, times(out[2], out[3]));
    how = "bilinear";
    flops = 12.0 * static_cast<double>(call.out[0].size());
  }

  void run(const Run& run) const override {
    work_.run<F>(
        run, 4,
        [&](std::int64_t n, std::int64_t first, std::int64_t count, Points<F>& points) {
          const F* matrix = run.input<F>(1) + 6 * n;
          for (std::int64_t i = 0; i < count; ++i)
            bilinear_.put(affine_.apply(matrix, first + i), affine_.apply(matrix + 3, first + i), i, points);
        },
        read_inside<F>);
  }

 private:
  Work work_{};
  Bilinear<F> bilinear_{1, 1};
  Affine affine_{1, 1};
};

// The gradients of data and grid, from that of the result.
template <class F>
class SamplerBack : public Kernel {
 public:
  explicit SamplerBack(const Call& call) {
    call.attrs.ignore("cudnn_off");
    const auto &dy = call.in[0].shape, &data = call.in[1].shape, &grid = call.in[2].shape;
    for (const Tensors* all : {&call.in, &call.out})
      for (const Tensor& t : *all) want(t.dtype == call.in[0].dtype);
    want(dy.size() == 4 && data.size() == 4 && grid.size() == 4 && dy[0] == data[0] && dy[1] == data[1]);
    want(grid[0] == dy[0] && grid[1] == 2 && grid[2] == dy[2] && grid[3] == dy[3] && call.out[0].shape == data && call.out[1].shape == grid);
    work_ = {data[0], data[1], times(data[2], data[3]), times(dy[2], dy[3])};
    want(work_.area > 0 && work_.area < std::numeric_limits<std::int32_t>::max() && work_.channels > 0);
    bilinear_ = {data[2], data[3]};
    how = "bilinear";
    flops = 24.0 * static_cast<double>(call.in[0].size());
  }

  void run(const Run& run) const override {
    const std::int64_t tiles = (work_.points + TILE - 1) / TILE, bytes = TILE * work_.channels * 8 * static_cast<std::int64_t>(sizeof(F));
    run.ranges(work_.batch * tiles, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) {
      Points<F> points;
      for (std::int64_t i = begin; i < end; ++i) to_grid(run, i / tiles, i % tiles * TILE, points);
    });
    run.ranges(work_.batch * work_.channels, grain_of(work_.points * 5 * static_cast<std::int64_t>(sizeof(F))), [&](std::int64_t begin, std::int64_t end, int) {
      Points<F> points;
      while (begin < end) {  // channels of one image
        const std::int64_t n = begin / work_.channels, last = std::min(end, (n + 1) * work_.channels);
        to_data(run, n, begin, last, points);
        begin = last;
      }
    });
  }

 private:
  void place(const Run& run, std::int64_t n, std::int64_t first, std::int64_t count, Points<F>& points) const {
    const F* x = run.input<F>(2) + 2 * n * work_.points + first;
    for (std::int64_t i = 0; i < count; ++i) bilinear_.put(x[i], x[i + work_.points], i, points);
  }

  void to_grid(const Run& run, std::int64_t n, std::int64_t first, Points<F>& points) const {
    const std::int64_t count = std::min(TILE, work_.points - first);
    place(run, n, first, count, points);
    F alike[4][TILE] = {};
    for (std::int64_t c = 0; c < work_.channels; ++c) {
      const F* __restrict map = run.input<F>(1) + (n * work_.channels + c) * work_.area;
      const F* __restrict dy = run.input<F>(0) + (n * work_.channels + c) * work_.points + first;
      for (int t = 0; t < 4; ++t)
        for (std::int64_t i = 0; i < count; ++i) alike[t][i] += map[points.at[t][i]] * dy[i];
    }
    const F* grid = run.input<F>(2) + 2 * n * work_.points + first;
    F* out = run.output<F>(1) + 2 * n * work_.points + first;
    for (std::int64_t i = 0; i < count; ++i) {
      for (int t = 0; t < 4; ++t)
        if (!points.inside[t][i]) alike[t][i] = 0;
      bilinear_.slope(grid[i], grid[i + work_.points], alike[0][i], alike[1][i], alike[2][i], alike[3][i], out[i], out[i + work_.points]);
    }
  }

  void to_data(const Run& run, std::int64_t n, std::int64_t begin, std::int64_t end, Points<F>& points) const {
    std::fill(run.output<F>() + begin * work_.area, run.output<F>() + end * work_.area, F{});
    for (std::int64_t first = 0; first < work_.points; first += TILE) {
      const std::int64_t count = std::min(TILE, work_.points - first);
      place(run, n, first, count, points);
      for (std::int64_t c = begin; c < end; ++c) {
        const F* dy = run.input<F>(0) + c * work_.points + first;
        F* dx = run.output<F>() + c * work_.area;
        for (int t = 0; t < 4; ++t)
          for (std::int64_t i = 0; i < count; ++i)
            if (points.inside[t][i]) dx[points.at[t][i]] += dy[i] * points.weight[t][i];
      }
    }
  }

  Work work_{};
  Bilinear<F> bilinear_{1, 1};
};

class Generator : public Kernel {
 public:
  explicit Generator(const Call& call) {
    const std::string type = call.attrs.text("transform_type");
    call.attrs.ignore("target_shape");
    const auto& out = call.out[0].shape;
    want_floats(call.in);
    want_floats(call.out);
    want(out.size() == 4 && out[1] == 2 && (type == "affine" || type == "warp"));
    affine_ = {out[2], out[3]};
    moves_ = type == "warp";
    want_size(call.in[0], moves_ ? call.out[0].size() : times(out[0], 6));
    planes_ = times(out[0], 2);
    how = type;
  }

  void run(const Run& run) const override {
    const std::int64_t height = affine_.height, width = affine_.width, area = height * width;
    run.ranges(planes_ * height, grain_of(16 * width), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t plane = r / height, y = r % height;
        float* __restrict to = run.output<float>() + r * width;
        if (!moves_) {
          const float* matrix = run.input<float>(0) + 3 * plane;
          for (std::int64_t x = 0; x < width; ++x) to[x] = affine_.apply(matrix, y * width + x);
          continue;
        }
        const float* __restrict flow = run.input<float>(0) + plane * area + y * width;
        const auto half = static_cast<float>(static_cast<double>((plane % 2 ? height : width) - 1) / 2);
        if (plane % 2)
          for (std::int64_t x = 0; x < width; ++x) to[x] = (flow[x] + static_cast<float>(y)) / half - 1;
        else
          for (std::int64_t x = 0; x < width; ++x) to[x] = (flow[x] + static_cast<float>(x)) / half - 1;
      }
    });
  }

 private:
  Affine affine_{1, 1};
  bool moves_;
  std::int64_t planes_;
};

// ONNX's sampling, in one to three axes.
template <class F>
class GridSample : public Kernel {
 public:
  explicit GridSample(const Call& call) {
    call.attrs.ignore("given");
    const auto &shape = call.in[0].shape, &grid = call.in[1].shape;
    const std::string mode = call.attrs.text("mode"), padding = call.attrs.text("padding_mode");
    corners_ = call.attrs.flag("align_corners");
    want(mode == "linear" || mode == "nearest" || mode == "cubic");
    want(padding == "zeros" || padding == "border" || padding == "reflection");
    per_axis_ = mode == "nearest" ? 1 : mode == "linear" ? 2 : 4;
    zeros_ = padding == "zeros", reflects_ = padding == "reflection", whole_ = per_axis_ == 1 && !zeros_;
    want(shape.size() == grid.size() && shape.size() >= 3 && shape.size() <= 5 && grid.back() + 2 == static_cast<std::int64_t>(shape.size()));
    want((per_axis_ < 4 || shape.size() == 4) && grid[0] == shape[0]);
    std::int64_t points = 1;
    for (std::size_t i = 1; i + 1 < grid.size(); ++i) points = times(points, grid[i]);
    spatial_.assign(shape.begin() + 2, shape.end());
    for (std::int64_t n : spatial_) want(n < (1 << 24));  // indices are floats for a while
    work_ = want_images(call, points);
    taps_ = 1;
    for (std::size_t i = 0; i < spatial_.size(); ++i) taps_ *= per_axis_;
    how = mode;
    flops = 3.0 * taps_ * static_cast<double>(call.out[0].size());
  }

  void run(const Run& run) const override {
    const auto place = [&](std::int64_t n, std::int64_t first, std::int64_t count, Points<F>& points) {
      const auto rank = static_cast<std::int64_t>(spatial_.size());
      const F* grid = run.input<F>(1) + (n * work_.points + first) * rank;
      Taps axes[3];
      for (std::int64_t a = 0; a < rank; ++a) along(grid + rank - 1 - a, rank, count, spatial_[a], axes[a]);
      combine(axes, count, points);
    };
    work_.run<F>(run, taps_, place, [&](const F* plane, const Points<F>& points, std::int64_t count, F* out) {
      if (taps_ == 16) return add_taps<F, 16>(0, plane, points, count, out);
      if (taps_ == 2) return add_taps<F, 2>(0, plane, points, count, out);
      if (taps_ == 1) return add_taps<F, 1>(0, plane, points, count, out);
      for (int t = 0; t < taps_; t += 4) add_taps<F, 4>(t, plane, points, count, out);
    });
  }

 private:
  using Flag = std::conditional_t<sizeof(F) == 8, std::int64_t, std::int32_t>;
  // The taps of points along an axis.
  struct Taps {
    std::int32_t at[4][TILE];
    F weight[4][TILE];
    Flag counts[4][TILE];
  };

  static F cubic(F t) {
    constexpr F A = static_cast<F>(-0.75);
    t = std::abs(t);
    const F close = ((A + 2) * t - (A + 3)) * t * t + 1, far = ((A * t - 5 * A) * t + 8 * A) * t - 4 * A;
    return t <= 1 ? close : t < 2 ? far : 0;
  }

  // Registers are filled with points: what follows the last one is some point, too.
  static std::int64_t filled(std::int64_t count) { return (count + 15) & ~std::int64_t{15}; }

  // Coordinates of the grid lie `apart`.
  __attribute__((noinline))
  void along(const F* coordinates, std::int64_t apart, std::int64_t count, std::int64_t size, Taps& taps) const {
    const F scale = static_cast<F>(corners_ ? static_cast<double>(size - 1) / 2 : static_cast<double>(size) / 2);
    const F offset = static_cast<F>(corners_ ? 0 : 0.5), none = static_cast<F>(per_axis_ == 1 ? -2 : 0);
    constexpr F limit = static_cast<F>(2147483648.0);
    const std::int64_t all = filled(count);
    F place[TILE], low[TILE];
    for (std::int64_t i = 0; i < count; ++i) place[i] = (coordinates[i * apart] + 1) * scale - offset;
    std::fill(place + count, place + all, F{0});
    const auto safe = [&](F x) {  // what is no number, or too large, has an index too
      x = x != x ? none : x;
      x = x < -limit ? -limit : x;
      return x > limit ? limit : x;
    };
    if (per_axis_ == 1)
      for (std::int64_t i = 0; i < all; ++i) low[i] = std::nearbyint(safe(place[i]));
    else
      for (std::int64_t i = 0; i < all; ++i) low[i] = std::floor(safe(place[i]));
    const F last = static_cast<F>(size - 1);
    for (int k = 0; k < per_axis_; ++k) {
      const int step = per_axis_ == 4 ? k - 1 : k;
      std::int32_t* at = taps.at[k];
      F* weight = taps.weight[k];
      Flag* counts = taps.counts[k];
      const Flag always = !zeros_;
      for (std::int64_t i = 0; i < all; ++i) {
        const F index = low[i] + static_cast<F>(step);
        weight[i] = place[i] - index;
        counts[i] = always | static_cast<Flag>((index >= 0) & (index <= last));
        const F held = index < 0 ? 0 : index > last ? last : index;
        at[i] = static_cast<std::int32_t>(held);
      }
      if (per_axis_ == 1) std::fill_n(weight, all, F{1});
      else if (per_axis_ == 2)
        for (std::int64_t i = 0; i < all; ++i) weight[i] = 1 - std::abs(weight[i]);
      else
        for (std::int64_t i = 0; i < all; ++i) weight[i] = cubic(weight[i]);
      if (reflects_)
        for (std::int64_t i = 0; i < count; ++i) at[i] = mirrored(static_cast<std::int64_t>(low[i]) + step, size);
    }
  }

  std::int32_t mirrored(std::int64_t index, std::int64_t size) const {
    const std::int64_t period = corners_ ? 2 * (size - 1) : 2 * size;
    index = period ? index % period : 0;
    if (index < 0) index += period;
    index = std::min(index, (corners_ ? period : period - 1) - index);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(index, 0, size - 1));
  }

  // One tap of each axis makes a tap of a point.
  __attribute__((noinline))
  void combine(const Taps* axes, std::int64_t count, Points<F>& points) const {
    const std::int64_t all = filled(count);
    const auto rank = static_cast<int>(spatial_.size());
    for (int t = 0; t < taps_; ++t) {
      int which[3] = {0, 0, 0};
      for (int a = rank, rest = t; a-- > 0; rest /= per_axis_) which[a] = rest % per_axis_;
      std::int32_t* __restrict at = points.at[t];
      F* __restrict weight = points.weight[t];
      Flag counts[TILE];
      for (std::int64_t i = 0; i < all; ++i) {
        at[i] = axes[0].at[which[0]][i];
        weight[i] = axes[0].weight[which[0]][i];
        counts[i] = axes[0].counts[which[0]][i];
      }
      for (int a = 1; a < rank; ++a) {
        const auto wide = static_cast<std::int32_t>(spatial_[a]);
        for (std::int64_t i = 0; i < all; ++i) {
          at[i] = at[i] * wide + axes[a].at[which[a]][i];
          weight[i] *= axes[a].weight[which[a]][i];
          counts[i] &= axes[a].counts[which[a]][i];
        }
      }
      if (whole_) std::fill_n(weight, all, F{1});
      else
        for (std::int64_t i = 0; i < all; ++i) weight[i] = counts[i] ? weight[i] : 0;
    }
  }

  Work work_{};
  std::vector<std::int64_t> spatial_;
  int per_axis_, taps_;
  bool corners_, zeros_, reflects_, whole_;  // whole: an element as it is
};

template <class F>
class AffineGrid : public Kernel {
 public:
  explicit AffineGrid(const Call& call) : corners_(call.attrs.flag("align_corners")) {
    call.attrs.ignore("given");
    const auto& out = call.out[0].shape;
    want(call.out[0].dtype == call.in[0].dtype && out.size() >= 3 && call.in[1].dtype == DType::i64);
    rank_ = static_cast<std::int64_t>(out.size()) - 2;
    want((rank_ == 2 || rank_ == 3) && out.back() == rank_);
    want_shape(call.in[0], {out[0], rank_, rank_ + 1});
    want_size(call.in[1], rank_ + 2);
    batch_ = out[0];
    for (std::int64_t i = 0; i < rank_; ++i) spatial_.push_back(out[1 + i]), points_ = times(points_, out[1 + i]);
    sure = false;
    how = "affine";
  }

  void run(const Run& run) const override {
    for (std::int64_t i = 0; i < rank_; ++i) want_value(run.input<std::int64_t>(1)[2 + i] == spatial_[i]);
    run.ranges(batch_ * points_, grain_of(64), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t p = begin; p < end; ++p) {
        const F* matrix = run.input<F>(0) + p / points_ * rank_ * (rank_ + 1);
        F at[3];
        std::int64_t rest = p % points_;
        for (std::int64_t a = rank_; a-- > 0; rest /= spatial_[a]) at[rank_ - 1 - a] = along(rest % spatial_[a], spatial_[a]);
        for (std::int64_t r = 0; r < rank_; ++r) {
          F sum = 0;
          for (std::int64_t k = 0; k < rank_; ++k) sum += at[k] * matrix[r * (rank_ + 1) + k];
          run.output<F>()[p * rank_ + r] = sum + matrix[r * (rank_ + 1) + rank_];
        }
      }
    });
  }

 private:
  F along(std::int64_t i, std::int64_t size) const {
    const auto n = static_cast<double>(size), at = static_cast<double>(i);
    if (!corners_) return static_cast<F>((2 * at + 1) / n - 1);
    if (i && i == size - 1) return 1;
    return static_cast<F>(i ? at * (2 / (n - 1)) - 1 : -1.0);
  }

  bool corners_;
  std::int64_t rank_, batch_, points_ = 1;
  std::vector<std::int64_t> spatial_;
};

template <template <class> class K>
std::unique_ptr<Kernel> of_floats(const Call& call) {
  if (call.in[0].dtype == DType::f64) return std::make_unique<K<double>>(call);
  want(call.in[0].dtype == DType::f32);
  return std::make_unique<K<float>>(call);
}

}  // namespace

std::unique_ptr<Kernel> bind_bilinear_sampler(const Call& call) { return of_floats<Sampler>(call); }
std::unique_ptr<Kernel> bind_bilinear_sampler_back(const Call& call) { return of_floats<SamplerBack>(call); }
std::unique_ptr<Kernel> bind_spatial_transformer(const Call& call) { return of_floats<Transformer>(call); }
std::unique_ptr<Kernel> bind_grid_generator(const Call& call) { return std::make_unique<Generator>(call); }
std::unique_ptr<Kernel> bind_grid_sample(const Call& call) { return of_floats<GridSample>(call); }
std::unique_ptr<Kernel> bind_affine_grid(const Call& call) { return of_floats<AffineGrid>(call); }

}  // namespace gluonnx
