// where: choosing element by element, with broadcasting.
#include "../../base/vec.h"
#include "strided.h"

namespace gluonnx {
namespace {

// Condition, x and y have strides of their own, 0 where they are repeated; merged as far as all three allow.
struct Side {
  std::int64_t size, stride[3];
};

// The elements of a result in which conditions, x and y have these strides.
struct Picture {
  std::vector<Side> axes;  // before the last one
  Side inner{1, {0, 0, 0}};
  std::uint64_t mask;  // bits of a condition, any of which makes it hold
};

// A row. Strides are 1, or 0 to repeat.
template <class C, class T>
GX_INLINE void row(const C* __restrict c, C mask, const T* __restrict x, const T* __restrict y, T* __restrict to, const Side& side,
                   std::int64_t count) {
  // without a branch, which conditions in no order would have taken wrongly as often as not
  const auto chosen = [mask](C condition, T one, T other) GX_LAMBDA {
    const T all = static_cast<T>(T{0} - static_cast<T>((condition & mask) != 0));
    return static_cast<T>(other ^ ((one ^ other) & all));
  };
  const auto [c_step, x_step, y_step] = side.stride;
  if (c_step == 0) {
    const T* from = *c & mask ? x : y;
    if (*c & mask ? x_step : y_step) std::copy(from, from + count, to);
    else std::fill(to, to + count, *from);
  } else if (x_step && y_step) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = chosen(c[i], x[i], y[i]);
  } else if (x_step) {
    const T other = *y;
    for (std::int64_t i = 0; i < count; ++i) to[i] = chosen(c[i], x[i], other);
  } else if (y_step) {
    const T one = *x;
    for (std::int64_t i = 0; i < count; ++i) to[i] = chosen(c[i], one, y[i]);
  } else {
    const T one = *x, other = *y;
    for (std::int64_t i = 0; i < count; ++i) to[i] = chosen(c[i], one, other);
  }
}

// Elements [begin, end): conditions of as many bytes as C, elements as T.
using Elements = void (*)(const Picture& picture, const Run& run, std::int64_t begin, std::int64_t end);

template <class C, class T>
void elements(const Picture& picture, const Run& run, std::int64_t begin, std::int64_t end) {
  const Side inner = picture.inner;
  const C mask = static_cast<C>(picture.mask);
  while (begin < end) {
    const std::int64_t skip = begin % inner.size, count = std::min(inner.size - skip, end - begin);
    std::int64_t at[3], rest = begin / inner.size;
    for (int k = 0; k < 3; ++k) at[k] = skip * inner.stride[k];
    for (std::size_t i = picture.axes.size(); i-- > 0; rest /= picture.axes[i].size)
      for (int k = 0; k < 3; ++k) at[k] += rest % picture.axes[i].size * picture.axes[i].stride[k];
    row(run.input<C>(0) + at[0], mask, run.input<T>(1) + at[1], run.input<T>(2) + at[2], run.output<T>() + begin, inner, count);
    begin += count;
  }
}

// What of a condition's bits counts: of floats the sign of 0 does not.
std::uint64_t mask_of(DType dtype) {
  const bool floats = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  return ~std::uint64_t{0} >> (64 - 8 * size_of(dtype) + floats);
}

class Where : public Kernel {
 public:
  Where(const Call& call, std::vector<Side> axes) : size_(call.out[0].size()) {
    const DType condition = call.in[0].dtype, moved = call.out[0].dtype;
    picture_.mask = mask_of(condition);
    if (!axes.empty()) picture_.inner = axes.back(), axes.pop_back();
    picture_.axes = std::move(axes);
    bytes_ = static_cast<std::int64_t>(size_of(condition) + 3 * size_of(moved));
    elements_ = by_size(condition, [&](auto c) {
      return by_size(moved, [&](auto t) -> Elements { return elements<decltype(c), decltype(t)>; });
    });
    how = "elements";
  }

  void run(const Run& run) const override {
    run.ranges(size_, grain_of(bytes_), [&](std::int64_t begin, std::int64_t end, int) { elements_(picture_, run, begin, end); });
  }

 private:
  std::int64_t size_, bytes_;  // elements, and bytes that one moves
  Picture picture_;
  Elements elements_;
};

// Axes of the result, those merged over which nothing repeats differently. rows: a condition of one axis chooses rows.
std::vector<Side> sides(const Call& call, bool rows) {
  const auto& shape = call.out[0].shape;
  std::vector<Side> merged;
  std::vector<std::int64_t> strides[3];
  for (int k = 0; k < 3; ++k) {
    auto have = call.in[k].shape;
    want(have.size() <= shape.size());
    if (rows && !k) have.insert(have.end(), shape.size() - have.size(), 1);
    strides[k] = strides_of(have);
    for (std::size_t i = 0; i < have.size(); ++i) {
      want(have[i] == 1 || have[i] == shape[i + shape.size() - have.size()]);
      if (have[i] == 1) strides[k][i] = 0;
    }
    strides[k].insert(strides[k].begin(), shape.size() - have.size(), 0);
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const Side side{shape[i], {strides[0][i], strides[1][i], strides[2][i]}};
    bool joins = !merged.empty();
    for (int k = 0; k < 3 && joins; ++k) joins = merged.back().stride[k] == side.stride[k] * side.size;
    if (joins) merged.back() = {merged.back().size * side.size, {side.stride[0], side.stride[1], side.stride[2]}};
    else merged.push_back(side);
  }
  return merged;
}

std::unique_ptr<Kernel> where(const Call& call, bool rows) {
  if (call.in[1].dtype != call.out[0].dtype || call.in[2].dtype != call.out[0].dtype) return nullptr;
  switch (call.in[0].dtype) {
    case DType::other1:
    case DType::other2:
    case DType::other4:
    case DType::other8:
      return nullptr;  // nobody knows which of their values hold
    default:
      return std::make_unique<Where>(call, sides(call, rows));
  }
}

}  // namespace

std::unique_ptr<Kernel> bind_where(const Call& call) { return where(call, call.in[0].rank() == 1 && call.in[1].rank() > 1); }
std::unique_ptr<Kernel> bind_where_broadcast(const Call& call) { return where(call, false); }

}  // namespace gluonnx
