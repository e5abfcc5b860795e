// where: choosing element by element, with broadcasting.
#include "strided.h"

namespace gluonnx {
namespace {

// Condition, x and y have strides of their own, 0 where they are repeated; merged as far as all three allow.
struct Side {
  std::int64_t size, stride[3];
};

// A row: c are conditions of as many bytes as C, which hold where a bit of the mask is set; strides are 1, or 0 to repeat.
using Row = void (*)(const std::byte* c, std::uint64_t mask, const std::byte* x, const std::byte* y, std::byte* to, const Side& side,
                     std::int64_t count);

template <class C, class T>
void row(const std::byte* conditions, std::uint64_t bits, const std::byte* xs, const std::byte* ys, std::byte* result, const Side& side,
         std::int64_t count) {
  const C* __restrict c = reinterpret_cast<const C*>(conditions);
  const T *__restrict x = reinterpret_cast<const T*>(xs), *__restrict y = reinterpret_cast<const T*>(ys);
  T* __restrict to = reinterpret_cast<T*>(result);
  const C mask = static_cast<C>(bits);
  const auto [c_step, x_step, y_step] = side.stride;
  if (c_step == 0) {
    const T* from = *c & mask ? x : y;
    if (*c & mask ? x_step : y_step) std::copy(from, from + count, to);
    else std::fill(to, to + count, *from);
  } else if (x_step && y_step) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] & mask ? x[i] : y[i];
  } else if (x_step) {
    const T other = *y;
    for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] & mask ? x[i] : other;
  } else if (y_step) {
    const T one = *x;
    for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] & mask ? one : y[i];
  } else {
    const T one = *x, other = *y;
    for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] & mask ? one : other;
  }
}

// What of a condition's bits counts: of floats the sign of 0 does not.
std::uint64_t mask_of(DType dtype) {
  const bool floats = dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
  return ~std::uint64_t{0} >> (64 - 8 * size_of(dtype) + floats);
}

class Where : public Kernel {
 public:
  Where(const Call& call, std::vector<Side> axes)
      : size_(call.out[0].size()), axes_(std::move(axes)), mask_(mask_of(call.in[0].dtype)) {
    const DType condition = call.in[0].dtype, moved = call.out[0].dtype;
    inner_ = {1, {0, 0, 0}};
    if (!axes_.empty()) inner_ = axes_.back(), axes_.pop_back();
    element_[0] = static_cast<std::int64_t>(size_of(condition));
    element_[1] = element_[2] = static_cast<std::int64_t>(size_of(moved));
    row_ = by_size(condition, [&](auto c) {
      return by_size(moved, [&](auto t) -> Row { return row<decltype(c), decltype(t)>; });
    });
    how = "elements";
  }

  void run(const Run& run) const override {
    if (!size_) return;
    run.ranges(size_, grain_of(element_[0] + 3 * element_[1]), [&](std::int64_t begin, std::int64_t end, int) {
      while (begin < end) {
        const std::int64_t skip = begin % inner_.size, count = std::min(inner_.size - skip, end - begin);
        std::int64_t at[3], rest = begin / inner_.size;
        for (int k = 0; k < 3; ++k) at[k] = skip * inner_.stride[k];
        for (std::size_t i = axes_.size(); i-- > 0; rest /= axes_[i].size)
          for (int k = 0; k < 3; ++k) at[k] += rest % axes_[i].size * axes_[i].stride[k];
        for (int k = 0; k < 3; ++k) at[k] *= element_[k];
        row_(run.input<std::byte>(0) + at[0], mask_, run.input<std::byte>(1) + at[1], run.input<std::byte>(2) + at[2],
             run.output<std::byte>() + begin * element_[1], inner_, count);
        begin += count;
      }
    });
  }

 private:
  std::int64_t size_;
  std::vector<Side> axes_;
  Side inner_;
  std::uint64_t mask_;
  std::int64_t element_[3];  // bytes of a condition, of x and of y
  Row row_;
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
