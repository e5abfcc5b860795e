// Lets threads loose on the pool, for the sanitizers to watch: built with -DSTRESS=ON or with a sanitizer, run by
// .ci/sanitize. `stress SECONDS` ends with status 0 when all sums were right; `stress --time` tells what handing over costs.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "../engine/memory.h"
#include "../engine/pool.h"

using namespace gluonnx;
using Clock = std::chrono::steady_clock;

namespace {

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::_Exit(1);
}

Run on(Pool& pool) { return Run{nullptr, nullptr, nullptr, &pool}; }

// Each chunk once, each thread number used by one thread at a time, writes seen by the caller (plain memory, on purpose).
void job(Pool& pool, std::int64_t chunks, int nested, bool fails) {
  std::vector<int> hits(chunks, 0);
  std::vector<std::int64_t> sums(pool.threads(), 0);
  std::vector<int> entered(pool.threads(), 0);
  bool thrown = false;
  try {
    on(pool).parallel(chunks, [&](std::int64_t i, int thread) {
      check(thread >= 0 && thread < pool.threads(), "the number of a thread");
      check(++entered[thread] == 1, "two threads with one number");
      ++hits[i];
      sums[thread] += i;
      if (nested) job(pool, nested, 0, false);
      --entered[thread];
      if (fails && i == chunks / 2) throw std::runtime_error("meant");
    });
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  check(thrown == fails, "what a chunk threw");
  if (thrown) return;  // what came after it may have run or not
  std::int64_t sum = 0;
  for (auto s : sums) sum += s;
  check(sum == chunks * (chunks - 1) / 2, "a sum");
  for (int h : hits) check(h == 1, "a chunk that did not run once");
}

// Blocks do not overlap: each holds what was written into it for as long as it is held.
struct Held {
  std::size_t size;
  std::byte* memory;
  std::byte mark;

  Held(std::size_t bytes, unsigned char value) : size(bytes), memory(allocate(bytes)), mark(std::byte{value}) {
    check(memory && reinterpret_cast<std::uintptr_t>(memory) % 64 == 0, "memory");
    std::memset(memory, value, size);
  }
  Held(Held&& other) noexcept : size(other.size), memory(std::exchange(other.memory, nullptr)), mark(other.mark) {}
  ~Held() {
    if (!memory) return;
    for (std::size_t i = 0; i < size; i += 61) check(memory[i] == mark, "what a block held");
    release(memory, size);
  }
};

void keeper(unsigned seed, Clock::time_point end) {
  std::mt19937 random(seed);
  std::deque<Held> held;
  while (Clock::now() < end) {
    for (int i = 0; i < 100; ++i) {
      held.emplace_back(random() % 50 ? random() % 20000 : random() % 3000000, static_cast<unsigned char>(random()));
      while (held.size() > random() % 30) held.pop_front();
    }
    if (random() % 50 == 0) release_memory();
    if (random() % 50 == 0) set_memory_bound(random() % 4000000);
    const MemoryStats stats = memory_stats();
    check(stats.allocated <= stats.peak, "the count of bytes");
  }
}

void caller(unsigned seed, Clock::time_point end) {
  std::mt19937 random(seed);
  while (Clock::now() < end) {
    Team team(1 + random() % 5);
    Awake awake;
    for (int i = 0; i < 20; ++i) job(team, 1 + random() % 40, random() % 10 ? 0 : 3, random() % 50 == 0);
    if (random() % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));  // workers fall asleep
    if (random() % 50 == 0) set_threads(1 + random() % 4);
  }
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)  // they do not follow forks in the middle of anything
// A child, forked while other threads are in the middle of their jobs, has a pool that works.
void children(int count) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (!child) {
      Team team(3);
      for (int j = 0; j < 50; ++j) job(team, 20, 0, false);
      Held block(100000, 1);
      std::_Exit(0);
    }
    int status = 1;
    check(waitpid(child, &status, 0) == child && status == 0, "a forked child");
  }
}

#else
void children(int) {}
#endif

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + v.size() / 2, v.end());
  return v[v.size() / 2];
}

void time_handing_over() {
  for (int threads : {1, 2, 4}) {
    Team team(threads);
    Awake awake;
    std::vector<double> empty, halves;
    for (int i = 0; i < 20000; ++i) {
      auto start = Clock::now();
      on(team).parallel(threads, [](std::int64_t, int) {});
      empty.push_back(since(start));
      start = Clock::now();
      on(team).parallel(8, [](std::int64_t, int) {
        const auto begin = Clock::now();
        while (since(begin) < 5e-6) continue;
      });
      halves.push_back(since(start));
    }
    std::printf("%d threads: nothing %.2f us, eight times 5 us %.2f us\n", threads, median(empty) * 1e6, median(halves) * 1e6);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--time")) return time_handing_over(), 0;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<std::thread> callers;
  for (unsigned seed = 0; seed < 3; ++seed) callers.emplace_back(caller, seed, end);
  for (unsigned seed = 0; seed < 2; ++seed) callers.emplace_back(keeper, seed, end);
  children(static_cast<int>(5 * seconds));
  for (auto& thread : callers) thread.join();
  check(memory_stats().allocated == 0, "what was never given back");
  std::puts("ok");
}
