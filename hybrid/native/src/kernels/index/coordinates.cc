// Parts of an array at coordinates: gather_nd, scatter_nd and their kin, of MXNet (columns of coordinates) and ONNX (rows of them).
#include "../move/index.h"
#include "../move/parts.h"
#include "update.h"

namespace gluonnx {
namespace {

// Which part of an array, among all parts of its size, each position stands for. Positions come in batches of the same number, for
// each of which there is an array; coordinates count from behind where they are negative.
class Places {
 public:
  // shape: of the arrays' axes that coordinates are along; position, coordinate: how far apart in the indices
  Places(const Tensor& indices, std::vector<std::int64_t> shape, std::int64_t batches, std::int64_t each, std::int64_t position,
         std::int64_t coordinate)
      : batches(batches), each(each), shape_(std::move(shape)), position_(position), coordinate_(coordinate), read_(indices.dtype) {
    want(Positions::can(indices.dtype) && shape_.size() <= MANY);
    want_size(indices, times(batches, each, static_cast<std::int64_t>(shape_.size())));
    for (std::int64_t size : shape_) parts = times(parts, size);
  }

  // f(first position, parts, how many) for positions [begin, end) of all batches; false where a coordinate is outside
  template <class F>
  bool visit(const void* indices, std::int64_t begin, std::int64_t end, F&& f) const {
    const auto axes = static_cast<std::int64_t>(shape_.size());
    const std::int64_t many = MANY / std::max<std::int64_t>(1, axes);
    std::int64_t found[MANY], at[MANY];
    for (std::int64_t first = begin; first < end; first += many) {
      const std::int64_t count = std::min(many, end - first);
      for (std::int64_t j = 0; j < count; ++j) at[j] = batches > 1 ? (first + j) / each : 0;
      if (coordinate_ == 1) read_.read(indices, first * position_, count * axes, found);
      for (std::int64_t a = 0; a < axes; ++a) {
        const std::int64_t* where = found + a;
        std::int64_t step = axes;
        if (coordinate_ != 1) read_.read(indices, a * coordinate_ + first, count, found), where = found, step = 1;
        const std::int64_t size = shape_[a];
        bool inside = true;
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t place = where[j * step];
          inside &= place >= -size && place < size;
          at[j] = at[j] * size + (place < 0 ? place + size : place);
        }
        if (!inside) return false;
      }
      f(first, at, count);
    }
    return true;
  }

  std::int64_t batches, each, parts = 1;  // positions of a batch, parts of its array

 private:
  static constexpr std::int64_t MANY = 256;

  std::vector<std::int64_t> shape_;
  std::int64_t position_, coordinate_;
  Positions read_;
};

class Gather : public Kernel {
 public:
  Gather(const Call& call, Places places) : places_(std::move(places)) {
    want(call.in[0].dtype == call.out[0].dtype);
    const std::int64_t parts = times(places_.batches, places_.parts), positions = times(places_.batches, places_.each);
    row_ = parts ? call.in[0].size() / parts : positions ? call.out[0].size() / positions : 0;
    want_size(call.in[0], times(parts, row_));
    want_size(call.out[0], times(positions, row_));
    row_ *= static_cast<std::int64_t>(size_of(call.in[0].dtype));
    sure = false;
    how = "parts";
  }

  void run(const Run& run) const override {
    std::atomic<bool> fits{true};
    run.ranges(places_.batches * places_.each, grain_of(row_ + 16), [&](std::int64_t begin, std::int64_t end, int) {
      const bool inside = places_.visit(run.in[1], begin, end, [&](std::int64_t first, const std::int64_t* parts, std::int64_t count) {
        std::byte* to = run.output<std::byte>() + first * row_;
        const std::byte* from = run.input<std::byte>(0);
        switch (row_) {
          case 1:
            return take<1>(to, from, parts, count);
          case 2:
            return take<2>(to, from, parts, count);
          case 4:
            return take<4>(to, from, parts, count);
          case 8:
            return take<8>(to, from, parts, count);
          default:
            return take<0>(to, from, parts, count);
        }
      });
      if (!inside) fits.store(false, std::memory_order_relaxed);
    });
    want_value(fits);
  }

 private:
  // ROW: bytes of a part, 0 when that is not one number
  template <std::int64_t ROW>
  void take(std::byte* to, const std::byte* from, const std::int64_t* parts, std::int64_t count) const {
    const std::int64_t row = ROW ? ROW : row_;
    for (std::int64_t j = 0; j < count; ++j) std::memcpy(to + j * row, from + parts[j] * row, static_cast<std::size_t>(row));
  }

  Places places_;
  std::int64_t row_;  // bytes of a part
};

// One update after another, so that the last one counts; threads share the numbers of a part.
class Scatter : public Kernel {
 public:
  // which inputs; no data: zeros
  Scatter(const Call& call, Places places, Apply apply, std::optional<int> data, int indices, int updates)
      : places_(std::move(places)),
        apply_(apply),
        data_(data),
        indices_(indices),
        updates_(updates),
        element_(static_cast<std::int64_t>(size_of(call.out[0].dtype))) {
    const Tensor &out = call.out[0], &given = call.in[updates];
    want(given.dtype == out.dtype);
    if (data) want(call.in[*data].dtype == out.dtype && call.in[*data].size() == out.size());
    const std::int64_t parts = times(places_.batches, places_.parts), positions = times(places_.batches, places_.each);
    row_ = parts ? out.size() / parts : 0;
    size_ = out.size();
    want(times(parts, row_) == size_ && (!parts || times(positions, row_) == given.size()));
    sure = false;
    how = "updates";
  }

  void run(const Run& run) const override {
    begin_with(run, data_ ? run.input<std::byte>(*data_) : nullptr, run.output<std::byte>(), size_ * element_);
    const std::byte* from = run.input<std::byte>(updates_);
    const std::int64_t positions = places_.batches * places_.each;
    const std::int64_t strips = (row_ + STRIP - 1) / STRIP;
    std::atomic<bool> fits{true};
    run.ranges(std::max<std::int64_t>(1, strips), grain_of(positions * STRIP * element_),
               [&](std::int64_t begin, std::int64_t end, int) {
                 const std::int64_t first = begin * STRIP, last = std::min(row_, end * STRIP);
                 const bool inside = places_.visit(
                     run.in[indices_], 0, positions, [&](std::int64_t position, const std::int64_t* parts, std::int64_t count) {
                       apply_(run.out[0], from + position * row_ * element_, parts, count, row_, first, last);
                     });
                 if (!inside) fits.store(false, std::memory_order_relaxed);
               });
    want_value(fits);
  }

 private:
  static constexpr std::int64_t STRIP = 64;

  Places places_;
  Apply apply_;
  std::optional<int> data_;
  int indices_, updates_;
  std::int64_t element_;     // bytes of a number
  std::int64_t row_, size_;  // numbers of a part, and of all
};

std::unique_ptr<Kernel> scatter(const Call& call, const Places& places, Update kind, std::optional<int> data, int indices, int updates) {
  const Apply apply = apply_of(kind, call.out[0].dtype);
  return apply ? std::make_unique<Scatter>(call, places, apply, data, indices, updates) : nullptr;
}

// Columns of coordinates, each in a row of the indices: MXNet's.
Places by_columns(const Tensor& indices, const std::vector<std::int64_t>& shape) {
  want(indices.rank() > 0 && indices.shape[0] <= static_cast<std::int64_t>(shape.size()));
  const std::int64_t each = product(indices.shape, 1, indices.shape.size());
  return Places(indices, {shape.begin(), shape.begin() + indices.shape[0]}, 1, each, 1, each);
}

// Coordinates along the last axis of the indices, after `batch` axes of both: ONNX's.
Places by_rows(const Tensor& indices, const std::vector<std::int64_t>& shape, std::int64_t batch) {
  const std::int64_t rank = indices.rank() - 1;
  want(rank >= 0 && batch >= 0 && batch <= rank && batch <= static_cast<std::int64_t>(shape.size()));
  const std::int64_t axes = indices.shape[rank];
  want(axes <= static_cast<std::int64_t>(shape.size()) - batch);
  for (std::int64_t i = 0; i < batch; ++i) want(indices.shape[i] == shape[i]);
  const auto first = shape.begin() + batch;
  return Places(indices, {first, first + axes}, product(shape, 0, batch), product(indices.shape, batch, rank), axes, 1);
}

}  // namespace

std::unique_ptr<Kernel> bind_gather_nd(const Call& call) {
  return std::make_unique<Gather>(call, by_columns(call.in[1], call.in[0].shape));
}

std::unique_ptr<Kernel> bind_onnx_gather_nd(const Call& call) {
  call.attrs.ignore("given");
  return std::make_unique<Gather>(call, by_rows(call.in[1], call.in[0].shape, call.attrs.integer("batch_dims")));
}

std::unique_ptr<Kernel> bind_scatter_nd(const Call& call) {
  call.attrs.ignore("shape");
  return scatter(call, by_columns(call.in[1], call.out[0].shape), Update::replace, {}, 1, 0);
}

std::unique_ptr<Kernel> bind_scatter_set_nd(const Call& call) {
  call.attrs.ignore("shape");
  return scatter(call, by_columns(call.in[2], call.out[0].shape), Update::replace, 0, 2, 1);
}

std::unique_ptr<Kernel> bind_index_copy(const Call& call) {
  const auto& shape = call.out[0].shape;
  return scatter(call, Places(call.in[1], {shape[0]}, 1, call.in[1].size(), 1, 1), Update::replace, 0, 1, 2);
}

std::unique_ptr<Kernel> bind_fill_element(const Call& call) {
  const auto& shape = call.out[0].shape;
  return scatter(call, Places(call.in[2], {shape[1]}, shape[0], 1, 1, 1), Update::replace, 0, 2, 1);
}

std::unique_ptr<Kernel> bind_onnx_scatter_nd(const Call& call) {
  call.attrs.ignore("given");
  const auto kind = update_named(call.attrs.text("reduction"));
  return kind ? scatter(call, by_rows(call.in[1], call.out[0].shape, 0), *kind, 0, 1, 2) : nullptr;
}

}  // namespace gluonnx
