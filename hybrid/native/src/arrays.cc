#include "arrays.h"

#include <new>

#include "engine/memory.h"

namespace nb = nanobind;

namespace gluonnx {
namespace {

// What an array keeps alive: its memory, shown to NumPy as a buffer of bytes.
struct Block {
  explicit Block(std::size_t bytes) : size(bytes), data(allocate(bytes)) {
    if (!data) throw std::bad_alloc();
  }
  ~Block() { release(data, size); }
  Block(const Block&) = delete;

  std::size_t size;
  std::byte* data;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  auto* block = nb::inst_ptr<Block>(nb::handle(self));
  return PyBuffer_FillInfo(view, self, block->data, static_cast<Py_ssize_t>(block->size), 0, flags);
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

PyObject* ndarray_type = nullptr;  // held to the end of the process

nb::object empty(nb::tuple shape, nb::handle dtype) {
  std::size_t bytes = nb::cast<std::size_t>(dtype.attr("itemsize"));
  for (nb::handle length : shape) {
    const auto n = nb::cast<std::size_t>(length);  // negative lengths do not convert
    if (__builtin_mul_overflow(bytes, n, &bytes)) throw std::bad_alloc();
  }
  return nb::handle(ndarray_type)(shape, dtype, nb::cast(new Block(bytes), nb::rv_policy::take_ownership));
}

}  // namespace

void bind_arrays(nb::module_& m) {
  ndarray_type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  nb::class_<Block>(m, "Block", nb::type_slots(slots));
  m.def("empty", &empty);
  m.def("memory_stats", [] {
    const MemoryStats stats = memory_stats();
    nb::dict out;
    out["allocated"] = stats.allocated;
    out["cached"] = stats.cached;
    out["peak"] = stats.peak;
    out["bound"] = stats.bound;
    out["hits"] = stats.hits;
    out["misses"] = stats.misses;
    return out;
  });
  m.def("set_memory_bound", &set_memory_bound);
  m.def("release_memory", &release_memory);
}

}  // namespace gluonnx
