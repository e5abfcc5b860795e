// Sizes are rounded up to classes, eight to each power of two, so that what one tensor gave back fits the next one of about
// its size at an eighth of waste or less. Each class has a stack of what is kept: the last given back is used first, for the
// caches still have some of it. When the bound is passed, what has lain longest goes back to the system; and so does what was
// kept beyond the most that was in use lately: one large run does not keep its memory from the rest of the machine for good.
#include "memory.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>

#if defined(_WIN32) || defined(__GLIBC__)
#include <malloc.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else  // otherwise nobody watches what is touched after it was given back
#define ASAN_POISON_MEMORY_REGION(memory, size) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) static_cast<void>(0)
#endif

namespace gluonnx {
namespace {

constexpr std::size_t MAPPED = std::size_t{1} << 18;  // from here on pages of their own, which go back when they are released
constexpr std::size_t LARGE_PAGE = std::size_t{1} << 21;
constexpr int CLASSES = 64 * 8;
// "Lately" is this stretch and the one before it. A stretch has so many requests, or lasts so long, whatever ends first.
constexpr std::uint64_t REQUESTS = 512;
constexpr std::chrono::seconds STRETCH{2};

// 64, 128 ... 512 are the first eight; then 576, 640 ... 1024, 1152 and so on
int class_of(std::size_t size) {
  const std::size_t units = (std::max<std::size_t>(size, 1) + ALIGNMENT - 1) / ALIGNMENT;
  if (units <= 8) return static_cast<int>(units) - 1;
  const int shift = std::bit_width(units - 1) - 4;  // units - 1 is between 8 << shift and (16 << shift) - 1
  return (shift + 1) * 8 + static_cast<int>(((units - 1) >> shift) - 8);
}
std::size_t size_of_class(int number) {
  if (number < 8) return (number + 1) * ALIGNMENT;
  return (static_cast<std::size_t>(number % 8 + 9) << (number / 8 - 1)) * ALIGNMENT;
}

#ifdef _WIN32
std::byte* from_system(std::size_t size) { return static_cast<std::byte*>(_aligned_malloc(size, ALIGNMENT)); }
void to_system(std::byte* memory, std::size_t) { _aligned_free(memory); }
std::size_t default_bound() { return std::size_t{1} << 30; }
#else
std::byte* from_system(std::size_t size) {
  if (size < MAPPED) return static_cast<std::byte*>(std::aligned_alloc(ALIGNMENT, size));
  const std::size_t align = size < LARGE_PAGE ? 0 : LARGE_PAGE;
  void* mapped = mmap(nullptr, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* memory = static_cast<std::byte*>(mapped);
  if (align) {
    const std::size_t front = (align - reinterpret_cast<std::uintptr_t>(memory) % align) % align;
    if (front) munmap(memory, front);
    if (front < align) munmap(memory + front + size, align - front);
    memory += front;
#ifdef MADV_HUGEPAGE
    madvise(memory, size / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);  // not the end, of which little may be used
#endif
  }
  return memory;
}
void to_system(std::byte* memory, std::size_t size) {
  if (size < MAPPED) std::free(memory);
  else munmap(memory, size);
}
std::size_t default_bound() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  const std::size_t most = std::size_t{1} << 30;
  return pages > 0 && page > 0 ? std::min(most, static_cast<std::size_t>(pages) / 8 * static_cast<std::size_t>(page)) : most;
}
#endif

class Memory {
 public:
  std::mutex lock;

  std::byte* take(std::size_t wanted) {
    if (wanted > SIZE_MAX / 4) return nullptr;
    const int number = class_of(wanted);
    const std::size_t size = size_of_class(number);
    {
      std::lock_guard<std::mutex> guard(lock);
      look_back();
      auto& kept = kept_[number];
      if (!kept.empty()) {
        auto* memory = kept.back().memory;
        kept.pop_back();
        stats_.cached -= size;
        ++stats_.hits;
        count(size);
        ASAN_UNPOISON_MEMORY_REGION(memory, size);
        return memory;
      }
      ++stats_.misses;
    }
    auto* memory = from_system(size);
    if (!memory && release_all()) memory = from_system(size);
    if (memory) {
      std::lock_guard<std::mutex> guard(lock);
      count(size);
    }
    return memory;
  }

  void give(std::byte* memory, std::size_t wanted) {
    if (!memory) return;
    const int number = class_of(wanted);
    const std::size_t size = size_of_class(number);
    std::lock_guard<std::mutex> guard(lock);
    stats_.allocated -= size;
    if (size > stats_.bound) return to_system(memory, size);
    ASAN_POISON_MEMORY_REGION(memory, size);
    kept_[number].push_back({memory, ++clock_});
    stats_.cached += size;
    shrink(stats_.bound);
  }

  std::size_t release_all() {
    std::lock_guard<std::mutex> guard(lock);
    const std::size_t before = stats_.cached;
    shrink(0);
#if defined(__GLIBC__)
    malloc_trim(0);  // small pieces went to the C library, NumPy's arrays too
#endif
    return before;
  }

  void bound(std::size_t bytes) {
    std::lock_guard<std::mutex> guard(lock);
    stats_.bound = bytes;
    shrink(bytes);
  }

  MemoryStats stats() {
    std::lock_guard<std::mutex> guard(lock);
    return stats_;
  }

 private:
  struct FreeBlock {
    std::byte* memory;
    std::uint64_t since;
  };

  void count(std::size_t size) {
    stats_.allocated += size;
    stats_.peak = std::max(stats_.peak, stats_.allocated);
    high_ = std::max(high_, stats_.allocated);
  }

  // At the end of a stretch: keep no more than makes up for the most that was in use lately.
  void look_back() {
    const auto now = std::chrono::steady_clock::now();
    if (++requests_ < REQUESTS && now - began_ < STRETCH) return;
    const std::size_t lately = std::max(high_, before_);
    shrink(lately > stats_.allocated ? lately - stats_.allocated : 0);
    before_ = high_;
    high_ = stats_.allocated;
    requests_ = 0;
    began_ = now;
  }

  void shrink(std::size_t bytes) {
    while (stats_.cached > bytes) {
      int oldest = -1;
      for (int i = 0; i < CLASSES; ++i)
        if (!kept_[i].empty() && (oldest < 0 || kept_[i].front().since < kept_[oldest].front().since)) oldest = i;
      const std::size_t size = size_of_class(oldest);
      auto* memory = kept_[oldest].front().memory;
      kept_[oldest].pop_front();
      stats_.cached -= size;
      ASAN_UNPOISON_MEMORY_REGION(memory, size);
      to_system(memory, size);
    }
  }

  std::deque<FreeBlock> kept_[CLASSES];
  std::uint64_t clock_ = 0, requests_ = 0;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::size_t high_ = 0, before_ = 0;  // the most bytes that were in use, in this stretch and in the one before it
  MemoryStats stats_{0, 0, 0, default_bound(), 0, 0};
};

// Never destroyed: arrays die later than static objects.
Memory& memory = *new Memory;

#ifndef _WIN32
// A thread that is about to fork must be the one that has the lock, so that its copy in the child is free afterwards.
const int registered = pthread_atfork([] { memory.lock.lock(); }, [] { memory.lock.unlock(); }, [] { memory.lock.unlock(); });
#endif

}  // namespace

std::byte* allocate(std::size_t size) { return memory.take(size); }
void release(std::byte* what, std::size_t size) { memory.give(what, size); }
MemoryStats memory_stats() { return memory.stats(); }
void set_memory_bound(std::size_t bytes) { memory.bound(bytes); }
std::size_t release_memory() { return memory.release_all(); }

}  // namespace gluonnx
