// onnxruntime's DynamicQuantizeMatMul: DynamicQuantizeLinear and MatMulIntegerToFloat, one after the other.
#include "../../base/kernel.h"

namespace gluonnx {

std::unique_ptr<Kernel> bind_dynamic_quantize_linear(const Call& call);
std::unique_ptr<Kernel> bind_matmul_integer_to_float(const Call& call);

namespace {

class DynamicProduct : public Kernel {
 public:
  explicit DynamicProduct(const Call& call) : more_(static_cast<int>(call.in.size()) - 3) {
    call.attrs.ignore("given");
    const Tensor& a = call.in[0];
    want(call.in.size() >= 3 && a.dtype == DType::f32 && call.out[0].dtype == DType::f32);
    Tensor small = a, scale, zero;
    small.dtype = zero.dtype = DType::u8;
    small.constant = false;
    const Attrs none({{"given", Attrs::Value(std::string())}});
    quantize_ = bind_dynamic_quantize_linear(Call{none, {a}, {small, scale, zero}, call.threads});
    std::string given = "a_zero_point";
    for (const char* name : {"b_zero_point", "bias"})
      if (call.attrs.names("given", name)) given += std::string(" ") + name;
    const Attrs attrs({{"given", Attrs::Value(given)}});
    Tensors in{small, call.in[1], scale, call.in[2], zero};
    for (std::size_t i = 3; i < call.in.size(); ++i) in.push_back(call.in[i]);
    product_ = bind_matmul_integer_to_float(Call{attrs, in, call.out, call.threads, call.precise});
    want(quantize_ && product_ && quantize_->sure && product_->sure);
    small_ = aligned(static_cast<std::size_t>(a.size()));
    scratch = small_ + 128 + std::max(quantize_->scratch, product_->scratch);
    flops = quantize_->flops + product_->flops;
    how = product_->how;
  }

  void prepare(const void* const* in, Pool* pool) override {
    const void* given[7] = {nullptr, in[1], nullptr, in[2], nullptr};
    for (int i = 0; i < more_; ++i) given[5 + i] = in[3 + i];
    product_->prepare(given, pool);
  }
  bool reads(int input) const override { return input == 0 || product_->reads(input == 1 ? 1 : input == 2 ? 3 : input + 2); }

  void run(const Run& run) const override {
    std::byte *scale = run.scratch + small_, *zero = scale + 64, *rest = zero + 64;
    void* parts[] = {run.scratch, scale, zero};
    quantize_->run(Run{run.in, parts, rest, run.pool});
    const void* given[7] = {run.scratch, run.in[1], scale, run.in[2], zero};
    for (int i = 0; i < more_; ++i) given[5 + i] = run.in[3 + i];
    product_->run(Run{given, run.out, rest, run.pool});
  }

 protected:
  bool take(const Kernel& other) override {
    const auto* like = dynamic_cast<const DynamicProduct*>(&other);
    return like && product_->adopt(*like->product_);
  }

 private:
  int more_;
  std::size_t small_;
  std::unique_ptr<Kernel> quantize_, product_;
};

}  // namespace

std::unique_ptr<Kernel> bind_dynamic_quantize_matmul(const Call& call) { return std::make_unique<DynamicProduct>(call); }

}  // namespace gluonnx
