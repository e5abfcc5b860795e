// Convolutions whose taps are moved by an input: what they see is brought together for some pixels at a time, and multiplied by
// the filters.
#include <cmath>

#include "../gemm/gemm.h"
#include "../move/move.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

constexpr Index MOST = 1024;             // pixels at a time
constexpr Index COLUMNS = 512 << 10;     // bytes, about, of what is brought together at a time

// How the operators of MXNet and of ONNX say the same.
struct Form {
  int weight, offset, mask = -1, bias = -1;  // which inputs these are
  bool fades;                                // over a pixel around the image; else points outside are 0, and those beyond the last centre keep it
  std::vector<Index> kernel, stride, dilate, pad;
  Index groups, parts;                       // of channels: with filters of their own, and with places of their own
};

class Deformed : public Kernel {
 public:
  Deformed(const Call& call, const Form& form) : form_(form) {
    want_floats(call.in);
    want_floats(call.out);
    const auto &data = call.in[0].shape, &out = call.out[0].shape;
    want(data.size() == 4 && out.size() == 4 && data[0] == out[0] && form.groups >= 1 && form.parts >= 1);
    batch_ = data[0], channels_ = data[1], filters_ = out[1];
    for (int a = 0; a < 2; ++a) {
      size_[a] = data[2 + a], steps_[a] = out[2 + a];
      want(size_[a] > 0 && size_[a] < (1 << 24));
      want_windows(steps_[a], form.kernel[a], form.stride[a], form.dilate[a], form.pad[a]);
    }
    pixels_ = times(steps_[0], steps_[1]), area_ = times(size_[0], size_[1]), taps_ = times(form.kernel[0], form.kernel[1]);
    want(area_ < (Index{1} << 31) && channels_ > 0 && filters_ > 0);
    want(channels_ % form.groups == 0 && channels_ % form.parts == 0 && filters_ % form.groups == 0);
    const Index places = times(batch_, form.parts, taps_, pixels_);
    want_size(call.in[form.offset], times(2, places));
    if (form.mask >= 0) want_size(call.in[form.mask], places);
    if (form.bias >= 0) want_size(call.in[form.bias], filters_);
    want_size(call.in[form.weight], times(filters_, channels_ / form.groups, taps_));
    rows_ = times(channels_, taps_);
    count_ = std::clamp<Index>(COLUMNS / static_cast<Index>(sizeof(float)) / rows_ / 16 * 16, 16, MOST);
    count_ = std::max<Index>(1, std::min(count_, pixels_));
    columns_ = aligned(times(rows_, count_, sizeof(float)));
    each_ = columns_ + aligned(gemm::scratch_bytes(sizes(count_), false, 1));
    scratch = times(each_, call.threads);
    flops = 2.0 * static_cast<double>(call.out[0].size()) * static_cast<double>(rows_ / form.groups);
    how = "columns";
  }

  void run(const Run& run) const override {
    const Index chunks = (pixels_ + count_ - 1) / count_;
    run.ranges(batch_ * chunks, 1, [&](Index begin, Index end, int thread) {
      std::byte* memory = run.scratch + thread * each_;
      for (Index i = begin; i < end; ++i) {
        const Index n = i / chunks, first = i % chunks * count_, count = std::min(count_, pixels_ - first);
        auto* columns = reinterpret_cast<float*>(memory);
        for (Index part = 0; part < form_.parts; ++part)
          for (Index tap = 0; tap < taps_; ++tap) collect(run, n, part, tap, first, count, columns);
        multiply(run, n, first, count, columns, memory + columns_);
      }
    });
  }

 private:
  // The neighbours of some points, and their weights.
  struct Points {
    std::int32_t at[4][MOST];
    float weight[4][MOST];
  };
  // The neighbours of a point along an axis.
  struct Pair {
    Index at[2];
    float weight[2];
    bool inside;
  };

  gemm::Sizes sizes(Index count) const { return {filters_ / form_.groups, count, rows_ / form_.groups}; }

  Pair along(double place, Index size) const {
    const bool inside = (form_.fades ? place > -1 : place >= 0) && place < static_cast<double>(size);
    if (!inside) place = 0;  // NaN, and what no index holds
    const double floor = std::floor(place);
    const auto low = static_cast<Index>(floor);
    double part = place - floor;
    bool first = inside, second = inside && low < size - 1;
    if (form_.fades) first = low >= 0, second = low + 1 < size;
    else if (low >= size - 1) part = 0;
    return {{std::clamp<Index>(low, 0, size - 1), std::clamp<Index>(low + 1, 0, size - 1)},
            {first ? static_cast<float>(1 - part) : 0, second ? static_cast<float>(part) : 0},
            inside};
  }

  // What a tap sees at some pixels, of all channels of a part.
  void collect(const Run& run, Index n, Index part, Index tap, Index first, Index count, float* columns) const {
    Points points;
    const Index set = (n * form_.parts + part) * taps_ + tap;
    const float* moved[2];
    for (int a = 0; a < 2; ++a) moved[a] = run.input<float>(form_.offset) + (2 * set + a) * pixels_ + first;
    const float* mask = form_.mask < 0 ? nullptr : run.input<float>(form_.mask) + set * pixels_ + first;
    const Index down = tap / form_.kernel[1] * form_.dilate[0] - form_.pad[0], right = tap % form_.kernel[1] * form_.dilate[1] - form_.pad[1];
    for (Index i = 0; i < count; ++i) {
      const Index y = (first + i) / steps_[1] * form_.stride[0] + down, x = (first + i) % steps_[1] * form_.stride[1] + right;
      const Pair row = along(static_cast<double>(y) + moved[0][i], size_[0]), column = along(static_cast<double>(x) + moved[1][i], size_[1]);
      const float inside = row.inside && column.inside ? 1.f : 0.f;
      for (int k = 0; k < 4; ++k) {
        points.at[k][i] = static_cast<std::int32_t>(row.at[k / 2] * size_[1] + column.at[k % 2]);
        points.weight[k][i] = row.weight[k / 2] * column.weight[k % 2] * inside;
      }
    }
    const Index each = channels_ / form_.parts;
    for (Index c = part * each; c < (part + 1) * each; ++c)
      read(run.input<float>(0) + (n * channels_ + c) * area_, points, mask, count, columns + (c * taps_ + tap) * count);
  }

  static void read(const float* __restrict plane, const Points& points, const float* __restrict mask, Index count, float* __restrict to) {
    for (Index i = 0; i < count; ++i) {
      float sum = plane[points.at[0][i]] * points.weight[0][i];
#pragma GCC unroll 3
      for (int k = 1; k < 4; ++k) sum += plane[points.at[k][i]] * points.weight[k][i];
      to[i] = sum;
    }
    if (mask)
      for (Index i = 0; i < count; ++i) to[i] *= mask[i];
  }

  void multiply(const Run& run, Index n, Index first, Index count, const float* columns, std::byte* memory) const {
    const gemm::Sizes s = sizes(count);
    for (Index group = 0; group < form_.groups; ++group) {
      gemm::Product product;
      product.sizes = s;
      product.a = {run.input<float>(form_.weight) + group * s.m * s.k, s.k, false};
      product.b = {columns + group * s.k * count, count, false};
      product.c = run.output<float>() + (n * filters_ + group * s.m) * pixels_ + first;
      product.ldc = pixels_;
      gemm::multiply_alone(product, memory);
    }
    if (form_.bias < 0) return;
    for (Index f = 0; f < filters_; ++f) {
      const float bias = run.input<float>(form_.bias)[f];
      float* __restrict out = run.output<float>() + (n * filters_ + f) * pixels_ + first;
      for (Index i = 0; i < count; ++i) out[i] += bias;
    }
  }

  Form form_;
  Index batch_, channels_, filters_, size_[2], steps_[2], pixels_, area_, taps_;
  Index rows_, count_;  // of the columns; pixels at a time
  std::size_t columns_, each_;
};

std::unique_ptr<Kernel> of_mxnet(const Call& call, bool modulated) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("workspace", "num_filter", "im2col_step", "layout");
  const std::vector<Index> ones(2, 1), zeros(2, 0);
  Form form;
  form.kernel = attrs.ints("kernel"), form.stride = attrs.ints("stride", ones), form.dilate = attrs.ints("dilate", ones), form.pad = attrs.ints("pad", zeros);
  for (const auto* each : {&form.kernel, &form.stride, &form.dilate, &form.pad}) want(each->size() == 2);
  form.groups = attrs.integer("num_group"), form.parts = attrs.integer("num_deformable_group"), form.fades = modulated;
  form.offset = 1, form.mask = modulated ? 2 : -1, form.weight = modulated ? 3 : 2;
  const int last = form.weight + 1;
  if (!attrs.flag("no_bias")) form.bias = last;
  want(static_cast<int>(call.in.size()) == last + (form.bias >= 0));
  for (Index p : form.pad) want(p >= 0);
  return std::make_unique<Deformed>(call, form);
}

}  // namespace

std::unique_ptr<Kernel> bind_deformable_convolution(const Call& call) { return of_mxnet(call, false); }
std::unique_ptr<Kernel> bind_modulated_convolution(const Call& call) { return of_mxnet(call, true); }

std::unique_ptr<Kernel> bind_deform_conv(const Call& call) {
  const Attrs& attrs = call.attrs;
  attrs.ignore("kernel_shape");  // the weight's
  const std::vector<Index> ones(2, 1), zeros(4, 0);
  Form form;
  const auto& weight = call.in[1].shape;
  want(weight.size() == 4 && call.out[0].rank() == 4 && call.in[0].rank() == 4);
  form.kernel = {weight[2], weight[3]};
  form.stride = attrs.ints("strides", ones), form.dilate = attrs.ints("dilations", ones), form.pad = attrs.ints("pads", zeros);
  want(form.stride.size() == 2 && form.dilate.size() == 2 && form.pad.size() == 4);
  form.groups = attrs.integer("group"), form.parts = attrs.integer("offset_group"), form.fades = true;
  form.weight = 1, form.offset = 2;
  int next = 3;
  if (attrs.names("given", "B")) form.bias = next++;
  if (attrs.names("given", "mask")) form.mask = next++;
  want(static_cast<int>(call.in.size()) == next);
  for (Index p : form.pad) want(p >= 0);
  return std::make_unique<Deformed>(call, form);
}

}  // namespace gluonnx
