// Memory of floats: what kernels keep for as long as they live, packed weights above all.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace gluonnx {

// Aligned for vectors, with a vector's worth of room behind it; in large pages where it is large, because weights pass once a
// run and a walk through the page table every 4 KB costs. Contents are undefined. Copies are the same memory: who wants to write
// to it asks for its size again, and gets memory of its own where there are others.
class Floats {
 public:
  static constexpr std::int64_t ROOM = 16;  // floats behind
  Floats() = default;
  explicit Floats(std::int64_t count) { resize(count); }
  // To so many floats, nobody else's; what was there may be gone.
  void resize(std::int64_t count) {
    if (memory_ && count == count_ && !lent_ && memory_.use_count() == 1) return;
    constexpr std::size_t PAGE = std::size_t{1} << 21;
    const std::size_t bytes = (count + ROOM) * sizeof(float);
    const bool large = bytes >= PAGE;
    const std::align_val_t alignment{large ? PAGE : 64};
    void* memory = ::operator new(bytes, alignment);
    memory_ = std::shared_ptr<float>(static_cast<float*>(memory), Free{alignment});
    count_ = count;
    lent_ = false;
#if defined(__linux__)
    if (large) madvise(memory, bytes / PAGE * PAGE, MADV_HUGEPAGE);
#endif
  }
  // To so many floats that lie elsewhere, aligned and with room behind them as here, and are not to be written to.
  void borrow(std::shared_ptr<float> memory, std::int64_t count) {
    memory_ = std::move(memory);
    count_ = count;
    lent_ = true;
  }
  std::int64_t size() const { return count_; }
  float* data() const { return memory_.get(); }
  explicit operator bool() const { return memory_ != nullptr; }

 private:
  struct Free {
    std::align_val_t alignment;
    void operator()(float* p) const { ::operator delete(p, alignment); }
  };
  std::shared_ptr<float> memory_;
  std::int64_t count_ = 0;
  bool lent_ = false;
};

}  // namespace gluonnx
