// Elements at positions along an axis, the other axes walked through together: ONNX's GatherElements and ScatterElements, and what
// is taken and put by the gradients of orders.
#include "../move/index.h"
#include "../move/parts.h"
#include "update.h"

namespace gluonnx {
namespace {

// A walk over positions, and over the array that they are places in. Axes other than the one along which positions are may be
// shorter there; those that are merged lie together on both sides.
class Walk {
 public:
  Walk(const Tensor& indices, const std::vector<std::int64_t>& data, std::int64_t along, bool from_behind)
      : from_behind_(from_behind), read_(indices.dtype) {
    const auto rank = static_cast<std::int64_t>(data.size());
    want(Positions::can(indices.dtype) && rank > 0 && indices.rank() == rank);
    const std::int64_t axis = axis_in(along, rank);
    const auto strides = strides_of(data);
    size_ = data[axis], stride_ = strides[axis];
    for (std::int64_t a = 0; a < rank; ++a) {
      const std::int64_t n = indices.shape[a];
      want(a == axis || n <= data[a]);
      if (a < axis) outer = times(outer, n);
      else each = times(each, n);
      const bool joins = !axes_.empty() && a != axis && !axes_.back().is_along && n == data[a];
      if (joins) axes_.back() = {axes_.back().size * n, strides[a], false};
      else axes_.push_back({n, a == axis ? 0 : strides[a], a == axis});
    }
    row_ = axes_.back();
    axes_.pop_back();
  }

  // f(number of the first position, elements of the data, how many) for positions [begin, end); false where one is outside
  template <class F>
  bool visit(const void* indices, std::int64_t begin, std::int64_t end, F&& f) const {
    std::int64_t found[MANY];
    while (begin < end) {
      const std::int64_t skip = begin % row_.size, many = std::min(row_.size - skip, end - begin);
      std::int64_t base = skip * row_.stride, rest = begin / row_.size;
      for (std::size_t i = axes_.size(); i-- > 0; rest /= axes_[i].size) base += rest % axes_[i].size * axes_[i].stride;
      for (std::int64_t first = 0; first < many; first += MANY) {
        const std::int64_t count = std::min(MANY, many - first);
        read_.read(indices, begin + first, count, found);
        bool inside = true;
        for (std::int64_t j = 0; j < count; ++j) {
          inside &= found[j] >= (from_behind_ ? -size_ : 0) && found[j] < size_;
          found[j] = (found[j] < 0 ? found[j] + size_ : found[j]) * stride_ + base + (first + j) * row_.stride;
        }
        if (!inside) return false;
        f(begin + first, found, count);
      }
      begin += many;
    }
    return true;
  }

  std::int64_t outer = 1, each = 1;  // positions before the axis, and from it on: places of one of the former are no other's

 private:
  static constexpr std::int64_t MANY = 128;

  struct Axis {
    std::int64_t size, stride;
    bool is_along;
  };

  std::vector<Axis> axes_;
  Axis row_;
  std::int64_t size_, stride_;
  bool from_behind_;
  Positions read_;
};

template <class T>
void fetch(void* to, const void* from, const std::int64_t* at, std::int64_t count) {
  for (std::int64_t j = 0; j < count; ++j) static_cast<T*>(to)[j] = static_cast<const T*>(from)[at[j]];
}

class GatherElements : public Kernel {
 public:
  GatherElements(const Call& call, Walk walk)
      : walk_(std::move(walk)),
        count_(call.in[1].size()),
        element_(static_cast<std::int64_t>(size_of(call.out[0].dtype))),
        fetch_(by_size(call.out[0].dtype, [](auto t) { return &fetch<decltype(t)>; })) {
    want(call.in[0].dtype == call.out[0].dtype);
    want_size(call.out[0], count_);
    sure = false;
    how = "elements";
  }

  void run(const Run& run) const override {
    std::atomic<bool> fits{true};
    run.ranges(count_, grain_of(16), [&](std::int64_t begin, std::int64_t end, int) {
      const bool inside = walk_.visit(run.in[1], begin, end, [&](std::int64_t i, const std::int64_t* at, std::int64_t count) {
        fetch_(run.output<std::byte>() + i * element_, run.in[0], at, count);
      });
      if (!inside) fits.store(false, std::memory_order_relaxed);
    });
    want_value(fits);
  }

 private:
  Walk walk_;
  std::int64_t count_, element_;
  void (*fetch_)(void*, const void*, const std::int64_t*, std::int64_t);
};

class ScatterElements : public Kernel {
 public:
  ScatterElements(const Call& call, Walk walk, Apply apply, std::optional<int> data, int indices, int updates)
      : walk_(std::move(walk)),
        apply_(apply),
        data_(data),
        indices_(indices),
        updates_(updates),
        size_(call.out[0].size()),
        element_(static_cast<std::int64_t>(size_of(call.out[0].dtype))) {
    const Tensor& out = call.out[0];
    want(call.in[updates].dtype == out.dtype);
    want_size(call.in[updates], call.in[indices].size());
    if (data) want(call.in[*data].dtype == out.dtype && call.in[*data].size() == size_);
    sure = false;
    how = "updates";
  }

  void run(const Run& run) const override {
    begin_with(run, data_ ? run.input<std::byte>(*data_) : nullptr, run.output<std::byte>(), size_ * element_);
    const std::byte* from = run.input<std::byte>(updates_);
    std::atomic<bool> fits{true};
    run.ranges(walk_.outer, grain_of(16 * walk_.each), [&](std::int64_t begin, std::int64_t end, int) {
      const bool inside = walk_.visit(run.in[indices_], begin * walk_.each, end * walk_.each,
                                      [&](std::int64_t i, const std::int64_t* at, std::int64_t count) {
                                        apply_(run.out[0], from + i * element_, at, count, 1, 0, 1);
                                      });
      if (!inside) fits.store(false, std::memory_order_relaxed);
    });
    want_value(fits);
  }

 private:
  Walk walk_;
  Apply apply_;
  std::optional<int> data_;
  int indices_, updates_;
  std::int64_t size_, element_;
};

std::unique_ptr<Kernel> gather(const Call& call, const Walk& walk) { return std::make_unique<GatherElements>(call, walk); }

std::unique_ptr<Kernel> scatter(const Call& call, const Walk& walk, Update kind, std::optional<int> data, int indices, int updates) {
  const Apply apply = apply_of(kind, call.out[0].dtype);
  return apply ? std::make_unique<ScatterElements>(call, walk, apply, data, indices, updates) : nullptr;
}

// Positions in data, which is flat where there is no axis.
Walk in_order(const Call& call, const Tensor& order, const Tensor& data) {
  if (call.attrs.has("axis")) {
    const std::int64_t axis = axis_in(call.attrs.integer("axis"), data.rank());
    for (std::int64_t a = 0; a < data.rank(); ++a) want(a == axis || order.shape[a] == data.shape[a]);
    return Walk(order, data.shape, axis, false);
  }
  call.attrs.ignore("axis");
  return Walk(order, {data.size()}, 0, false);
}

}  // namespace

std::unique_ptr<Kernel> bind_onnx_gather_elements(const Call& call) {
  call.attrs.ignore("given");
  return gather(call, Walk(call.in[1], call.in[0].shape, call.attrs.integer("axis"), true));
}

std::unique_ptr<Kernel> bind_onnx_scatter_elements(const Call& call) {
  call.attrs.ignore("given");
  const auto kind = update_named(call.attrs.text("reduction"));
  if (!kind) return nullptr;
  return scatter(call, Walk(call.in[1], call.out[0].shape, call.attrs.integer("axis"), true), *kind, 0, 1, 2);
}

std::unique_ptr<Kernel> bind_taken(const Call& call) { return gather(call, in_order(call, call.in[1], call.in[0])); }

std::unique_ptr<Kernel> bind_sort_back(const Call& call) {
  want(call.in[2].shape == call.out[0].shape);
  return scatter(call, in_order(call, call.in[1], call.out[0]), Update::replace, {}, 1, 0);
}

}  // namespace gluonnx
