// Pad: the middle is copied, and the borders are filled, axis by axis from the last, so that corners follow. Padding of other
// kinds goes row by row, by where the places of each axis are from.
#include "constant.h"
#include "parts.h"

namespace gluonnx {
namespace {

// The part of the output that is inside the borders of the axes before `axis`, at [begin, end) of that axis, and everything of
// the axes after it.
Part slab(const std::vector<std::int64_t>& in, const std::vector<std::int64_t>& out, const std::vector<std::int64_t>& pads,
          std::size_t axis, std::int64_t begin, std::int64_t count) {
  const auto strides = strides_of(out);
  Part part{Part::output};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t first = i < axis ? pads[2 * i] : i == axis ? begin : 0;
    part.to += first * strides[i];
    part.axes.push_back({i < axis ? in[i] : i == axis ? count : out[i], strides[i], strides[i]});
  }
  return part;
}

std::optional<Parts> pad(const Attrs& attrs, const Tensors& ins, const Tensors& outs) {
  const auto &in = ins[0].shape, &out = outs[0].shape;
  const auto pads = attrs.ints("pad_width");
  const std::string mode = attrs.text("mode");
  attrs.ignore("constant_value");
  const auto from = strides_of(in), to = strides_of(out);
  want(in.size() == out.size() && pads.size() == 2 * in.size());
  for (std::size_t i = 0; i < in.size(); ++i)
    want(pads[2 * i] >= 0 && pads[2 * i + 1] >= 0 && out[i] == plus(in[i], plus(pads[2 * i], pads[2 * i + 1])));
  Parts parts{Part{Part::input}};
  for (std::size_t i = 0; i < in.size(); ++i) {
    parts[0].to += pads[2 * i] * to[i];
    parts[0].axes.push_back({in[i], from[i], to[i]});
  }
  for (std::size_t i = in.size(); i-- > 0;)
    for (int side = 0; side < 2; ++side) {
      const std::int64_t count = pads[2 * i + side], first = pads[2 * i], last = first + in[i] - 1;
      if (!count) continue;
      Part part = slab(in, out, pads, i, side ? last + 1 : 0, count);
      part.from = part.to;
      if (mode == "constant") {
        part.source = Part::value;
        part.from = 0;
        for (Axis& a : part.axes) a.from = 0;
      } else if (!in[i]) {
        return {};
      } else if (mode == "edge") {
        part.from += (side ? -1 : first) * to[i];
        part.axes[i].from = 0;
      } else {  // reflect: the number at the border is not repeated
        part.from += (side ? -2 : 2 * first) * to[i];
        part.axes[i].from = -to[i];
      }
      parts.push_back(part);
    }
  return parts;
}

enum class Border { constant, edge, reflect, symmetric, wrap };

std::optional<Border> border_named(const std::string& name) {
  if (name == "constant") return Border::constant;
  if (name == "edge") return Border::edge;
  if (name == "reflect") return Border::reflect;
  if (name == "symmetric") return Border::symmetric;
  if (name == "wrap") return Border::wrap;
  return {};
}

// An axis padded, or with negative numbers cut first.
struct Padded {
  std::int64_t before, kept, first;  // places in front, those of the data's own, and where in the data these begin
  std::vector<std::int64_t> from;    // for each place where in the data it is from; -1: nowhere

  // Throws Refused where there is nothing to fill the places with, or where they are not `size`.
  Padded(Border border, std::int64_t data, std::int64_t size, std::int64_t front, std::int64_t behind) {
    constexpr std::int64_t FAR = std::int64_t{1} << 40;
    want_value(front > -FAR && front < FAR && behind > -FAR && behind < FAR);
    first = std::max<std::int64_t>(-front, 0);
    before = std::max<std::int64_t>(front, 0);
    kept = std::max<std::int64_t>(data - first - std::max<std::int64_t>(-behind, 0), 0);
    want_value(size == before + kept + std::max<std::int64_t>(behind, 0));
    want_value(border == Border::constant || kept || (front <= 0 && behind <= 0));
    from.resize(size);
    for (std::int64_t i = 0; i < size; ++i) from[i] = source(border, i - before);
  }

 private:
  static std::int64_t rest(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

  std::int64_t source(Border border, std::int64_t place) const {
    if (place >= 0 && place < kept) return first + place;
    switch (border) {
      case Border::constant:
        return -1;
      case Border::edge:
        return first + std::clamp<std::int64_t>(place, 0, kept - 1);
      case Border::wrap:
        return first + rest(place, kept);
      case Border::reflect: {
        const std::int64_t turn = rest(place, std::max<std::int64_t>(2 * kept - 2, 1));
        return first + std::min(turn, 2 * kept - 2 - turn);
      }
      default: {
        const std::int64_t turn = rest(place, 2 * kept);
        return first + std::min(turn, 2 * kept - 1 - turn);
      }
    }
  }
};

class Borders : public Kernel {
 public:
  // pads: before and after each axis; nothing where inputs say them
  Borders(const Call& call, Border border, std::optional<std::vector<std::int64_t>> pads, std::uint64_t value)
      : border_(border), in_(call.in[0].shape), out_(call.out[0].shape), size_(call.out[0].size()), dtype_(call.out[0].dtype), value_(value) {
    want(call.in[0].dtype == dtype_ && in_.size() == out_.size());
    how = "rows";
    if (pads) {
      want(pads->size() == 2 * in_.size());
      try {
        axes_ = padded(*pads);
      } catch (const Refused&) {
        throw Declined{};
      }
      return;
    }
    sure = false;
    inputs_ = call.in.size();
    pads_ = call.in[1].size();
    want(call.in[1].dtype == DType::i64);
    if (inputs_ > 2) want(call.in[2].dtype == call.in[0].dtype && call.in[2].size() == 1);
    if (inputs_ > 3) want((call.in[3].dtype == DType::i64 || call.in[3].dtype == DType::i32) && 2 * call.in[3].size() == pads_);
    else want(pads_ == 2 * static_cast<std::int64_t>(in_.size()));
    long_ = inputs_ > 3 && call.in[3].dtype == DType::i64;
  }

  void run(const Run& run) const override {
    if (sure) return by_size(dtype_, [&](auto t) { fill(run, axes_, static_cast<decltype(t)>(value_)); });
    const auto rank = static_cast<std::int64_t>(in_.size()), count = pads_ / 2;
    const auto* given = run.input<std::int64_t>(1);
    std::vector<std::int64_t> pads(2 * rank);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t axis = inputs_ <= 3 ? i : long_ ? run.input<std::int64_t>(3)[i] : run.input<std::int32_t>(3)[i];
      want_value(axis >= -rank && axis < rank);
      if (axis < 0) axis += rank;
      pads[2 * axis] = given[i], pads[2 * axis + 1] = given[count + i];
    }
    const auto axes = padded(pads);
    by_size(dtype_, [&](auto t) { fill(run, axes, inputs_ > 2 ? *run.input<decltype(t)>(2) : t); });
  }

 private:
  std::vector<Padded> padded(const std::vector<std::int64_t>& pads) const {
    std::vector<Padded> axes;
    for (std::size_t a = 0; a < in_.size(); ++a) axes.emplace_back(border_, in_[a], out_[a], pads[2 * a], pads[2 * a + 1]);
    return axes;
  }

  template <class T>
  void fill(const Run& run, const std::vector<Padded>& axes, T value) const {
    if (!size_) return;
    const T* from = run.input<T>(0);
    T* to = run.output<T>();
    // axes at the end that stay as they are, are elements of the last one that does not
    std::size_t rank = axes.size();
    std::int64_t unit = 1;
    while (rank > 1 && in_[rank - 1] == out_[rank - 1] && axes[rank - 1].kept == in_[rank - 1]) unit *= in_[--rank];
    if (!rank) return static_cast<void>(*to = *from);
    const Padded& last = axes[rank - 1];
    std::vector<std::int64_t> strides(rank, unit);
    for (std::size_t a = rank - 1; a-- > 0;) strides[a] = strides[a + 1] * in_[a + 1];
    const std::int64_t row = out_[rank - 1] * unit;
    run.ranges(size_ / row, grain_of(2 * row * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* y = to + i * row;
        std::int64_t base = 0, rest = i;
        bool nowhere = false;
        for (std::size_t a = rank - 1; a-- > 0; rest /= out_[a]) {
          const std::int64_t place = axes[a].from[rest % out_[a]];
          nowhere |= place < 0;
          base += place * strides[a];
        }
        if (nowhere) {
          std::fill(y, y + row, value);
          continue;
        }
        const T* x = from + base;
        auto side = [&](std::int64_t first, std::int64_t behind) {
          for (std::int64_t p = first; p < behind; ++p)
            if (last.from[p] < 0) std::fill(y + p * unit, y + (p + 1) * unit, value);
            else std::copy(x + last.from[p] * unit, x + (last.from[p] + 1) * unit, y + p * unit);
        };
        side(0, last.before);
        if (last.kept) std::memcpy(y + last.before * unit, x + last.first * unit, static_cast<std::size_t>(last.kept * unit) * sizeof(T));
        side(last.before + last.kept, out_[rank - 1]);
      }
    });
  }

  Border border_;
  std::vector<std::int64_t> in_, out_;
  std::int64_t size_;
  DType dtype_;
  std::uint64_t value_;  // its bits
  std::vector<Padded> axes_;
  std::size_t inputs_ = 1;
  std::int64_t pads_ = 0;  // how many numbers there are
  bool long_ = false;      // axes are int64
};

std::unique_ptr<Kernel> borders(const Call& call, Border border, const std::optional<std::vector<std::int64_t>>& pads,
                                std::uint64_t value) {
  return std::make_unique<Borders>(call, border, pads, value);
}

}  // namespace

std::unique_ptr<Kernel> bind_pad(const Call& call) {
  const auto value = bits_of(call.attrs.real("constant_value"), call.in[0].dtype);
  const auto parts = pad(call.attrs, call.in, call.out);
  if (!parts || (call.attrs.text("mode") == "constant" && !value)) return nullptr;
  return std::make_unique<Copies>(*parts, call, value.value_or(0));
}

std::unique_ptr<Kernel> bind_np_pad(const Call& call) {
  call.attrs.ignore("reflect_type");
  const auto border = border_named(call.attrs.text("mode"));
  const auto value = bits_of(call.attrs.real("constant_value"), call.in[0].dtype);
  const auto pads = call.attrs.ints("pad_width");
  if (!border || (border == Border::constant && !value)) return nullptr;
  return borders(call, *border, pads, value.value_or(0));
}

std::unique_ptr<Kernel> bind_onnx_pad(const Call& call) {
  call.attrs.ignore("given");
  const auto border = border_named(call.attrs.text("mode"));
  return border ? borders(call, *border, {}, 0) : nullptr;
}

// The middle of the data, or the data in the middle of zeros: as the sizes are.
std::unique_ptr<Kernel> bind_center_crop_pad(const Call& call) {
  call.attrs.ignore("given", "axes");
  const auto &in = call.in[0].shape, &out = call.out[0].shape;
  want(in.size() == out.size());
  std::vector<std::int64_t> pads;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::int64_t more = out[i] - in[i], front = more / 2;  // towards zero: what is odd goes to the end
    pads.push_back(front);
    pads.push_back(more - front);
  }
  return borders(call, Border::constant, pads, 0);
}

std::unique_ptr<Kernel> bind_pad_back(const Call& call) { return bind_parts_back(call, pad); }

}  // namespace gluonnx
