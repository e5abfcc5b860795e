#include "strided.h"

#include "tile.h"

namespace gluonnx {
namespace {

// K streams made one, element by element, and one stream K
template <class T, int K>
inline void interleave(const T* __restrict from, std::int64_t from_row, T* __restrict to, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c)
    for (int r = 0; r < K; ++r) to[c * K + r] = from[r * from_row + c];
}
template <class T, int K>
inline void deinterleave(const T* __restrict from, T* __restrict to, std::int64_t to_row, std::int64_t count) {
  for (std::int64_t r = 0; r < count; ++r)
    for (int c = 0; c < K; ++c) to[c * to_row + r] = from[r * K + c];
}

}  // namespace

template <class T>
void transpose_plane(const T* from, std::int64_t from_row, T* to, std::int64_t to_row, std::int64_t rows,
                            std::int64_t columns) {
  constexpr std::int64_t n = TILE<T>;
  if (rows < n || columns < n) {
    if (rows == 2 && to_row == 2) return interleave<T, 2>(from, from_row, to, columns);
    if (rows == 3 && to_row == 3) return interleave<T, 3>(from, from_row, to, columns);
    if (rows == 4 && to_row == 4) return interleave<T, 4>(from, from_row, to, columns);
    if (columns == 2 && from_row == 2) return deinterleave<T, 2>(from, to, to_row, rows);
    if (columns == 3 && from_row == 3) return deinterleave<T, 3>(from, to, to_row, rows);
    if (columns == 4 && from_row == 4) return deinterleave<T, 4>(from, to, to_row, rows);
    if (rows < columns)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) to[c * to_row + r] = from[r * from_row + c];
    else
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < rows; ++r) to[c * to_row + r] = from[r * from_row + c];
    return;
  }
  // Panels bound the lines and pages in flight. The last tile of a direction overlaps the one before it.
  constexpr std::int64_t panel = 64;
  for (std::int64_t r0 = 0; r0 < rows; r0 += panel)
    for (std::int64_t c0 = 0; c0 < columns; c0 += panel) {
      const std::int64_t r1 = std::min(rows, r0 + panel), c1 = std::min(columns, c0 + panel);
      for (std::int64_t i = r0; i < r1; i += n)
        for (std::int64_t j = c0; j < c1; j += n) {
          const std::int64_t r = std::min(i, rows - n), c = std::min(j, columns - n);
          transpose_tile(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
        }
    }
}

template void transpose_plane(const std::uint8_t*, std::int64_t, std::uint8_t*, std::int64_t, std::int64_t, std::int64_t);
template void transpose_plane(const std::uint16_t*, std::int64_t, std::uint16_t*, std::int64_t, std::int64_t, std::int64_t);
template void transpose_plane(const std::uint32_t*, std::int64_t, std::uint32_t*, std::int64_t, std::int64_t, std::int64_t);
template void transpose_plane(const std::uint64_t*, std::int64_t, std::uint64_t*, std::int64_t, std::int64_t, std::int64_t);

namespace {

// Where the rows of an odometer's position begin on either side.
class Odometer {
 public:
  Odometer(const std::vector<Axis>& axes, std::int64_t position) : axes_(axes), index_(axes.size()) {
    for (std::size_t i = axes.size(); i-- > 0;) {
      index_[i] = position % axes[i].size;
      position /= axes[i].size;
      from += index_[i] * axes[i].from;
      to += index_[i] * axes[i].to;
    }
  }
  void next() {
    for (std::size_t i = axes_.size(); i-- > 0;) {
      const Axis& axis = axes_[i];
      from += axis.from;
      to += axis.to;
      if (++index_[i] < axis.size) return;
      from -= axis.size * axis.from;
      to -= axis.size * axis.to;
      index_[i] = 0;
    }
  }

  std::int64_t from = 0, to = 0;

 private:
  const std::vector<Axis>& axes_;
  std::vector<std::int64_t> index_;
};

template <class T, int N>
void repeat(const T* __restrict from, T* __restrict to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    for (int j = 0; j < N; ++j) to[i * N + j] = from[i];
}

}  // namespace

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

namespace {

// That all that axes reach from `first` on, `stride` apart, lies among `size` elements.
void want_within(std::int64_t size, std::int64_t first, const std::vector<Axis>& axes, std::int64_t Axis::*stride) {
  std::int64_t low = first, high = first;
  for (const Axis& a : axes) {
    const std::int64_t reach = times(a.size - 1, a.*stride);
    (reach < 0 ? low : high) = plus(reach < 0 ? low : high, reach);
  }
  want(low >= 0 && high < size);
}

}  // namespace

StridedCopy::StridedCopy(std::vector<Axis> axes, std::size_t element) : element_(element) {
  for (const Axis& a : axes) size_ *= a.size;
  if (!size_) return;
  axes.erase(std::remove_if(axes.begin(), axes.end(), [](const Axis& a) { return a.size == 1; }), axes.end());
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.to > b.to; });
  std::vector<Axis> merged;
  for (const Axis& a : axes)
    if (!merged.empty() && merged.back().from == a.from * a.size && merged.back().to == a.to * a.size)
      merged.back() = {merged.back().size * a.size, a.from, a.to};
    else merged.push_back(a);
  if (merged.empty()) return;
  inner_ = merged.back();
  merged.pop_back();
  row_ = inner_.size;
  if (inner_.from == 1 && inner_.to == 1) {
    mode_ = Mode::rows;
  } else {
    mode_ = Mode::elements;
    if (inner_.to == 1)
      for (std::size_t i = 0; i < merged.size(); ++i)
        if (merged[i].from == 1) {
          const bool repeats = inner_.from == 0 && merged[i].to == inner_.size;
          if (inner_.from == 0 && !repeats) continue;
          mode_ = repeats ? Mode::repeated : Mode::transposed;
          across_ = merged[i];
          merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
    // few elements at a time would go down in the cost of finding them
    if (mode_ == Mode::elements && inner_.size < 8 && !merged.empty() && merged.back().size > inner_.size)
      std::swap(inner_, merged.back());
    row_ = mode_ == Mode::repeated ? across_.size : inner_.size;
  }
  outer_ = std::move(merged);
}

const char* StridedCopy::how() const {
  switch (mode_) {
    case Mode::rows:
      return "rows";
    case Mode::transposed:
      return "transposed";
    case Mode::repeated:
      return "repeated";
    default:
      return "elements";
  }
}

void StridedCopy::run(const Run& run, const std::byte* from, std::byte* to) const {
  if (!size_) return;
  switch (element_) {
    case 1:
      return copy(run, reinterpret_cast<const std::uint8_t*>(from), reinterpret_cast<std::uint8_t*>(to));
    case 2:
      return copy(run, reinterpret_cast<const std::uint16_t*>(from), reinterpret_cast<std::uint16_t*>(to));
    case 4:
      return copy(run, reinterpret_cast<const std::uint32_t*>(from), reinterpret_cast<std::uint32_t*>(to));
    default:
      return copy(run, reinterpret_cast<const std::uint64_t*>(from), reinterpret_cast<std::uint64_t*>(to));
  }
}

template <class T>
void StridedCopy::copy(const Run& run, const T* from, T* to) const {
  if (mode_ == Mode::transposed) return transpose(run, from, to);
  std::int64_t rows = 1;
  for (const Axis& a : outer_) rows *= a.size;
  // counted in elements of rows, so that also one long row is shared
  const std::int64_t weight = size_ / rows / row_;
  run.ranges(rows * row_, grain_of(weight * static_cast<std::int64_t>(sizeof(T))),
             [&](std::int64_t begin, std::int64_t end, int) {
               Odometer at(outer_, begin / row_);
               for (std::int64_t skip = begin % row_; begin < end; skip = 0, at.next()) {
                 const std::int64_t count = std::min(row_ - skip, end - begin);
                 row(from + at.from, to + at.to, skip, skip + count);
                 begin += count;
               }
             });
}

template <class T>
void StridedCopy::row(const T* from, T* to, std::int64_t begin, std::int64_t end) const {
  if (mode_ == Mode::rows) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
  } else if (mode_ == Mode::repeated) {
    const std::int64_t count = inner_.size;
    from += begin;
    to += begin * count;
    if (count == 2) return repeat<T, 2>(from, to, end - begin);
    if (count == 3) return repeat<T, 3>(from, to, end - begin);
    if (count == 4) return repeat<T, 4>(from, to, end - begin);
    for (std::int64_t i = 0; i < end - begin; ++i) std::fill_n(to + i * count, count, from[i]);
  } else if (inner_.to == 1 && inner_.from == 0) {
    std::fill(to + begin, to + end, *from);
  } else if (inner_.to == 1 && inner_.from == -1) {
    for (std::int64_t i = begin; i < end; ++i) to[i] = from[-i];
  } else {
    for (std::int64_t i = begin; i < end; ++i) to[i * inner_.to] = from[i * inner_.from];
  }
}

template <class T>
void StridedCopy::transpose(const Run& run, const T* from, T* to) const {
  std::int64_t outer = 1;
  for (const Axis& a : outer_) outer *= a.size;
  const std::int64_t rows = inner_.size, columns = across_.size;
  // blocks of about 64 x 64, even ones, so that none is left with a few rows
  const std::int64_t high = std::max<std::int64_t>(64, 4096 / columns), wide = std::max<std::int64_t>(64, 4096 / rows);
  const std::int64_t down = (rows + high - 1) / high, along = (columns + wide - 1) / wide;
  const std::int64_t block = (rows / down) * (columns / along) * static_cast<std::int64_t>(sizeof(T));
  run.ranges(outer * down * along, grain_of(block), [&](std::int64_t begin, std::int64_t end, int) {
    Odometer at(outer_, begin / (down * along));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t j = i % (down * along), d = j % down, a = j / down;
      if (i != begin && !j) at.next();
      const std::int64_t r = rows * d / down, c = columns * a / along;
      transpose_plane(from + at.from + r * inner_.from + c, inner_.from, to + at.to + c * across_.to + r, across_.to,
                      rows * (d + 1) / down - r, columns * (a + 1) / along - c);
    }
  });
}

Copies::Copies(const std::vector<Part>& parts, const Call& call, std::uint64_t value)
    : element_(static_cast<std::int64_t>(size_of(call.out[0].dtype))), value_(value) {
  const std::size_t element = size_of(call.out[0].dtype);
  std::vector<std::int64_t> written(call.out.size());
  std::int64_t most = 0;
  how = "nothing";
  for (const Part& part : parts) {
    const Tensor &to = call.out[part.out], &from = part.source == Part::input ? call.in[part.in] : to;
    want(size_of(from.dtype) == element && size_of(to.dtype) == element);
    std::int64_t size = 1;
    for (const Axis& a : part.axes) want(a.size >= 0), size = times(size, a.size);
    if (!size) continue;
    want_within(to.size(), part.to, part.axes, &Axis::to);
    if (part.source != Part::value) want_within(from.size(), part.from, part.axes, &Axis::from);
    written[part.out] = plus(written[part.out], size);
    StridedCopy copy(part.axes, element);
    if (copy.size() > most) most = copy.size(), how = copy.how();
    steps_.push_back({part, std::move(copy)});
  }
  for (std::size_t i = 0; i < written.size(); ++i) want(written[i] >= call.out[i].size());
}

void Copies::run(const Run& run) const {
  for (const BoundCopy& step : steps_) {
    const Part& part = step.part;
    const std::byte* from = part.source == Part::input    ? run.input<std::byte>(part.in)
                            : part.source == Part::output ? run.output<std::byte>(part.out)
                                                          : reinterpret_cast<const std::byte*>(&value_);
    std::byte* to = run.output<std::byte>(part.out) + part.to * element_;
    from += part.from * element_;
    if (from != to) step.copy.run(run, from, to);
  }
}

}  // namespace gluonnx
