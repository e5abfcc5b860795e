#include "strips.h"

namespace gluonnx {
namespace {

// One window of slices x rows x columns from p, which lie `slice` and `row` elements apart. Rows are folded each for itself
// first, four columns abreast, which keeps the error of a long sum low.
template <Fold FOLD, int POWER>
Block window(const float* p, std::int64_t slice, std::int64_t slices, std::int64_t row, std::int64_t rows,
             std::int64_t columns) {
  Block all = start<FOLD>(), odd = all;  // of the rows by turns
  for (std::int64_t z = 0; z < slices; ++z)
    for (std::int64_t y = 0; y < rows; ++y) {
      const float* q = p + z * slice + y * row;
      std::int64_t x = 0;
      Block part = start<FOLD>();
      if (columns >= 8) {
        Block a = part, b = part, c = part;
        for (; x + 4 <= columns; x += 4) {
          part = fold<FOLD>(part, raise<POWER>(load(q + x * BLOCK)));
          a = fold<FOLD>(a, raise<POWER>(load(q + (x + 1) * BLOCK)));
          b = fold<FOLD>(b, raise<POWER>(load(q + (x + 2) * BLOCK)));
          c = fold<FOLD>(c, raise<POWER>(load(q + (x + 3) * BLOCK)));
        }
        part = fold<FOLD>(fold<FOLD>(part, a), fold<FOLD>(b, c));
      }
      for (; x < columns; ++x) part = fold<FOLD>(part, raise<POWER>(load(q + x * BLOCK)));
      if (y % 2) odd = fold<FOLD>(odd, part);
      else all = fold<FOLD>(all, part);
    }
  return fold<FOLD>(all, odd);
}

// `count` windows of ROWS x K in a row, S apart, all inside the data: columns are folded once and shared by neighbours.
template <Fold FOLD, int ROWS, int K, int S>
void line(const float* p, std::int64_t row, float* out, std::int64_t count, float factor) {
  const auto column = [&](const float* q) __attribute__((always_inline)) {
    Block v = FOLD == Fold::max ? fold<FOLD>(start<FOLD>(), load(q)) : load(q);  // a NaN must not come first
#pragma GCC unroll 4
    for (int y = 1; y < ROWS; ++y) v = fold<FOLD>(v, load(q + y * row));
    return v;
  };
  Block kept[K];
#pragma GCC unroll 4
  for (int i = 0; i < K - S; ++i) kept[i] = column(p + i * BLOCK);
  for (std::int64_t x = 0; x < count; ++x, p += S * BLOCK, out += BLOCK) {
#pragma GCC unroll 4
    for (int i = K - S; i < K; ++i) kept[i] = column(p + i * BLOCK);
    Block all = kept[0];
#pragma GCC unroll 4
    for (int i = 1; i < K; ++i) all = fold<FOLD>(all, kept[i]);
    store(out, FOLD == Fold::max ? all : all * factor);
#pragma GCC unroll 4
    for (int i = 0; i < K - S; ++i) kept[i] = kept[i + S];
  }
}

using StripLine = void (*)(const float*, std::int64_t, float*, std::int64_t, float);

// For windows of so many rows (some may lie outside the data); null where there is no fast path.
template <Fold FOLD>
StripLine line_of(std::int64_t rows, std::int64_t kernel, std::int64_t stride) {
  if (rows < 1 || rows > 3) return nullptr;
  if (kernel == 3 && stride == 2) {
    constexpr StripLine lines[] = {line<FOLD, 1, 3, 2>, line<FOLD, 2, 3, 2>, line<FOLD, 3, 3, 2>};
    return lines[rows - 1];
  }
  if (kernel == 3 && stride == 1) {
    constexpr StripLine lines[] = {line<FOLD, 1, 3, 1>, line<FOLD, 2, 3, 1>, line<FOLD, 3, 3, 1>};
    return lines[rows - 1];
  }
  if (kernel == 2 && stride == 2 && rows < 3) {
    constexpr StripLine lines[] = {line<FOLD, 1, 2, 2>, line<FOLD, 2, 2, 2>};
    return lines[rows - 1];
  }
  return nullptr;
}

template <Fold FOLD, int POWER>
class StripsOf : public Strips {
 public:
  StripsOf(const std::vector<Windows>& axes, bool mean) : deep_(axes[0]), high_(axes[1]), wide_(axes[2]), mean_(mean) {
    for (std::int64_t y = 0; y < high_.steps; ++y) {
      const bool flat = POWER == 1 && deep_.size == 1 && deep_.kernel == 1;
      lines_.push_back(flat ? line_of<FOLD>(high_.end[y] - high_.begin[y], wide_.kernel, wide_.stride) : nullptr);
    }
  }

  void row(const float* image, std::int64_t slice, std::int64_t row, float* out, std::int64_t z, std::int64_t y) const override {
    image += deep_.begin[z] * slice + high_.begin[y] * row;
    const std::int64_t first = wide_.first_whole(), last = wide_.last_whole();
    if (!lines_[y] || first == last) return some(image, slice, row, out, z, y, 0, wide_.steps);
    some(image, slice, row, out, z, y, 0, first);
    const float factor = mean_ ? 1.f / (deep_.count[z] * high_.count[y] * wide_.count[first]) : 1.f;
    lines_[y](image + wide_.begin[first] * BLOCK, row, out + first * BLOCK, last - first, factor);
    some(image, slice, row, out, z, y, last, wide_.steps);
  }

 private:
  void some(const float* image, std::int64_t slice, std::int64_t row, float* out, std::int64_t z, std::int64_t y,
            std::int64_t from, std::int64_t to) const {
    const std::int64_t slices = deep_.end[z] - deep_.begin[z], rows = high_.end[y] - high_.begin[y];
    for (std::int64_t x = from; x < to; ++x) {
      const std::int64_t columns = wide_.end[x] - wide_.begin[x];
      Block all = window<FOLD, POWER>(image + wide_.begin[x] * BLOCK, slice, slices, row, rows, columns);
      if (FOLD == Fold::sum && mean_) all = all / splat(deep_.count[z] * high_.count[y] * wide_.count[x]);
      store(out + x * BLOCK, root<POWER>(all));
    }
  }

  Windows deep_, high_, wide_;
  bool mean_;
  std::vector<StripLine> lines_;
};

}  // namespace

std::unique_ptr<const Strips> strips_of(Fold fold, int power, const std::vector<Windows>& axes, bool mean) {
  if (fold == Fold::max) return std::make_unique<StripsOf<Fold::max, 1>>(axes, false);
  if (power == 3) return std::make_unique<StripsOf<Fold::sum, 3>>(axes, false);
  if (power == 2) return std::make_unique<StripsOf<Fold::sum, 2>>(axes, false);
  return std::make_unique<StripsOf<Fold::sum, 1>>(axes, mean);
}

}  // namespace gluonnx
