// Means over the cells of regions that are moved or turned: DeformablePSROIPooling, RROIAlign. Places are found with the roundings
// of ops/deformable_roi.py.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

// Between which pixels of an axis a point lies.
template <class T>
struct Spot {
  Spot(T point, Index size, T least, T beyond) : inside(point >= least && point <= static_cast<T>(size) + beyond) {
    const T held = std::clamp(inside ? point : T{0}, T{0}, static_cast<T>(size - 1));
    const T floor = std::floor(held);
    at[0] = static_cast<Index>(floor), at[1] = static_cast<Index>(std::ceil(held));
    weight[1] = held - floor, weight[0] = 1 - weight[1];
  }
  bool inside;
  Index at[2];
  T weight[2];
};

// The four pixels around a point, each times a share of it; a product with 0 is one too.
template <class T>
T around(const T* plane, Index width, const Spot<T>& row, const Spot<T>& column, T share) {
  T sum = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) sum += plane[row.at[i] * width + column.at[j]] * (row.weight[i] * column.weight[j] * share);
  return sum;
}

// What is sampled of images (N, C, height, width) in regions whose first number says which image; below 0 there is none.
template <class T>
class OfRegions : public Kernel {
 public:
  OfRegions(const Call& call, Index numbers) : numbers_(numbers) {
    const Tensor &data = call.in[0], &rois = call.in[1], &out = call.out[0];
    for (const Tensor& t : call.in) want(t.dtype == data.dtype);
    want(out.dtype == data.dtype && data.rank() == 4 && rois.rank() == 2 && out.rank() == 4);
    want(rois.shape[1] == numbers && out.shape[0] == rois.shape[0] && data.size() > 0);
    images_ = data.shape[0], channels_ = data.shape[1], height_ = data.shape[2], width_ = data.shape[3];
    regions_ = rois.shape[0], rows_ = out.shape[2], columns_ = out.shape[3];
    scale_ = static_cast<T>(static_cast<float>(call.attrs.real("spatial_scale")));
    sure = false;
    how = "regions";
  }

  void run(const Run& run) const override {
    constexpr T FAR = 1 << 30;
    const T* rois = run.input<T>(1);
    for (Index i = 0; i < regions_ * numbers_; ++i) want_value(std::abs(rois[i]) < FAR);
    for (Index r = 0; r < regions_; ++r) want_value(static_cast<Index>(rois[r * numbers_]) < images_);
    std::atomic<bool> fits{true};
    run.ranges(regions_, 1, [&](Index begin, Index end, int) {
      for (Index r = begin; r < end; ++r)
        if (!region(run, r, rois + r * numbers_)) fits = false;
    });
    want_value(fits);
  }

 protected:
  // False for one that is none of an image.
  virtual bool region(const Run& run, Index number, const T* roi) const = 0;

  Index numbers_, images_, channels_, height_, width_, regions_, rows_, columns_;
  T scale_;
};

template <class T>
class Moved : public OfRegions<T> {
 public:
  explicit Moved(const Call& call) : OfRegions<T>(call, 5) {
    const Attrs& attrs = call.attrs;
    groups_ = attrs.integer("group_size"), parts_ = attrs.integer("part_size"), points_ = attrs.integer("sample_per_part");
    deviation_ = static_cast<T>(static_cast<float>(attrs.real("trans_std")));
    const Index pooled = attrs.integer("pooled_size"), channels = attrs.integer("output_dim");
    still_ = attrs.flag("no_trans");
    if (!parts_) parts_ = pooled;
    want(pooled >= 1 && groups_ >= 1 && parts_ >= 1 && points_ >= 1 && points_ < (1 << 16) && channels >= 1);
    want(this->rows_ == pooled && this->columns_ == pooled && this->channels_ == times(channels, groups_, groups_));
    want(call.out[0].shape[1] == channels && call.in.size() == (still_ ? 2u : 3u));
    if (!still_) {
      classes_ = call.in[2].rank() == 4 ? call.in[2].shape[1] / 2 : 0;
      want(classes_ >= 1);
      want_shape(call.in[2], {this->regions_, 2 * classes_, parts_, parts_});
    }
    each_ = channels / classes_;
    want(each_ * classes_ == channels);
    for (Index i = 0; i < pooled; ++i) {
      const T part = std::floor(static_cast<T>(i) / static_cast<T>(pooled) * static_cast<T>(parts_));
      part_.push_back(std::min(static_cast<Index>(part), parts_ - 1));
      group_.push_back(i * groups_ / pooled);
    }
  }

 protected:
  bool region(const Run& run, Index number, const T* roi) const override {
    const T half{0.5};
    auto corner = [&](int i, T more) { return (std::trunc(roi[i] + std::copysign(half, roi[i])) + more) * this->scale_ - half; };
    const T start[2] = {corner(1, 0), corner(2, 0)};
    const T size[2] = {std::max(corner(3, 1) - start[0], static_cast<T>(0.1)), std::max(corner(4, 1) - start[1], static_cast<T>(0.1))};
    const bool there = std::trunc(roi[0]) >= 0;
    const Index image = std::max<Index>(static_cast<Index>(roi[0]), 0), pooled = this->rows_, plane = this->height_ * this->width_;
    const T cell[2] = {size[0] / static_cast<T>(pooled), size[1] / static_cast<T>(pooled)};
    const T step[2] = {cell[0] / static_cast<T>(points_), cell[1] / static_cast<T>(points_)};
    std::vector<Spot<T>> rows, columns;
    for (Index k = 0; k < classes_; ++k)
      for (Index i = 0; i < pooled; ++i)
        for (Index j = 0; j < pooled; ++j) {
          auto first = [&](int axis, Index index) {
            const T from = static_cast<T>(index) * cell[axis] + start[axis];
            if (still_) return from;
            const T* moves = run.input<T>(2) + (((number * classes_ + k) * 2 + axis) * parts_ + part_[i]) * parts_ + part_[j];
            return from + *moves * deviation_ * size[axis];
          };
          rows.clear(), columns.clear();
          const T top = first(1, i), left = first(0, j);
          for (Index p = 0; p < points_; ++p) {
            rows.emplace_back(top + static_cast<T>(p) * step[1], this->height_, -half, -half);
            columns.emplace_back(left + static_cast<T>(p) * step[0], this->width_, -half, -half);
          }
          Index count = 0;
          for (const auto& row : rows)
            for (const auto& column : columns) count += row.inside && column.inside && there;
          for (Index c = 0; c < each_; ++c) {
            const Index channel = ((k * each_ + c) * groups_ + group_[i]) * groups_ + group_[j];
            const T* pixels = run.input<T>(0) + (image * this->channels_ + channel) * plane;
            double sum = 0;
            for (const auto& row : rows)
              for (const auto& column : columns)
                sum += around(pixels, this->width_, row, column, static_cast<T>(row.inside && column.inside && there));
            run.output<T>()[((number * classes_ * each_ + k * each_ + c) * pooled + i) * pooled + j] =
                static_cast<T>(sum / static_cast<double>(std::max<Index>(count, 1)));
          }
        }
    return true;
  }

 private:
  Index groups_, parts_, points_, classes_ = 1, each_;
  T deviation_;
  bool still_;
  std::vector<Index> part_, group_;
};

template <class T>
class Turned : public OfRegions<T> {
 public:
  explicit Turned(const Call& call) : OfRegions<T>(call, 6), ratio_(call.attrs.integer("sampling_ratio")) {
    want(call.attrs.ints("pooled_size") == std::vector<Index>{this->rows_, this->columns_} && ratio_ < (1 << 16));
    want(this->rows_ >= 1 && this->columns_ >= 1 && call.out[0].shape[1] == this->channels_);
  }

 protected:
  bool region(const Run& run, Index number, const T* roi) const override {
    const Index cells[2] = {this->rows_, this->columns_}, plane = this->height_ * this->width_, results = cells[0] * cells[1];
    T* to = run.output<T>() + number * this->channels_ * results;
    std::fill(to, to + this->channels_ * results, T{0});
    const auto image = static_cast<Index>(roi[0]);
    if (image < 0) return true;
    const T x = roi[1] * this->scale_, y = roi[2] * this->scale_;
    const T sides[2] = {std::max(roi[4] * this->scale_, T{1}), std::max(roi[3] * this->scale_, T{1})};
    if (std::max(sides[0], sides[1]) > (1 << 16)) return false;
    const T angle = roi[5] * static_cast<T>(3.14159265358979323846) / 180, cosine = std::cos(angle), sine = std::sin(angle);
    std::vector<T> along[2];
    Index counts[2];
    for (int a = 0; a < 2; ++a) {
      counts[a] = ratio_ > 0 ? ratio_ : static_cast<Index>(std::ceil(sides[a] / static_cast<T>(cells[a])));
      const T cell = sides[a] / static_cast<T>(cells[a]);
      for (Index i = 0; i < cells[a]; ++i)
        for (Index p = 0; p < counts[a]; ++p)
          along[a].push_back(-sides[a] / 2 + static_cast<T>(i) * cell +
                             (static_cast<T>(p) + static_cast<T>(0.5)) * cell / static_cast<T>(counts[a]));
    }
    const T share = 1 / static_cast<T>(counts[0] * counts[1]);
    std::vector<double> sums(static_cast<std::size_t>(this->channels_));
    for (Index i = 0; i < cells[0]; ++i)
      for (Index j = 0; j < cells[1]; ++j) {
        std::fill(sums.begin(), sums.end(), 0.);
        for (Index p = 0; p < counts[0]; ++p)
          for (Index q = 0; q < counts[1]; ++q) {
            const T down = along[0][i * counts[0] + p], right = along[1][j * counts[1] + q];
            const Spot<T> column(right * cosine + down * sine + x, this->width_, -1, 0);
            const Spot<T> row(down * cosine - right * sine + y, this->height_, -1, 0);
            for (Index c = 0; c < this->channels_; ++c)
              sums[c] += around(run.input<T>(0) + (image * this->channels_ + c) * plane, this->width_, row, column,
                                row.inside && column.inside ? share : T{0});
          }
        for (Index c = 0; c < this->channels_; ++c) to[c * results + i * cells[1] + j] = static_cast<T>(sums[c]);
      }
    return true;
  }

 private:
  Index ratio_;
};

template <template <class> class K>
std::unique_ptr<Kernel> typed(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<K<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<K<double>>(call);
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> bind_deformable_ps_roi_pooling(const Call& call) { return typed<Moved>(call); }
std::unique_ptr<Kernel> bind_rroi_align(const Call& call) { return typed<Turned>(call); }

}  // namespace gluonnx
