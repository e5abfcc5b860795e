// Pad: the middle is copied, and the borders are filled, axis by axis from the last, so that corners follow.
#include <cmath>

#include "parts.h"

namespace gluonnx {
namespace {

// The bits of a number in a dtype; nothing when the dtype cannot hold it exactly, or when nobody knows how.
template <class T>
std::optional<std::uint64_t> bits(double value) {
  const T number = static_cast<T>(value);
  if (std::is_integral_v<T> && static_cast<double>(number) != value) return {};
  std::uint64_t out = 0;
  std::memcpy(&out, &number, sizeof number);
  return out;
}

std::optional<std::uint64_t> bits_of(double value, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return bits<float>(value);
    case DType::f64:
      return bits<double>(value);
    default:
      break;
  }
  if (value == 0 && !std::signbit(value)) return 0;
  if (!(std::abs(value) < 128)) return {};
  switch (dtype) {
    case DType::i64:
      return bits<std::int64_t>(value);
    case DType::i32:
      return bits<std::int32_t>(value);
    case DType::i8:
      return bits<std::int8_t>(value);
    case DType::u8:
      return value < 0 ? std::nullopt : bits<std::uint8_t>(value);
    default:
      return {};
  }
}

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

}  // namespace

std::unique_ptr<Kernel> bind_pad(const Call& call) {
  const auto value = bits_of(call.attrs.real("constant_value"), call.in[0].dtype);
  const auto parts = pad(call.attrs, call.in, call.out);
  if (!parts || (call.attrs.text("mode") == "constant" && !value)) return nullptr;
  return std::make_unique<Copies>(*parts, call, value.value_or(0));
}

std::unique_ptr<Kernel> bind_pad_back(const Call& call) { return bind_parts_back(call, pad); }

}  // namespace gluonnx
