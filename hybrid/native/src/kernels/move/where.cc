// where: choosing element by element, with broadcasting.
#include "strided.h"

namespace gluonnx {
namespace {

// A condition of float16 or bfloat16: anything but zeros of both signs.
struct Half {
  std::uint16_t bits;
  bool operator!=(int) const { return bits & 0x7fff; }
};

// Condition, x and y have strides of their own, 0 where they are repeated; merged as far as all three allow.
struct Side {
  std::int64_t size, stride[3];
};

template <class C, class T>
class Where : public Kernel {
 public:
  Where(const Call& call, std::vector<Side> axes) : size_(call.out[0].size()), axes_(std::move(axes)) {
    inner_ = {1, {0, 0, 0}};
    if (!axes_.empty()) inner_ = axes_.back(), axes_.pop_back();
    how = "elements";
  }

  void run(const Run& run) const override {
    if (!size_) return;
    run.ranges(size_, grain_of(sizeof(C) + 3 * sizeof(T)), [&](std::int64_t begin, std::int64_t end, int) {
      while (begin < end) {
        const std::int64_t skip = begin % inner_.size, count = std::min(inner_.size - skip, end - begin);
        std::int64_t at[3], rest = begin / inner_.size;
        for (int k = 0; k < 3; ++k) at[k] = skip * inner_.stride[k];
        for (std::size_t i = axes_.size(); i-- > 0; rest /= axes_[i].size)
          for (int k = 0; k < 3; ++k) at[k] += rest % axes_[i].size * axes_[i].stride[k];
        row(run.input<C>(0) + at[0], run.input<T>(1) + at[1], run.input<T>(2) + at[2], run.output<T>() + begin, count);
        begin += count;
      }
    });
  }

 private:
  void row(const C* __restrict c, const T* __restrict x, const T* __restrict y, T* __restrict to, std::int64_t count) const {
    const auto [cs, xs, ys] = inner_.stride;
    if (cs == 0) {
      const bool first = *c != 0;
      const T* from = first ? x : y;
      const std::int64_t stride = first ? xs : ys;
      if (stride == 1) std::copy(from, from + count, to);
      else std::fill(to, to + count, *from);
    } else if (xs && ys) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] != 0 ? x[i] : y[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = c[i] != 0 ? x[i * xs] : y[i * ys];
    }
  }

  std::int64_t size_;
  std::vector<Side> axes_;
  Side inner_;
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

template <class C>
std::unique_ptr<Kernel> by_element(const Call& call, bool rows) {
  return by_size(call.out[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Where<C, decltype(t)>>(call, sides(call, rows));
  });
}

std::unique_ptr<Kernel> where(const Call& call, bool rows) {
  if (call.in[1].dtype != call.out[0].dtype || call.in[2].dtype != call.out[0].dtype) return nullptr;
  switch (call.in[0].dtype) {
    case DType::f32:
      return by_element<float>(call, rows);
    case DType::f64:
      return by_element<double>(call, rows);
    case DType::f16:
    case DType::bf16:
      return by_element<Half>(call, rows);
    case DType::i32:
      return by_element<std::int32_t>(call, rows);
    case DType::i64:
      return by_element<std::int64_t>(call, rows);
    case DType::i8:
    case DType::u8:
    case DType::b1:
      return by_element<std::uint8_t>(call, rows);
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> bind_where(const Call& call) { return where(call, call.in[0].rank() == 1 && call.in[1].rank() > 1); }
std::unique_ptr<Kernel> bind_where_broadcast(const Call& call) { return where(call, false); }

}  // namespace gluonnx
