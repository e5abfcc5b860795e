#include "library.h"

#include <iterator>
#include <map>
#include <stdexcept>

#include "narrow.h"

#ifdef _WIN32
#include <filesystem>
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace gluonnx {
namespace {

std::map<std::pair<std::string, std::string>, Bind> kernels;

constexpr std::size_t MOST_SCRATCH = std::size_t{1} << 44;  // bytes

const char* const NAMES[] = {"float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool",
                             "opaque1", "opaque2", "opaque4", "opaque8"};

const KernelEntry* open(const std::string& path) {
#ifdef _WIN32
  HMODULE handle = LoadLibraryW(std::filesystem::path(std::u8string(path.begin(), path.end())).c_str());
  if (!handle) throw std::runtime_error("cannot load " + path);
  auto* symbol = reinterpret_cast<void*>(GetProcAddress(handle, "gluonnx_kernels"));
#else
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  void* symbol = dlsym(handle, "gluonnx_kernels");
#endif
  if (!symbol) throw std::runtime_error(path + " is no library of kernels");
  return reinterpret_cast<const KernelEntry* (*)()>(symbol)();
}

}  // namespace

const char* name_of(DType dtype) { return NAMES[static_cast<int>(dtype)]; }

DType dtype_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(std::size(NAMES)); ++i)
    if (name == NAMES[i]) return static_cast<DType>(i);
  throw std::invalid_argument("no kernel knows the dtype " + name);
}

void load_library(const std::string& path) {
  std::map<std::pair<std::string, std::string>, Bind> found;
  for (const KernelEntry* e = open(path); e->op; ++e)
    if (e->bind) found[{e->op, e->dtype}] = e->bind;
  kernels = std::move(found);
}

std::vector<std::pair<std::string, std::string>> kernel_names() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const auto& [key, bind] : kernels) names.push_back(key);
  return names;
}

std::unique_ptr<Kernel> bind_kernel(const std::string& op, const Call& call) {
  if (call.in.empty() && call.out.empty()) return nullptr;
  const DType first = (call.in.empty() ? call.out : call.in)[0].dtype;
  auto found = kernels.find({op, name_of(first)});
  std::unique_ptr<Kernel> kernel;
  try {
    if (found != kernels.end()) {
      kernel = found->second(call);
    } else if (!call.in.empty() && (first == DType::f16 || first == DType::bf16)) {
      found = kernels.find({op, name_of(DType::f32)});
      if (found == kernels.end()) return nullptr;
      kernel = bind_narrow(call, found->second, [](const Call& cast) { return bind_kernel("Cast", cast); });
    }
  } catch (const Declined&) {
    return nullptr;
  }
  // What wants more than any machine has would only be told so when it runs, or its sizes have gone round.
  if (kernel && kernel->scratch > MOST_SCRATCH) return nullptr;
  if (kernel) {
    auto unread = call.attrs.unread();
    if (!unread.empty()) {
      std::string names;
      for (const auto& name : unread) names += " " + name;
      throw std::logic_error("the kernel of " + op + " did not read the attributes" + names);
    }
  }
  return kernel;
}

}  // namespace gluonnx
