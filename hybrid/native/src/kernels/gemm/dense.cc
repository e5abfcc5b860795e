// FullyConnected and _fused_dense: rows of data times rows of weights.
#include "dense.h"

namespace gluonnx {

std::unique_ptr<Kernel> bind_FullyConnected(const Call& call) {
  const Tensor &data = call.in[0], &weight = call.in[1];
  const bool flatten = call.attrs.flag("flatten");
  const bool bias = !call.attrs.flag("no_bias");
  const std::int64_t n = call.attrs.integer("num_hidden");
  if (data.rank() == 0 || weight.rank() != 2) return nullptr;
  gemm::Sizes sizes{flatten ? data.shape[0] : 1, n, weight.shape[1]};
  if (!flatten)
    for (int i = 0; i + 1 < data.rank(); ++i) sizes.m *= data.shape[i];
  gemm::Plan plan;
  plan.sizes = sizes;
  plan.b_transposed = true;
  plan.bias = bias ? 2 : -1;
  return gemm::make(plan, call);
}

std::unique_ptr<Kernel> bind_fused_dense(const Call& call) {
  const auto& attrs = call.attrs;
  const Tensor &data = call.in[0], &weight = call.in[1];
  gemm::Plan plan;
  plan.sizes = {data.shape[0], attrs.integer("num_hidden"), weight.shape[1]};
  plan.b_transposed = true;
  const bool bias = attrs.flag("bias"), residual = attrs.flag("residual");
  if (bias) plan.bias = 2;
  if (residual) plan.residual = 2 + bias;
  gemm::Epilogue& f = plan.epilogue;
  f.sloped = attrs.has("slope");
  f.slope = static_cast<float>(attrs.real("slope", 0));
  f.low = attrs.has("low");
  f.least = static_cast<float>(attrs.real("low", 0));
  f.high = attrs.has("high");
  f.most = static_cast<float>(attrs.real("high", 0));
  return gemm::make(plan, call);
}

}  // namespace gluonnx
