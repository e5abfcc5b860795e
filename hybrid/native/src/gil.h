// Python's lock, let go of and taken again by threads that Python may end while they wait for it.
#pragma once

#include <nanobind/nanobind.h>

namespace gluonnx {

// Without the lock while it lives: for work that touches no Python object.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// With the lock while it lives: for a call back into Python in the middle of such work.
class Locked {
 public:
  Locked();
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

void bind_gil(nanobind::module_& m);

}  // namespace gluonnx
