#include "narrow.h"

#include "../base/kept.h"
#include "library.h"

namespace gluonnx {
namespace {

bool is_narrow(DType t) { return t == DType::f16 || t == DType::bf16; }

std::size_t room(const Tensor& t) { return aligned(t.size() * sizeof(float)); }

class Narrow : public Kernel, public Keeper {
 public:
  struct Operand {
    std::unique_ptr<Kernel> cast;  // null for one that is as the kernel wants it
    std::size_t at = 0;            // where its values in float32 are in the scratch
    std::size_t size = 0;
    bool constant = false;
    mutable std::vector<float> values;  // of a constant
  };

  std::unique_ptr<Kernel> inner;
  std::vector<Operand> in, out;
  std::size_t own = 0;  // bytes of scratch before the kernel's

  void prepare(const void* const* given, Pool* pool) override {
    std::vector<const void*> wide(given, given + in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].cast || !given[i]) continue;
      in[i].values.resize(in[i].size / sizeof(float));
      convert(*in[i].cast, given[i], in[i].values.data(), nullptr, pool);
      wide[i] = in[i].values.data();
    }
    inner->prepare(wide.data(), pool);
    for (std::size_t i = 0; i < in.size(); ++i)
      if (!inner->reads(static_cast<int>(i))) std::vector<float>().swap(in[i].values);
  }

  // What the kernel keeps, where it reads none of the constants that are widened for it.
  std::vector<Kept> kept() override {
    auto* keeper = dynamic_cast<Keeper*>(inner.get());
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i].cast && in[i].constant && inner->reads(static_cast<int>(i))) return {};
    return keeper ? keeper->kept() : std::vector<Kept>();
  }

  bool reads(int input) const override { return !in[input].cast && inner->reads(input); }

  void run(const Run& run) const override {
    std::vector<const void*> from(run.in, run.in + in.size());
    std::vector<void*> to(run.out, run.out + out.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].cast) continue;
      if (in[i].constant) {
        from[i] = in[i].values.data();
      } else {
        convert(*in[i].cast, run.in[i], run.scratch + in[i].at, nullptr, run.pool);
        from[i] = run.scratch + in[i].at;
      }
    }
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].cast) to[i] = run.scratch + out[i].at;
    inner->run(Run{from.data(), to.data(), run.scratch + own, run.pool});
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].cast) convert(*out[i].cast, to[i], run.out[i], nullptr, run.pool);
  }

 private:
  static void convert(const Kernel& cast, const void* from, void* to, std::byte* scratch, Pool* pool) {
    cast.run(Run{&from, &to, scratch, pool});
  }
};

}  // namespace

std::unique_ptr<Kernel> bind_narrow(const Call& call, Bind bind, Bind cast) {
  auto kernel = std::make_unique<Narrow>();
  Tensors in = call.in, out = call.out;
  bool missing = false;
  auto widen = [&](Tensor& wide, std::vector<Narrow::Operand>& operands, bool forth) {
    Narrow::Operand operand;
    missing |= wide.blocked || (forth && wide.dtype == DType::f32);  // mixed: NumPy knows who widens whom
    if (is_narrow(wide.dtype)) {
      const Tensor narrow = wide;
      wide.dtype = DType::f32;
      const Tensor& target = forth ? wide : narrow;
      Attrs attrs({{"dtype", Attrs::Value(std::string(name_of(target.dtype)))}});
      operand.cast = cast(Call{attrs, {forth ? narrow : wide}, {target}, call.threads});
      missing |= !operand.cast || operand.cast->scratch != 0;
      operand.size = wide.size() * sizeof(float);
      operand.constant = forth && wide.constant;
      if (!operand.constant) {
        operand.at = kernel->own;
        kernel->own += room(wide);
      }
    }
    operands.push_back(std::move(operand));
  };
  for (auto& tensor : in) widen(tensor, kernel->in, true);
  for (auto& tensor : out) widen(tensor, kernel->out, false);
  if (missing) return nullptr;
  kernel->inner = bind(Call{call.attrs, in, out, call.threads, call.precise});
  if (!kernel->inner) return nullptr;
  kernel->sure = kernel->inner->sure;
  kernel->scratch = kernel->own + kernel->inner->scratch;
  kernel->flops = kernel->inner->flops;
  kernel->how = kernel->inner->how + ", in float32";
  return kernel;
}

}  // namespace gluonnx
