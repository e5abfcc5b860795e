#include "pool.h"

namespace gluonnx {
namespace {

class Serial : public Pool {
 public:
  int threads() const override { return 1; }
  void run(std::int64_t chunks, void (*fn)(void*, std::int64_t, int), void* arg) override {
    for (std::int64_t i = 0; i < chunks; ++i) fn(arg, i, 0);
  }
};

}  // namespace

Pool& pool() {
  static Serial serial;
  return serial;
}
int threads() { return 1; }
void set_threads(int) {}

}  // namespace gluonnx
