// Convolutions of plain data, their gradients, and those of their transposes.
#include "../wide/convolution.h"
#include "product.h"
#include "spread.h"
#include "weight.h"

namespace gluonnx {

using backward::Correlation;
using backward::Index;
using backward::Product;
using backward::Shape;
using backward::Spread;

namespace {

// Which input is the bias, -1: none.
int bias_of(const Call& call, Index filters) {
  if (call.in.size() < 3) return -1;
  want(call.in[2].dtype == call.in[0].dtype);
  want_size(call.in[2], filters);
  return 2;
}

std::unique_ptr<Kernel> to_data(const Shape& shape, int bias, int threads) {
  if (!shape.empty() && Spread::better(shape)) return std::make_unique<Spread>(shape, 0, 1, bias, threads);
  return std::make_unique<Product>(shape, true, 0, 1, bias, threads);
}

}  // namespace

std::unique_ptr<Kernel> bind_convolution(const Call& call) {
  Shape shape;
  const DType dtype = call.in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  if (!shape.read(call.attrs, call.in[0], call.out[0], false, dtype)) return nullptr;
  shape.want_weight(call.in[1], dtype);
  if (dtype == DType::f64) return wide::convolution(shape, bias_of(call, shape.filters), call);
  return std::make_unique<Product>(shape, false, 0, 1, bias_of(call, shape.filters), call.threads);
}

std::unique_ptr<Kernel> bind_convolution_data(const Call& call) {
  Shape shape;
  if (!shape.read(call.attrs, call.out[0], call.in[0], false)) return nullptr;
  shape.want_weight(call.in[1]);
  return to_data(shape, -1, call.threads);
}

std::unique_ptr<Kernel> bind_deconvolution(const Call& call) {
  Shape shape;
  if (!shape.read(call.attrs, call.in[0], call.out[0], true)) return nullptr;
  shape.want_weight(call.in[1]);
  return to_data(shape, bias_of(call, shape.channels), call.threads);
}

std::unique_ptr<Kernel> bind_deconvolution_data(const Call& call) {
  Shape shape;
  if (!shape.read(call.attrs, call.out[0], call.in[0], true)) return nullptr;
  shape.want_weight(call.in[1]);
  return std::make_unique<Product>(shape, false, 0, 1, -1, call.threads);
}

std::unique_ptr<Kernel> bind_convolution_weight(const Call& call) {
  Shape shape;
  if (!shape.read(call.attrs, call.in[1], call.in[0], false)) return nullptr;
  shape.want_weight(call.out[0]);
  return std::make_unique<Correlation>(shape, 1, 0, call.threads);
}

std::unique_ptr<Kernel> bind_deconvolution_weight(const Call& call) {
  Shape shape;
  if (!shape.read(call.attrs, call.in[1], call.in[0], true)) return nullptr;
  shape.want_weight(call.out[0]);
  return std::make_unique<Correlation>(shape, 0, 1, call.threads);
}

}  // namespace gluonnx
