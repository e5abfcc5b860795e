#include "layer.h"

#include <cmath>
#include <limits>

namespace gluonnx::integer {
namespace {

constexpr float MOST_SCALE = 2147483648.f;  // where a range has no ends but 0
constexpr float GREATEST = 2147483520.f;    // of int32 the greatest that float32 has too

float levels(DType type) { return type == DType::i8 ? 127.5f : type == DType::u8 ? 255.5f : 2147483648.f; }
float steps_to(float levels, float most) {
  const float scale = levels / most;
  return std::isinf(scale) ? MOST_SCALE : scale;
}

// the nearest int32 as a float; NaN becomes the greatest
float whole_of(float v) {
  if (v != v) return GREATEST;
  return std::nearbyint(std::min(std::max(v, -2147483648.f), GREATEST));
}

Act act_of(const Attrs& attrs, const std::string& name, const std::string& slope) {
  using Kind = Act::Kind;
  const std::string kind = attrs.text(name, "");
  Act act;
  for (const auto& [text, found] : {std::pair{"relu", Kind::relu}, {"leaky", Kind::leaky}, {"clip", Kind::clip}, {"abs", Kind::abs}, {"gelu", Kind::gelu}})
    if (kind == text) act.kind = found;
  want(kind.empty() || act.kind != Kind::none);
  act.slope = static_cast<float>(attrs.real(slope));
  return act;
}

}  // namespace

Layer Layer::of(const Call& call, Index filters) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("out_type");
  Layer l;
  l.filters = filters;
  l.type = call.out[0].dtype;
  l.whole = attrs.flag("whole");
  l.data_signed = call.in[0].dtype == DType::i8;
  l.act = act_of(attrs, "act", "slope");
  l.act.low = static_cast<float>(attrs.real("low"));
  l.act.high = static_cast<float>(attrs.real("high"));
  l.late = act_of(attrs, "late", "late_slope");
  want(l.late.kind != Act::Kind::clip);
  if (attrs.has("min_calib_range") && attrs.has("max_calib_range")) {
    l.low = static_cast<float>(attrs.real("min_calib_range"));
    l.high = static_cast<float>(attrs.real("max_calib_range"));
  }
  attrs.ignore("min_calib_range", "max_calib_range");
  auto floats = [&](int i, Index count) { want(call.in[i].dtype == DType::f32), want_size(call.in[i], count); };
  int next = WEIGHT_SCALE;
  l.scales = call.in[next].size();
  want(l.scales == 1 || l.scales == filters);
  floats(next++, l.scales);
  if (attrs.flag("bias")) {
    l.bias = next++;
    l.bias_whole = call.in[l.bias].dtype == DType::i32;
    want(l.bias_whole || call.in[l.bias].dtype == DType::f32);
    want_size(call.in[l.bias], filters);
  }
  l.ranges = next;
  next += 2;
  for (int i : {0, 1}) floats(l.ranges + i, 1);
  if (attrs.flag("residual")) {
    l.other = next;
    next += 3;
    want(is_byte(call.in[l.other].dtype) && call.in[l.other].shape == call.out[0].shape);
    l.other_signed = call.in[l.other].dtype == DType::i8;
    for (int i : {1, 2}) floats(l.other + i, 1);
  }
  if (l.type == DType::i32) {
    want(l.scales == 1);
    l.reach = next++;
    floats(l.reach, 1);
  }
  want(static_cast<std::size_t>(next) == call.in.size());
  if (l.type == DType::f32) want(call.out.size() == 1);
  else want(is_byte(l.type) ? l.low && l.high : l.type == DType::i32);
  want(!l.whole || (l.type == DType::i32 && l.bias < 0 && l.other < 0));
  for (std::size_t i = 1; i < call.out.size(); ++i) want(call.out[i].dtype == DType::f32), want_size(call.out[i], 1);
  return l;
}

void Layer::set(const Run& run, Epilogue& f, float* addends, float* factors) const {
  if (whole) return static_cast<void>(f.kind = Epilogue::Kind::sums);
  const float* scale = run.input<float>(WEIGHT_SCALE);
  const float data = steps_to(data_signed ? 127.5f : 255.5f, integer::reach(run.input<float>(ranges), run.input<float>(ranges + 1)));
  f.kind = Epilogue::Kind::followed;
  f.type = type;
  if (bias >= 0) {
    f.addend = addends;
    for (Index i = 0; i < filters; ++i)
      addends[i] = bias_whole ? static_cast<float>(run.input<std::int32_t>(bias)[i])
                              : whole_of(run.input<float>(bias)[i] * (data * scale[scales == 1 ? 0 : i]));
  }
  f.act = act;
  f.late = late;
  if (type == DType::i32) {
    f.unit = data * scale[0];
    f.most = GREATEST;
  } else {
    f.unit = type == DType::f32 ? 1.f : steps_to(levels(type), integer::reach(&*low, &*high));
    f.most = type == DType::u8 ? 255.f : 127.f;
    f.scale = factors;
    for (Index i = 0; i < filters; ++i) factors[i] = f.unit / data / scale[scales == 1 ? 0 : i];
  }
  if (other < 0) return;
  if (other_signed && is_byte(type)) f.most = 127.f;  // rounded in the other operand's memory
  f.other = run.in[other];
  f.other_signed = other_signed;
  f.other_scale = f.unit / steps_to(other_signed ? 127.5f : 255.5f, integer::reach(run.input<float>(other + 1), run.input<float>(other + 2)));
}

void Layer::give_range(const Run& run) const {
  if (type == DType::f32) return;
  float least, most;
  if (type == DType::i32) {
    most = (integer::reach(run.input<float>(ranges), run.input<float>(ranges + 1)) / (data_signed ? 127.f : 255.f)) *
           (std::fabs(*run.input<float>(reach)) / 127.f) * 2147483648.f;
    least = -most;
  } else {
    least = *low;
    most = *high;
  }
  *run.output<float>(1) = least;
  *run.output<float>(2) = most;
}

}  // namespace gluonnx::integer
