// What a library of kernels shows to the outside: the list, compiled for one CPU level.
#include "binders.h"

namespace gluonnx {

static const KernelEntry TABLE[] = {
#define KERNEL(op, dtype, bind) {op, dtype, bind},
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
