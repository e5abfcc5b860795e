#include "parts.h"

#include <numeric>

namespace gluonnx {
namespace {

using Ints = std::vector<std::int64_t>;

// All of `shape`, which lies so in `in` and in `out`.
Part whole(const Ints& shape, const Ints& from, const Ints& to) {
  Part part{Part::input};
  for (std::size_t i = 0; i < shape.size(); ++i) part.axes.push_back({shape[i], from[i], to[i]});
  return part;
}

// As much of `in` as `out` has, from `first` on along one axis.
Part within(const Tensor& in, const Tensor& out, std::int64_t axis, std::int64_t first) {
  want(in.rank() == out.rank());
  for (int i = 0; i < in.rank(); ++i) want(out.shape[i] <= in.shape[i] - (i == axis ? first : 0));
  return whole(out.shape, strides_of(in.shape), strides_of(out.shape));
}

std::optional<Parts> permuted(const Tensors& in, const Tensors& out, const Ints& order) {
  const auto from = strides_of(in[0].shape), to = strides_of(out[0].shape);
  Part part{Part::input};
  want(order.size() == from.size() && order.size() == to.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    want(out[0].shape[i] == in[0].shape[order[i]] && std::count(order.begin(), order.end(), order[i]) == 1);
    part.axes.push_back({out[0].shape[i], from[order[i]], to[i]});
  }
  return Parts{part};
}

std::optional<Parts> transpose(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  Ints order(in[0].shape.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = attrs.ints("axes", order);
  for (auto& axis : order) axis = axis_in(axis, in[0].rank());
  return permuted(in, out, order);
}

std::optional<Parts> swap_axis(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  Ints order(in[0].shape.size());
  std::iota(order.begin(), order.end(), 0);
  const auto one = axis_in(attrs.integer("dim1"), in[0].rank()), two = axis_in(attrs.integer("dim2"), in[0].rank());
  std::swap(order[one], order[two]);
  return permuted(in, out, order);
}

std::optional<Parts> move_axis(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  auto source = attrs.ints("source", Ints{}), destination = attrs.ints("destination", Ints{});
  std::vector<std::pair<std::int64_t, std::int64_t>> moves;
  std::vector<bool> moved(in[0].shape.size());
  want(source.size() == destination.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto axis = axis_in(source[i], in[0].rank());
    want(!moved[axis]);
    moves.push_back({axis_in(destination[i], in[0].rank()), axis});
    moved[axis] = true;
  }
  Ints order;
  for (int i = 0; i < in[0].rank(); ++i)
    if (!moved[i]) order.push_back(i);
  std::sort(moves.begin(), moves.end());
  for (auto [to, axis] : moves) {
    want(to <= static_cast<std::int64_t>(order.size()));
    order.insert(order.begin() + to, axis);
  }
  return permuted(in, out, order);
}

// That a part of a whole has its dims, but for that along which parts follow one another; parts may lack axes of size 1.
void want_beside(const Tensor& part, const Tensor& whole, std::int64_t axis) {
  if (part.rank() != whole.rank()) return;
  for (int i = 0; i < part.rank(); ++i) want(i == axis || part.shape[i] == whole.shape[i]);
}

// Inputs one after the other along an axis of the output; they may lack axes of size 1.
std::optional<Parts> joined(const Tensors& in, const Tensors& out, std::int64_t axis) {
  const auto& shape = out[0].shape;
  axis = axis_in(axis, out[0].rank());
  const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
  Parts parts;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].dtype != out[0].dtype) return {};
    const std::int64_t row = outer ? in[i].size() / outer : 0;
    want_size(in[i], row * outer);
    want_beside(in[i], out[0], axis);
    parts.push_back({Part::input, static_cast<int>(i), 0, 0, done, {{outer, row, shape[axis] * inner}, {row, 1, 1}}});
    done += row;
  }
  return parts;
}

std::optional<Parts> concat(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return joined(in, out, attrs.integer("dim"));
}
std::optional<Parts> concatenate(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return joined(in, out, attrs.integer("axis", 0));
}
std::optional<Parts> stack(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return joined(in, out, attrs.integer("axis"));
}
std::optional<Parts> vstack(const Attrs&, const Tensors& in, const Tensors& out) { return joined(in, out, 0); }
std::optional<Parts> hstack(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("dim");
  return joined(in, out, std::min(out[0].rank() - 1, 1));
}
std::optional<Parts> column_stack(const Attrs&, const Tensors& in, const Tensors& out) { return joined(in, out, 1); }
std::optional<Parts> dstack(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("dim");
  return joined(in, out, 2);
}

// Outputs, one after the other along an axis of the input.
std::optional<Parts> cut(const Tensors& in, const Tensors& out, std::int64_t axis) {
  const auto& shape = in[0].shape;
  axis = axis_in(axis, in[0].rank());
  const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
  Parts parts;
  std::int64_t done = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t row = outer ? out[i].size() / outer : 0;
    want(out[i].dtype == in[0].dtype);
    want_size(out[i], row * outer);
    want_beside(out[i], in[0], axis);
    parts.push_back({Part::input, 0, static_cast<int>(i), done, 0, {{outer, shape[axis] * inner, row}, {row, 1, 1}}});
    done += row;
  }
  if (outer && done != shape[axis] * inner) return {};
  return parts;
}

std::optional<Parts> split(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("num_outputs", "squeeze_axis", "indices", "sections");  // the outputs' shapes tell
  return cut(in, out, attrs.integer("axis", 1));
}
std::optional<Parts> onnx_split(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("num_outputs", "given");
  return cut(in, out, attrs.integer("axis"));
}
std::optional<Parts> hsplit(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("squeeze_axis", "indices", "sections", "axis");
  return cut(in, out, std::min(in[0].rank() - 1, 1));
}
std::optional<Parts> dsplit(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("squeeze_axis", "indices", "sections", "axis");
  return cut(in, out, 2);
}

// Where data[begin:end:step] begins, and its strides; its shape is known
Part sliced(const Attrs& attrs, const Tensor& data, const Ints& shape) {
  const Ints begin = attrs.ints("begin", Ints{}), step = attrs.ints("step", Ints(begin.size(), 1));
  attrs.ignore("end");
  Part part{Part::input};
  auto strides = strides_of(data.shape);
  want(begin.size() <= strides.size() && step.size() == begin.size() && shape.size() == strides.size());
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const std::int64_t size = data.shape[i], by = step[i] == NOTHING ? 1 : step[i];
    std::int64_t first = begin[i] == NOTHING ? (by < 0 ? size - 1 : 0) : begin[i] < 0 ? begin[i] + size : begin[i];
    first = std::clamp<std::int64_t>(first, by < 0 ? -1 : 0, by < 0 ? size - 1 : size);
    // of more than one element, the last has to be inside along this axis, not of all the memory only
    if (shape[i] > 0) want(first >= 0 && first < size);
    if (shape[i] > 1) {
      const std::int64_t last = plus(first, times(shape[i] - 1, by));
      want(by && last >= 0 && last < size);
    }
    part.from += first * strides[i];
    strides[i] = shape[i] > 1 ? times(strides[i], by) : 0;
  }
  for (std::size_t i = begin.size(); i < shape.size(); ++i) want(shape[i] == data.shape[i]);
  const auto to = strides_of(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) part.axes.push_back({shape[i], strides[i], to[i]});
  return part;
}

std::optional<Parts> slice(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return Parts{sliced(attrs, in[0], out[0].shape)};
}

std::optional<Parts> slice_axis(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("end");
  const auto axis = axis_in(attrs.integer("axis"), in[0].rank());
  const auto from = strides_of(in[0].shape);
  const std::int64_t size = in[0].shape[axis], begin = attrs.integer("begin"), first = begin < 0 ? begin + size : begin;
  want(first >= 0 && first <= size);
  Part part = within(in[0], out[0], axis, first);
  part.from = first * from[axis];
  return Parts{part};
}

std::optional<Parts> slice_like(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("axes");
  return Parts{within(in[0], out[0], -1, 0)};
}

std::optional<Parts> crop(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("h_w", "num_args");
  const auto offset = attrs.ints("offset", Ints{0, 0});
  const bool center = attrs.flag("center_crop");
  const auto from = strides_of(in[0].shape);
  Part part = within(in[0], out[0], -1, 0);
  want(in[0].rank() == 4 && offset.size() == 2);
  for (int i = 0; i < 2; ++i) {
    const std::int64_t room = in[0].shape[2 + i] - out[0].shape[2 + i], first = center ? room / 2 : offset[i];
    want(first >= 0 && first <= room);
    part.from += first * from[2 + i];
  }
  return Parts{part};
}

std::optional<Parts> slice_assign(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  if (in[1].dtype != in[0].dtype) return {};
  want_shape(out[0], in[0].shape);
  Part to = sliced(attrs, out[0], in[1].shape);
  for (const Axis& a : to.axes)
    if (a.from < 0 && a.size > 1) return {};
  std::swap(to.from, to.to);
  for (Axis& a : to.axes) std::swap(a.from, a.to);
  to.in = 1;
  const auto strides = strides_of(in[0].shape);
  return Parts{whole(in[0].shape, strides, strides), to};
}

// Axes are matched from the right; those of size 1 are repeated.
std::optional<Parts> broadcast(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("shape", "axis", "size", "lhs_axes", "rhs_axes", "given");
  const auto &have = in[0].shape, &shape = out[0].shape;
  if (have.size() > shape.size()) return {};
  auto from = strides_of(have);
  for (std::size_t i = 0; i < have.size(); ++i) {
    want(have[i] == 1 || have[i] == shape[i + shape.size() - have.size()]);
    if (have[i] == 1) from[i] = 0;
  }
  from.insert(from.begin(), shape.size() - have.size(), 0);
  return Parts{whole(shape, from, strides_of(shape))};
}

std::optional<Parts> tile(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("reps", "given");
  auto shape = in[0].shape;
  want(shape.size() <= out[0].shape.size());
  shape.insert(shape.begin(), out[0].shape.size() - shape.size(), 1);
  const auto from = strides_of(shape), to = strides_of(out[0].shape);
  Part part{Part::input};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    want(shape[i] ? out[0].shape[i] % shape[i] == 0 : out[0].shape[i] == 0);
    part.axes.push_back({shape[i] ? out[0].shape[i] / shape[i] : 0, 0, to[i] * shape[i]});
    part.axes.push_back({shape[i], from[i], to[i]});
  }
  return Parts{part};
}

std::optional<Parts> repeat(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  const auto count = attrs.integer("repeats");
  const bool flat = !attrs.has("axis");
  attrs.ignore("axis");
  want(count >= 0);
  want_size(out[0], times(in[0].size(), count));
  if (!out[0].size()) return Parts{};  // the axis need not be there then
  const std::int64_t axis = flat ? -1 : axis_in(attrs.integer("axis"), in[0].rank());
  const std::int64_t inner = axis < 0 ? 1 : product(in[0].shape, axis + 1, in[0].shape.size());
  const Axis each{in[0].size() / inner, inner, inner * count};
  return Parts{Part{Part::input, 0, 0, 0, 0, {each, {count, 0, inner}, {inner, 1, 1}}}};
}

std::optional<Parts> repeated_pixels(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  attrs.ignore("num_filter", "workspace", "scale", "sample_type", "multi_input_mode");
  const auto to = strides_of(out[0].shape);
  Parts parts;
  std::int64_t channel = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto& s = in[i].shape;
    if (in[i].dtype != out[0].dtype) return {};
    want(in[i].rank() == 4 && out[0].rank() == 4 && s[0] == out[0].shape[0]);
    if (!in[i].size()) continue;
    const auto from = strides_of(s);
    const std::int64_t high = out[0].shape[2] / s[2], wide = out[0].shape[3] / s[3];
    want(high * s[2] == out[0].shape[2] && wide * s[3] == out[0].shape[3]);
    parts.push_back({Part::input,
                     static_cast<int>(i),
                     0,
                     0,
                     channel * to[1],
                     {{s[0], from[0], to[0]},
                      {s[1], from[1], to[1]},
                      {s[2], from[2], to[2] * high},
                      {high, 0, to[2]},
                      {s[3], 1, wide},
                      {wide, 0, 1}}});
    channel += s[1];
  }
  return parts;
}

std::optional<Parts> reverse(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  Ints axes(in[0].shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (attrs.has("axis")) axes = attrs.ints("axis");
  attrs.ignore("axis");
  const auto strides = strides_of(in[0].shape);
  want_shape(out[0], in[0].shape);
  Part part = whole(in[0].shape, strides, strides);
  std::vector<bool> turned(in[0].shape.size());
  for (auto axis : axes) turned[axis_in(axis, in[0].rank())] = true;
  for (std::size_t i = 0; i < turned.size(); ++i)
    if (turned[i]) {
      part.axes[i].from = -strides[i];
      part.from += (in[0].shape[i] - 1) * strides[i];
    }
  return Parts{part};
}

// Pixels of b x b blocks: to[n, c, h b + i, w b + j] is from[n, i, j, c, h, w], or the other way round.
std::optional<Parts> pixels(const Attrs& attrs, const Tensor& deep, const Tensor& wide, bool into_space) {
  const auto b = attrs.integer("block_size");
  const auto d = strides_of(deep.shape), w = strides_of(wide.shape);
  want(deep.rank() == 4 && wide.rank() == 4 && b > 0);
  const std::int64_t channels = wide.shape[1];
  want_shape(wide, {deep.shape[0], channels, times(deep.shape[2], b), times(deep.shape[3], b)});
  want(deep.shape[1] == times(channels, b, b));
  Part part{Part::input};
  part.axes = {{deep.shape[0], d[0], w[0]}, {b, channels * b * d[1], w[2]},  {b, channels * d[1], 1},
               {channels, d[1], w[1]},      {deep.shape[2], d[2], b * w[2]}, {deep.shape[3], 1, b}};
  if (!into_space)
    for (Axis& a : part.axes) std::swap(a.from, a.to);
  return Parts{part};
}

std::optional<Parts> depth_to_space(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return pixels(attrs, in[0], out[0], true);
}
std::optional<Parts> space_to_depth(const Attrs& attrs, const Tensors& in, const Tensors& out) {
  return pixels(attrs, out[0], in[0], false);
}

}  // namespace

std::int64_t product(const Ints& shape, std::size_t begin, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin), shape.begin() + static_cast<std::ptrdiff_t>(end),
                         std::int64_t{1}, std::multiplies<>());
}

std::unique_ptr<Kernel> bind_parts(const Call& call, Describe describe) {
  if (call.in[0].dtype != call.out[0].dtype) return nullptr;
  const auto parts = describe(call.attrs, call.in, call.out);
  return parts ? std::make_unique<Copies>(*parts, call) : nullptr;
}

std::unique_ptr<Kernel> bind_parts_back(const Call& call, Describe describe) {
  const Tensor &dy = call.in[0], &dx = call.out[0];
  if (dy.dtype != dx.dtype) return nullptr;
  const auto of = call.attrs.integer("of");
  want(of >= 0);
  want_shape(dx, call.in[1 + of].shape);
  const auto forward = describe(call.attrs, {call.in.begin() + 1, call.in.end()}, {dy});
  if (!forward) return nullptr;
  Parts parts;
  std::int64_t covered = 0;
  for (Part part : *forward) {
    if (part.source == Part::output) return nullptr;
    if (part.source != Part::input || part.in != of) continue;
    part.in = 0;
    std::swap(part.from, part.to);
    std::int64_t size = 1;
    for (const Axis& a : part.axes) size *= a.size;
    if (!size) continue;
    for (Axis& a : part.axes) {
      if (a.from == 0 && a.size > 1) return nullptr;  // sums are no copies
      if (a.from < 0) {                               // counted from the other end: writing goes upwards
        part.to += (a.size - 1) * a.from;
        part.from += (a.size - 1) * a.to;
        a.from = -a.from, a.to = -a.to;
      }
      std::swap(a.from, a.to);
    }
    covered += size;
    parts.push_back(part);
  }
  if (covered < dx.size()) parts.insert(parts.begin(), Part{Part::value, 0, 0, 0, 0, {{dx.size(), 0, 1}}});
  return std::make_unique<Copies>(parts, call);
}

// Gradients of all inputs of what joins them: each number comes from one place.
std::unique_ptr<Kernel> bind_apart(const Call& call, Describe describe) {
  const Tensors inputs(call.in.begin() + 1, call.in.end());
  want(call.out.size() == inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    want_shape(call.out[i], inputs[i].shape);
    if (call.out[i].dtype != call.in[0].dtype) return nullptr;
  }
  auto parts = describe(call.attrs, inputs, {call.in[0]});
  if (!parts) return nullptr;
  for (Part& part : *parts) {
    std::swap(part.in, part.out);
    std::swap(part.from, part.to);
    for (Axis& a : part.axes) std::swap(a.from, a.to);
  }
  return std::make_unique<Copies>(*parts, call);
}

#define MOVES(name, describe) \
  std::unique_ptr<Kernel> bind_##name(const Call& call) { return bind_parts(call, describe); }
#define MOVES_BOTH_WAYS(name, describe) \
  MOVES(name, describe)                 \
  std::unique_ptr<Kernel> bind_##name##_back(const Call& call) { return bind_parts_back(call, describe); }

#define JOINS(name, describe) \
  MOVES(name, describe)       \
  std::unique_ptr<Kernel> bind_##name##_back(const Call& call) { return bind_apart(call, describe); }

MOVES_BOTH_WAYS(transpose, transpose)
MOVES_BOTH_WAYS(swap_axis, swap_axis)
MOVES_BOTH_WAYS(move_axis, move_axis)
JOINS(concat, concat)
JOINS(concatenate, concatenate)
JOINS(stack, stack)
JOINS(vstack, vstack)
JOINS(hstack, hstack)
JOINS(column_stack, column_stack)
JOINS(dstack, dstack)
MOVES(split, split)
MOVES(onnx_split, onnx_split)
MOVES(hsplit, hsplit)
MOVES(dsplit, dsplit)
MOVES_BOTH_WAYS(slice, slice)
MOVES_BOTH_WAYS(slice_axis, slice_axis)
MOVES_BOTH_WAYS(slice_like, slice_like)
MOVES_BOTH_WAYS(crop, crop)
MOVES(slice_assign, slice_assign)
MOVES(broadcast, broadcast)
MOVES(tile, tile)
MOVES(repeat, repeat)
MOVES(repeated_pixels, repeated_pixels)
MOVES_BOTH_WAYS(reverse, reverse)
MOVES(depth_to_space, depth_to_space)
MOVES(space_to_depth, space_to_depth)

}  // namespace gluonnx
