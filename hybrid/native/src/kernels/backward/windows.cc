#include "windows.h"

namespace gluonnx::backward {

bool Shape::read(const Attrs& attrs, const Tensor& data, const Tensor& result, bool transposed, DType dtype) {
  attrs.ignore("workspace", "cudnn_tune", "cudnn_off", "no_bias", "num_filter");  // the shapes say the last two
  const std::string layout = attrs.text("layout", "");
  const auto& sizes = attrs.ints("kernel");
  const std::size_t rank = sizes.size();
  const auto strides = attrs.ints("stride", std::vector<Index>(rank, 1)),
             dilates = attrs.ints("dilate", std::vector<Index>(rank, 1));
  const auto pads = attrs.ints("pad", std::vector<Index>(rank, 0));
  groups = attrs.integer("num_group", 1);
  want(rank >= 1 && rank <= 3 && strides.size() == rank && dilates.size() == rank && pads.size() == rank && groups >= 1);
  if (transposed) attrs.ignore("adj", "target_shape");  // the result's shape says it
  if (!layout.empty() && layout.back() == 'C') return false;
  const Tensor& x = transposed ? result : data;
  const Tensor& y = transposed ? data : result;
  for (const Tensor* t : {&x, &y}) want(t->dtype == dtype && !t->blocked && t->shape.size() == 2 + rank);
  want(x.shape[0] == y.shape[0] && x.shape[1] % groups == 0 && y.shape[1] % groups == 0);
  batch = x.shape[0], channels = x.shape[1], filters = y.shape[1];
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t to = 3 - rank + i;
    in[to] = x.shape[2 + i], out[to] = y.shape[2 + i];
    kernel[to] = sizes[i], stride[to] = strides[i], dilate[to] = dilates[i], pad[to] = pads[i];
    want_windows(out[to], kernel[to], stride[to], dilate[to], pad[to]);
    want(pad[to] >= 0);
    const Index seen = dilate[to] * (kernel[to] - 1) + 1, rest = plus(in[to], 2 * pad[to] - seen);
    if (!transposed) want(rest >= 0 && out[to] == rest / stride[to] + 1);
  }
  if (transposed && attrs.has("target_shape")) {
    const auto target = attrs.ints("target_shape", {});
    bool any = false;
    for (auto t : target) any |= t != 0;
    if (any)
      for (std::size_t i = 3 - rank; i < 3; ++i)
        pad[i] = ((out[i] - 1) * stride[i] + dilate[i] * (kernel[i] - 1) + 1 - in[i] + 1) / 2;
  }
  // Positions are kept in 32 bits.
  Index reached = channels;
  for (int i = 0; i < 3; ++i)
    reached = times(reached, std::max(in[i] + 2 * pad[i], (out[i] - 1) * stride[i] + dilate[i] * kernel[i]) + stride[i]);
  return std::max(reached, times(filters, out[0], out[1], out[2])) < Index{1} << 30;
}

void Shape::want_weight(const Tensor& weight, DType dtype) const {
  want(weight.dtype == dtype);
  want_size(weight, times(filters, group_channels(), taps()));
}

Layout::Layout(const Three& size, const std::vector<Windows>& readers) : size(size), whole(size) {
  Three least{}, most{};
  for (const auto& w : readers)
    for (const auto& t : w.at)
      for (int i = 0; i < 3; ++i) {
        least[i] = std::min(least[i], t[i]);
        most[i] = std::max(most[i], t[i] + (w.count[i] - 1) * w.step[i] + 1 - size[i]);
      }
  for (int i = 0; i < 3; ++i) {
    before[i] = -least[i];
    whole[i] = before[i] + size[i] + most[i];
    copied |= whole[i] != size[i];
  }
  const Index step = readers.empty() ? 1 : readers[0].step[2];
  copied |= step > 1;
  if (copied) split = step;
  width = ceiling(whole[2], split);
}

Index Layout::tap(const Three& at) const {
  const Index x = at[2] + before[2];
  return ((at[0] + before[0]) * whole[1] + at[1] + before[1]) * row() + x % split * width + x / split;
}

void Layout::copy(const float* plane, float* to) const {
  std::memset(to, 0, this->plane() * sizeof(float));
  for (Index z = 0; z < size[0]; ++z)
    for (Index y = 0; y < size[1]; ++y) {
      const float* from = plane + (z * size[1] + y) * size[2];
      float* line = to + ((z + before[0]) * whole[1] + y + before[1]) * row();
      if (split == 1) {
        for (Index x = 0; x < size[2]; ++x) line[before[2] + x] = from[x];  // rows are short: no call for each
        continue;
      }
      for (Index rest = 0; rest < split; ++rest) {
        const Index first = rest >= before[2] % split ? rest - before[2] % split : rest + split - before[2] % split;
        float* column = line + rest * width + (first + before[2]) / split;
        for (Index x = first; x < size[2]; x += split) *column++ = from[x];
      }
    }
}

}  // namespace gluonnx::backward
