// How it works. A caller describes a job, gives every thread a range of its chunks, and publishes the job by storing its
// number. Threads claim chunks, first of their own range, then of the others'; a claim is one compare-and-swap on a word
// that holds the job's number next to the chunk's, so that whoever comes late to a job which is over can claim nothing. The
// caller claims like everyone else and then waits for chunks that are being executed, never for a thread to turn up.
#include "pool.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "cpu.h"

#if defined(__linux__)
#include <sys/resource.h>
#endif
#ifndef _WIN32
#include <pthread.h>
#include <signal.h>
#endif

namespace gluonnx {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using Fn = void (*)(void*, std::int64_t, int);

constexpr int MOST_THREADS = 256;
constexpr int LINE = 128;  // two cache lines: the next one is fetched along

constexpr microseconds SPIN{100};              // how long a worker looks out for work before it sleeps
constexpr microseconds SPIN_IN_PROGRAM{1000};  // the same while a program runs, which may do one step on one thread
constexpr microseconds PATIENCE{60};           // how long a caller that has nothing left to do looks out before it sleeps
constexpr microseconds GAP{300};               // a thread to which this long a moment passes has been off its CPU
// A worker that was stopped with a piece of work in hand costs its caller some milliseconds. When that happens more often than
// OFTEN the others do better without it: it rests, longer each time.
constexpr microseconds OFTEN{20000}, REST{2000}, LONGEST_REST{200000};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // `yield` does nothing on most machines
#else
  std::this_thread::yield();
#endif
}

// Which thread of a job this is, and whether it is in one of its chunks.
thread_local int self = 0;
thread_local bool inside = false;

// How often the system has taken the CPU from this thread to give it to another one.
long preempted() {
#if defined(__linux__)
  rusage use;
  return getrusage(RUSAGE_THREAD, &use) ? 0 : use.ru_nivcsw;
#else
  return 0;
#endif
}

// Looks at a clock now and then while it spins.
class Watch {
 public:
  Watch() : start_(Clock::now()), last_(start_) {}
  // True when so much time has gone by, or when the CPU was taken from this thread: then there are more threads that want
  // to run than CPUs, and spinning keeps them from working.
  bool over(microseconds limit) {
    if (++spins_ % 16) return false;
    const auto now = Clock::now();
    const bool gap = now - last_ > GAP;
    last_ = now;
    return gap || now - start_ > limit;
  }

 private:
  Clock::time_point start_, last_;
  unsigned spins_ = 0;
};

class Workers {
 public:
  explicit Workers(int cpus) : cpus_(cpus) {}

  std::atomic<int> programs{0};

  // False when the workers are taken, or when programs that run beside this one have CPUs enough without them.
  bool run(int width, std::uint32_t chunks, Fn fn, void* arg) {
    width -= std::max(0, programs.load(std::memory_order_relaxed) - 1);
    if (width < 2) return false;
    if (taken_.load(std::memory_order_relaxed) || taken_.exchange(true, std::memory_order_acquire)) return false;
    start(width);
    const std::uint32_t job = job_.load(std::memory_order_relaxed) + 1;  // even; odd between jobs
    // Releases, because a worker that reads one of these and then still finds the job before has read of that job.
    fn_.store(fn, std::memory_order_release);
    arg_.store(arg, std::memory_order_release);
    chunks_.store(chunks, std::memory_order_release);
    width_.store(width, std::memory_order_release);
    done_.store(0, std::memory_order_relaxed);
    for (int t = 0; t < width; ++t) threads_[t].claim.store(word(job, first(t, width, chunks)), std::memory_order_relaxed);
    job_.store(job, std::memory_order_seq_cst);
    wake(0, width);
    const auto began = Clock::now();
    inside = true;
    take_part(0, job, width, chunks, fn, arg);
    inside = false;
    if (done_.load(std::memory_order_acquire) != chunks) await(chunks, width, began);
    job_.store(job + 1, std::memory_order_release);
    std::exception_ptr error;
    if (failed_.load(std::memory_order_relaxed)) {
      error = std::move(error_);
      error_ = nullptr;
      failed_.store(false, std::memory_order_relaxed);
    }
    taken_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  struct alignas(LINE) Thread {
    std::atomic<std::uint64_t> claim{0};  // number of a job, number of the next chunk of this thread's range
    std::atomic<std::uint32_t> asleep{0};
    std::atomic<bool> busy{false}, late{false};
  };

  static std::uint64_t word(std::uint32_t job, std::uint32_t chunk) { return std::uint64_t{job} << 32 | chunk; }
  static std::uint32_t first(int t, int width, std::uint32_t chunks) {
    return static_cast<std::uint32_t>(std::uint64_t{chunks} * t / width);
  }

  void start(int width) {
    for (; running_ < width && !short_; ++running_) {
#ifndef _WIN32
      sigset_t all, before;  // signals are for the program's own threads
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
#endif
      try {
        std::thread([this, id = running_.load()] { work(id); }).detach();
      } catch (const std::system_error&) {
        short_ = true;  // no more threads to be had: those that are there, and the caller, do everything
      }
#ifndef _WIN32
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
      if (short_) break;
    }
  }

  // Each who is awake wakes two more: the caller is not kept by the number of workers.
  void wake(int id, int width) {
    for (int t = id ? 2 * id : 1; t <= 2 * id + 1 && t < width; ++t) {
      auto& asleep = threads_[t].asleep;
      if (asleep.load(std::memory_order_seq_cst) && asleep.exchange(0)) asleep.notify_one();
    }
  }

  void take_part(int id, std::uint32_t job, int width, std::uint32_t chunks, Fn fn, void* arg) {
    for (int i = 0; i < width; ++i) {
      const int t = id + i < width ? id + i : id + i - width;
      auto& claim = threads_[t].claim;
      const std::uint64_t end = word(job, first(t + 1, width, chunks));
      std::uint32_t count = 0;
      std::uint64_t next = claim.load(std::memory_order_relaxed);
      while (next >> 32 == job && next < end) {
        if (!claim.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) continue;
        try {
          fn(arg, static_cast<std::uint32_t>(next), id);
        } catch (...) {
          if (!failed_.exchange(true)) error_ = std::current_exception();
        }
        ++count;
        ++next;
      }
      if (count && done_.fetch_add(count, std::memory_order_seq_cst) + count == chunks && waiting_.load()) done_.notify_one();
    }
  }

  // Until all chunks are done. Who is awaited for much longer than all of the caller's own work took is told so.
  void await(std::uint32_t chunks, int width, Clock::time_point began) {
    const auto own = std::chrono::duration_cast<microseconds>(Clock::now() - began);
    for (Watch watch; !watch.over(PATIENCE + own);) {
      for (int i = 0; i < 16; ++i) {
        if (done_.load(std::memory_order_acquire) == chunks) return;
        pause();
      }
    }
    for (int t = 1; t < width; ++t)
      if (threads_[t].busy.load(std::memory_order_relaxed)) threads_[t].late.store(true, std::memory_order_relaxed);
    // An idle CPU is what makes the system move a waiting thread there: sleeping helps where spinning would not.
    waiting_.store(true, std::memory_order_seq_cst);
    for (std::uint32_t done; (done = done_.load(std::memory_order_seq_cst)) != chunks;) done_.wait(done);
    waiting_.store(false, std::memory_order_relaxed);
  }

  // The number of a job other than `seen`.
  std::uint32_t next_job(int id, std::uint32_t seen) {
    auto fresh = [&](std::uint32_t job) { return !(job & 1) && job != seen; };
    for (Watch watch;;) {
      for (int i = 0; i < 16; ++i) {
        const std::uint32_t job = job_.load(std::memory_order_acquire);
        if (fresh(job)) return job;
        pause();
      }
      const bool spin = running_ <= cpus_;
      if (!watch.over(!spin ? microseconds(0) : programs.load(std::memory_order_relaxed) > 0 ? SPIN_IN_PROGRAM : SPIN))
        continue;
      auto& asleep = threads_[id].asleep;
      asleep.store(1, std::memory_order_seq_cst);
      if (fresh(job_.load(std::memory_order_seq_cst))) asleep.store(0);
      while (asleep.load()) asleep.wait(1);
      watch = Watch();
    }
  }

  void work(int id) {
    self = id;
    inside = true;
    Thread& me = threads_[id];
    long switches = preempted();
    auto rest = REST;
    Clock::time_point resumed;  // since then no one had to wait for this thread
    for (std::uint32_t seen = 1;;) {
      const std::uint32_t job = next_job(id, seen);
      const Fn fn = fn_.load(std::memory_order_acquire);
      void* arg = arg_.load(std::memory_order_acquire);
      const std::uint32_t chunks = chunks_.load(std::memory_order_acquire);
      const int width = width_.load(std::memory_order_acquire);
      if (job_.load(std::memory_order_acquire) != job) continue;  // over already, and these may be of the one after
      seen = job;
      if (id >= width) continue;
      wake(id, width);
      me.busy.store(true, std::memory_order_relaxed);
      take_part(id, job, width, chunks, fn, arg);
      me.busy.store(false, std::memory_order_relaxed);
      if (!me.late.load(std::memory_order_relaxed)) continue;
      me.late.store(false, std::memory_order_relaxed);
      // Others had to wait for this one: because another process has this CPU?
      const long now_preempted = preempted();
      if (now_preempted == switches) continue;
      switches = now_preempted;
      if (Clock::now() - resumed < OFTEN) {
        std::this_thread::sleep_for(rest);
        rest = std::min(2 * rest, LONGEST_REST);
      } else {
        rest = REST;
      }
      resumed = Clock::now();
    }
  }

  const int cpus_;
  Thread threads_[MOST_THREADS];
  alignas(LINE) std::atomic<std::uint32_t> job_{1};
  std::atomic<Fn> fn_{nullptr};
  std::atomic<void*> arg_{nullptr};
  std::atomic<std::uint32_t> chunks_{0};
  std::atomic<int> width_{0};
  alignas(LINE) std::atomic<std::uint32_t> done_{0};
  std::atomic<bool> waiting_{false}, failed_{false};
  std::exception_ptr error_;  // of whoever set failed_
  alignas(LINE) std::atomic<bool> taken_{false};
  // of who has taken them
  bool short_ = false;
  std::atomic<int> running_{1};
};

std::atomic<int> count{0};  // threads by default; 0: nobody has asked yet
std::atomic<Workers*> workers{nullptr};

#ifndef _WIN32
// A child has none of the threads, and what they held stays held: it makes its own at the first use.
const int forked = pthread_atfork(nullptr, nullptr, [] { workers.store(nullptr); });
#endif

// Never destroyed: the threads run until the process is no more.
Workers& all_workers() {
  Workers* there = workers.load(std::memory_order_acquire);
  if (there) return *there;
  auto* made = new Workers(usable_cpus());
  if (workers.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *there;
}

int bounded(int threads) { return std::min(std::max(1, threads), MOST_THREADS); }

}  // namespace

Team::Team(int threads) : threads_(bounded(threads)) {}

void Team::run(std::int64_t chunks, Fn fn, void* arg) {
  const bool alone = threads_ == 1 || chunks <= 1 || chunks > INT32_MAX || inside;
  if (!alone && all_workers().run(threads_, static_cast<std::uint32_t>(chunks), fn, arg)) return;
  const int id = inside && self < threads_ ? self : 0;
  for (std::int64_t i = 0; i < chunks; ++i) fn(arg, i, id);
}

int threads() {
  const int there = count.load(std::memory_order_relaxed);
  if (there) return there;
  int none = 0;
  count.compare_exchange_strong(none, bounded(usable_cpus()));
  return count.load(std::memory_order_relaxed);
}

void set_threads(int wanted) { count.store(bounded(wanted)); }

Awake::Awake() : workers_(&all_workers()) { static_cast<Workers*>(workers_)->programs.fetch_add(1, std::memory_order_relaxed); }
Awake::~Awake() { static_cast<Workers*>(workers_)->programs.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace gluonnx
