// Elements put where data say: under a mask, before places of an axis, into the places of a sketch; and places as coordinates.
#include <algorithm>
#include <atomic>

#include "../../base/convert.h"
#include "../../base/numbers.h"
#include "constant.h"
#include "index.h"
#include "parts.h"

namespace gluonnx {
namespace {

using Ints = std::vector<std::int64_t>;

// Where in a tensor that broadcasts to a shape the elements of that are: strides, with 0 along what is repeated.
Ints spread_strides(const Ints& have, const Ints& shape) {
  want(have.size() <= shape.size());
  Ints strides(shape.size(), 0);
  std::int64_t all = 1;
  for (std::size_t i = have.size(); i-- > 0; all *= have[i]) {
    const std::size_t at = i + shape.size() - have.size();
    want(have[i] == 1 || have[i] == shape[at]);
    strides[at] = have[i] == 1 ? 0 : all;
  }
  return strides;
}

std::int64_t offset_of(std::int64_t index, const Ints& shape, const Ints& strides) {
  std::int64_t sum = 0;
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) sum += index % shape[i] * strides[i];
  return sum;
}

// data (lead, mask's dims, trail) with value (lead, how many, trail), or what broadcasts to that, where the mask is other than 0.
class MaskAssign : public Kernel {
 public:
  explicit MaskAssign(const Call& call) : type_(call.in[1].dtype), moved_(call.in[0].dtype) {
    const Tensor &data = call.in[0], &mask = call.in[1], &value = call.in[2];
    const std::int64_t start = call.attrs.integer("start_axis"), rank = mask.rank(), all = data.rank();
    want(start >= 0 && rank >= 1 && start + rank <= all && value.dtype == data.dtype && call.out[0].dtype == data.dtype);
    want_shape(call.out[0], data.shape);
    want_shape(mask, {data.shape.begin() + start, data.shape.begin() + start + rank});
    want(type_ != DType::other1 && type_ != DType::other2 && type_ != DType::other4 && type_ != DType::other8);
    lead_ = product(data.shape, 0, start), count_ = mask.size(), trail_ = product(data.shape, start + rank, all);
    // its shape beside that of what is chosen, whose size along the mask is known when there are that many
    const auto axes = static_cast<std::size_t>(start + 1 + all - start - rank);
    want(value.shape.size() <= axes);
    chosen_.assign(data.shape.begin(), data.shape.begin() + start);
    const std::int64_t at = start - static_cast<std::int64_t>(axes - value.shape.size());
    most_ = at >= 0 ? value.shape[at] : 1;
    chosen_.push_back(most_);
    chosen_.insert(chosen_.end(), data.shape.begin() + start + rank, data.shape.end());
    strides_ = spread_strides(value.shape, chosen_);
    sure = false;
    how = "elements";
  }

  void run(const Run& run) const override {
    std::vector<char> chosen(static_cast<std::size_t>(count_));
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < count_; ++i) found += chosen[i] = is_set(run.input<std::byte>(1), i);
    want_value(most_ == 1 || found == most_);
    std::memcpy(run.out[0], run.in[0], static_cast<std::size_t>(lead_ * count_ * trail_) * size_of(moved_));
    by_size(moved_, [&](auto t) { assign(chosen, run.input<decltype(t)>(2), run.output<decltype(t)>()); });
  }

 private:
  template <class T>
  void assign(const std::vector<char>& chosen, const T* from, T* to) const {
    for (std::int64_t l = 0; l < lead_; ++l) {
      std::int64_t number = 0;
      for (std::int64_t i = 0; i < count_; ++i) {
        if (!chosen[i]) continue;
        const std::int64_t first = (l * most_ + (most_ == 1 ? 0 : number)) * trail_;
        for (std::int64_t t = 0; t < trail_; ++t)
          to[(l * count_ + i) * trail_ + t] = from[offset_of(first + t, chosen_, strides_)];
        ++number;
      }
    }
  }

  bool is_set(const std::byte* mask, std::int64_t i) const {
    auto bits = [&](auto t) {
      std::memcpy(&t, mask + i * static_cast<std::int64_t>(sizeof t), sizeof t);
      return static_cast<std::uint64_t>(t);
    };
    switch (type_) {  // of floats the sign of 0 says nothing
      case DType::f32:
        return bits(std::uint32_t{}) << 33;
      case DType::f64:
        return bits(std::uint64_t{}) << 1;
      case DType::f16:
      case DType::bf16:
        return bits(std::uint16_t{}) << 49;
      default:
        return by_size(type_, bits);
    }
  }

  DType type_, moved_;  // of the mask, and of the elements
  std::int64_t lead_, count_, trail_, most_;
  Ints chosen_, strides_;
};

// arr with values, or a number, before the places in obj along an axis.
class Insert : public Kernel {
 public:
  Insert(const Call& call, std::optional<std::uint64_t> number) : number_(number), type_(call.in[0].dtype) {
    const Tensor &arr = call.in[0], &obj = call.in.back();
    const bool flat = !call.attrs.has("axis");
    const std::int64_t axis = flat ? 0 : axis_in(call.attrs.integer("axis"), arr.rank());
    call.attrs.ignore("axis", "start", "stop", "step", "int_ind");
    const Ints shape = flat ? Ints{arr.size()} : Ints(arr.shape);
    want(call.in.size() == (number ? 2u : 3u) && obj.dtype == DType::i64 && obj.rank() <= 1 && call.out[0].dtype == arr.dtype);
    const auto end = shape.size();
    outer_ = product(shape, 0, axis), size_ = shape[axis], inner_ = product(shape, axis + 1, end), places_ = obj.size();
    want(call.out[0].shape.size() == end);
    new_ = call.out[0].shape[axis] - size_;
    sure = false;
    how = "rows";
    want(new_ >= 0 && (places_ == 1 || places_ == new_));
    want_size(call.out[0], times(outer_, times(plus(size_, new_), inner_)));
    if (number) return;
    const Tensor& values = call.in[1];
    want(values.dtype == arr.dtype && values.shape.size() <= end);
    Ints have(end - values.shape.size(), 1);
    have.insert(have.end(), values.shape.begin(), values.shape.end());
    Ints strides = strides_of(have);
    if (obj.rank() == 0) {  // they lie along their first axis
      std::rotate(have.begin(), have.begin() + 1, have.begin() + axis + 1);
      std::rotate(strides.begin(), strides.begin() + 1, strides.begin() + axis + 1);
    }
    block_ = shape;
    block_[axis] = new_;
    for (std::size_t i = 0; i < end; ++i) {
      want(have[i] == 1 || have[i] == block_[i]);
      if (have[i] == 1) strides[i] = 0;
    }
    strides_ = strides;
  }

  void run(const Run& run) const override {
    const std::int64_t all = size_ + new_;
    Ints source(static_cast<std::size_t>(all), -1);  // which of the new ones is at each place, -1: of the old ones
    Ints at(static_cast<std::size_t>(places_)), order(at.size());
    for (std::int64_t i = 0; i < places_; ++i) {
      at[i] = run.input<std::int64_t>(number_ ? 1 : 2)[i];
      want_value(at[i] >= -size_ && at[i] <= size_);
      if (at[i] < 0) at[i] += size_;
      order[i] = i;
    }
    if (places_ == 1) {
      for (std::int64_t j = 0; j < new_; ++j) source[at[0] + j] = j;
    } else {
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at[a] < at[b]; });
      for (std::int64_t i = 0; i < places_; ++i) source[at[order[i]] + i] = order[i];
    }
    by_size(type_, [&](auto t) { rows<decltype(t)>(run, source); });
  }

 private:
  template <class T>
  void rows(const Run& run, const Ints& source) const {
    const auto all = static_cast<std::int64_t>(source.size());
    for (std::int64_t o = 0; o < outer_; ++o) {
      const T* from = run.input<T>(0) + o * size_ * inner_;
      T* to = run.output<T>() + o * all * inner_;
      for (std::int64_t j = 0; j < all; ++j, to += inner_) {
        if (source[j] < 0) {
          std::copy(from, from + inner_, to);
          from += inner_;
        } else if (number_) {
          std::fill(to, to + inner_, static_cast<T>(*number_));
        } else {
          const std::int64_t first = (o * new_ + source[j]) * inner_;
          for (std::int64_t i = 0; i < inner_; ++i) to[i] = run.input<T>(1)[offset_of(first + i, block_, strides_)];
        }
      }
    }
  }

  std::optional<std::uint64_t> number_;
  DType type_;
  std::int64_t outer_, size_, inner_, places_, new_;
  Ints block_, strides_;
};

// Number i of each row goes to place h[i], times s[i].
template <class T>
class CountSketch : public Kernel {
 public:
  explicit CountSketch(const Call& call) : type_(call.in[1].dtype), out_(call.attrs.integer("out_dim")) {
    call.attrs.ignore("processing_batch_size");
    const Tensor& data = call.in[0];
    want(data.rank() >= 1 && call.out[0].rank() == data.rank() && call.out[0].shape.back() == out_ && Positions::can(type_));
    want(call.in[2].dtype == data.dtype && call.out[0].dtype == data.dtype && out_ >= 0);
    size_ = data.shape.back(), rows_ = product(data.shape, 0, data.shape.size() - 1);
    want_size(call.in[1], size_);
    want_size(call.in[2], size_);
    want_size(call.out[0], times(rows_, out_));
    sure = false;
    how = "rows";
  }

  void run(const Run& run) const override {
    Ints places(static_cast<std::size_t>(size_));
    Positions(type_).read(run.in[1], 0, size_, places.data());
    for (std::int64_t place : places) want_value(place >= 0 && place < out_);
    const T* signs = run.input<T>(2);
    std::atomic<bool> finite{true};
    run.ranges(rows_, grain_of(size_ * 8), [&](std::int64_t begin, std::int64_t end, int) {
      std::vector<double> sums(static_cast<std::size_t>(out_));
      for (std::int64_t r = begin; r < end; ++r) {
        std::fill(sums.begin(), sums.end(), 0.);
        for (std::int64_t i = 0; i < size_; ++i) {
          const T x = run.input<T>(0)[r * size_ + i];
          sums[places[i]] += static_cast<double>(x) * static_cast<double>(signs[i]);
          if (!(x - x == 0)) finite = false;
        }
        for (std::int64_t j = 0; j < out_; ++j) run.output<T>()[r * out_ + j] = static_cast<T>(sums[j]);
      }
    });
    want_value(finite);  // a product with a matrix has what is no number times 0 everywhere
  }

 private:
  DType type_;
  std::int64_t out_, size_, rows_;
};

// A whole number as the at-th element of a result.
using Put = void (*)(void* to, std::int64_t at, std::int64_t number);
template <class T>
void put_number(void* to, std::int64_t at, std::int64_t number) {
  static_cast<T*>(to)[at] = convert<T>(number);
}

// Positions in an array of a shape, as columns of coordinates: towards zero, as C divides.
class Unravel : public Kernel {
 public:
  Unravel(const Call& call, Put put) : put_(put), shape_(call.attrs.ints("shape")), count_(call.in[0].size()), positions_(call.in[0].dtype) {
    want(!shape_.empty() && call.out[0].dtype == call.in[0].dtype && Positions::can(call.in[0].dtype));
    want_size(call.out[0], times(count_, static_cast<std::int64_t>(shape_.size())));
    for (std::size_t a = 1; a < shape_.size(); ++a) want(shape_[a] > 0);
    how = "elements";
  }

  void run(const Run& run) const override {
    for (std::int64_t i = 0; i < count_; ++i) {
      std::int64_t left;
      positions_.read(run.in[0], i, 1, &left);
      for (std::size_t a = shape_.size(); a-- > 1; left /= shape_[a])
        put_(run.out[0], static_cast<std::int64_t>(a) * count_ + i, left % shape_[a]);
      put_(run.out[0], i, left);
    }
  }

 private:
  Put put_;
  Ints shape_;
  std::int64_t count_;
  Positions positions_;
};

}  // namespace

std::unique_ptr<Kernel> bind_mask_assign(const Call& call) {
  return std::make_unique<MaskAssign>(call);
}

std::unique_ptr<Kernel> bind_insert_tensor(const Call& call) {
  std::optional<std::uint64_t> number;
  if (call.attrs.has("val")) {
    number = bits_of(call.attrs.real("val"), call.in[0].dtype);
    want(number.has_value());
  }
  call.attrs.ignore("val");
  return std::make_unique<Insert>(call, number);
}

std::unique_ptr<Kernel> bind_count_sketch(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<CountSketch<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<CountSketch<double>>(call);
  return nullptr;
}

std::unique_ptr<Kernel> bind_unravel_index(const Call& call) {
  const Put number = by_number(call.in[0].dtype, [](auto t) -> Put { return put_number<decltype(t)>; });
  return number ? std::make_unique<Unravel>(call, number) : nullptr;
}

}  // namespace gluonnx
