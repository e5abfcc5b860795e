// What a library of kernels shows to the outside: the list, compiled for one CPU level.
#include "binders.h"

namespace gluonnx {

namespace {

template <Bind bind>
std::unique_ptr<Kernel> checked(const Call& call) {
  try {
    return bind(call);
  } catch (const Declined&) {
    return nullptr;
  }
}

}  // namespace

#ifdef GLUONNX_PARTIAL
#define BOUND(bind) bind ? checked<bind> : nullptr
#else
#define BOUND(bind) checked<bind>
#endif

static const KernelEntry TABLE[] = {
#define KERNEL(op, dtype, bind) {op, dtype, BOUND(bind)},
#include "kernels.inc"
#undef KERNEL
    {nullptr, nullptr, nullptr}};

}  // namespace gluonnx

#ifdef _WIN32
#define SHOWN __declspec(dllexport)
#else
#define SHOWN __attribute__((visibility("default")))
#endif

extern "C" SHOWN const gluonnx::KernelEntry* gluonnx_kernels() { return gluonnx::TABLE; }
