// Until 3.13, Python ends a thread that asks for the lock while the process exits, by unwinding its stack: C++ ends the process
// for that, since destructors may not be unwound. So such threads are kept from asking: from a certain moment of the exit on
// they sleep for the rest of the process's life, as Python 3.14 lets them do.
#include "gil.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace nb = nanobind;

namespace gluonnx {
namespace {

std::atomic<bool> closing{false};
std::thread::id closer;      // who ends the process; written before `closing`
std::atomic<int> asking{0};  // threads that are about to get the lock

template <class Get>
auto get(Get lock) {
  asking.fetch_add(1);
  if (closing.load() && std::this_thread::get_id() != closer) {
    asking.fetch_sub(1);
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  struct Got {
    ~Got() { asking.fetch_sub(1); }
  } got;
  return lock();
}

// At exit, with the lock: who asks for it now still gets it, nobody afterwards.
void close() {
  closer = std::this_thread::get_id();
  closing.store(true);
  PyThreadState* state = PyEval_SaveThread();
  while (asking.load()) std::this_thread::yield();
  PyEval_RestoreThread(state);
}

}  // namespace

Unlocked::~Unlocked() {
  get([this] { PyEval_RestoreThread(state_); });
}

Locked::Locked() : state_(get([] { return PyGILState_Ensure(); })) {}

void bind_gil(nb::module_& m) {
  // Python calls these in the reverse order: whoever is to finish work in other threads at the exit is registered after this.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&close));
}

}  // namespace gluonnx
