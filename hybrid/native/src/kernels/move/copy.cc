// What gives its first input as it is: dropout that drops nothing, bits read as another dtype.
#include "../../base/half.h"
#include "index.h"

namespace gluonnx {
namespace {

class Copy : public Kernel {
 public:
  explicit Copy(const Call& call) : bytes_(call.in[0].size() * static_cast<std::int64_t>(size_of(call.in[0].dtype))) {
    want(size_of(call.in[0].dtype) == size_of(call.out[0].dtype));
    want_size(call.out[0], call.in[0].size());
    how = "copied";
  }
  void run(const Run& run) const override {
    run.ranges(bytes_, WORTH, [&](std::int64_t begin, std::int64_t end, int) {
      std::memcpy(run.output<std::byte>() + begin, run.input<std::byte>(0) + begin, static_cast<std::size_t>(end - begin));
    });
  }

 private:
  std::int64_t bytes_;
};

// Every element passes, unless an input says that it is for training: then, and where the ratio is none, NumPy is asked.
class Passed : public Copy {
 public:
  explicit Passed(const Call& call) : Copy(call), count_(call.in[0].size()) {
    int next = 1;
    if (call.attrs.names("given", "ratio")) ratio_ = next++;
    if (call.attrs.names("given", "training_mode")) training_ = next++;
    call.attrs.ignore("seed");
    want(static_cast<int>(call.in.size()) == next && call.out.size() == 2 && call.out[1].dtype == DType::b1);
    want(call.out[0].dtype == call.in[0].dtype);
    want_size(call.out[1], count_);
    for (int i = 1; i < next; ++i) want_size(call.in[i], 1);
    if (ratio_ >= 0) type_ = call.in[ratio_].dtype;
    if (training_ >= 0) want(call.in[training_].dtype == DType::b1);
    want(type_ == DType::f32 || type_ == DType::f64 || type_ == DType::f16 || type_ == DType::bf16);
    sure = next == 1;
  }
  void run(const Run& run) const override {
    if (ratio_ >= 0) want_value(ratio(run) >= 0 && ratio(run) < 1);
    if (training_ >= 0) want_value(!*run.input<std::uint8_t>(training_) || (ratio_ >= 0 && ratio(run) == 0));
    Copy::run(run);
    std::memset(run.output<std::byte>(1), 1, static_cast<std::size_t>(count_));
  }

 private:
  double ratio(const Run& run) const {
    switch (type_) {
      case DType::f64:
        return *run.input<double>(ratio_);
      case DType::f16:
        return float16_value(*run.input<std::uint16_t>(ratio_));
      case DType::bf16:
        return bfloat16_value(*run.input<std::uint16_t>(ratio_));
      default:
        return *run.input<float>(ratio_);
    }
  }

  std::int64_t count_;
  int ratio_ = -1, training_ = -1;
  DType type_ = DType::f32;
};

}  // namespace

std::unique_ptr<Kernel> bind_onnx_dropout(const Call& call) { return std::make_unique<Passed>(call); }

std::unique_ptr<Kernel> bind_bit_cast(const Call& call) {
  call.attrs.ignore("to", "given");
  // of smaller dtypes than a byte an element still takes one, and a bool is not any byte
  for (DType t : {call.in[0].dtype, call.out[0].dtype})
    want(t != DType::other1 && t != DType::other2 && t != DType::other4 && t != DType::other8 && t != DType::b1);
  return std::make_unique<Copy>(call);
}

std::unique_ptr<Kernel> bind_sparse_reg(const Call& call) {
  call.attrs.ignore("sparseness_target", "penalty", "momentum");
  want(call.out[0].dtype == call.in[0].dtype);
  return std::make_unique<Copy>(call);
}

}  // namespace gluonnx
