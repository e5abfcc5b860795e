// What a kernel is: bound once to attributes and shapes, then run on pointers, by several threads at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

#include "attrs.h"
#include "tensor.h"

namespace gluonnx {

// Runs chunks of work. The caller takes part. Chunks are claimed in any order by any thread, so that a thread which the
// system has descheduled delays nobody; what a chunk computes must not depend on who computes it.
class Pool {
 public:
  virtual ~Pool() = default;
  virtual int threads() const = 0;
  // fn(arg, chunk, thread) for every chunk in [0, chunks); thread in [0, threads()), the same for no two at a time
  virtual void run(std::int64_t chunks, void (*fn)(void*, std::int64_t, int), void* arg) = 0;
};

// What one run of a kernel is given.
struct Run {
  const void* const* in;
  void* const* out;
  std::byte* scratch;  // Kernel::scratch bytes, aligned to 64, contents undefined
  Pool* pool;

  template <class T>
  const T* input(int i) const { return static_cast<const T*>(in[i]); }
  template <class T>
  T* output(int i = 0) const { return static_cast<T*>(out[i]); }

  int threads() const { return pool->threads(); }

  // f(chunk, thread) for all chunks; at once when there is only one or when there is only one thread
  template <class F>
  void parallel(std::int64_t chunks, F&& f) const {
    if (chunks <= 0) return;
    using G = std::remove_reference_t<F>;
    // compiled once, not for one chunk and for many
    const auto one = [](void* g, std::int64_t i, int thread) __attribute__((noinline)) { (*static_cast<G*>(g))(i, thread); };
    void* const g = const_cast<void*>(static_cast<const void*>(&f));
    if (chunks == 1) return one(g, 0, 0);
    pool->run(chunks, one, g);
  }

  // f(begin, end, thread) over [0, n), cut into about two chunks a thread when each is worth at least `grain` of n
  template <class F>
  void ranges(std::int64_t n, std::int64_t grain, F&& f) const {
    if (n <= 0) return;
    std::int64_t most = threads() == 1 ? 1 : 2 * threads();
    std::int64_t chunks = std::max<std::int64_t>(1, std::min(most, n / std::max<std::int64_t>(1, grain)));
    parallel(chunks, [&](std::int64_t i, int thread) { f(n * i / chunks, n * (i + 1) / chunks, thread); });
  }
};

// Immutable while it runs: the same kernel may run in several threads at once, each with its own operands and scratch.
class Kernel {
 public:
  virtual ~Kernel();
  // Called before the first run and whenever constant operands have other values (in[i] is null for the others): pack weights.
  virtual void prepare(const void* const* in, Pool* pool) { plain_ = true; }
  // Take over what another of the same operator, bound to other sizes, has packed. False, and nothing is done, where that is
  // packed in another way.
  bool adopt(const Kernel& other) {
    plain_ = other.plain_;
    return plain_ || take(other);
  }
  // Whether a run reads a constant operand where it came from. What was packed need not stay.
  virtual bool reads(int input) const { return true; }
  virtual void run(const Run& run) const = 0;

  // Whether a run does its step whatever values the operands have. Where it does not (there may be positions that are none),
  // it throws Refused at those, and NumPy does the step, or says what is wrong.
  bool sure = true;
  // Whether a run writes the zeros around its blocked outputs itself, each thread those beside what it computes: they are in its
  // cache then. Else the executor writes them first.
  bool zeroes = false;
  std::size_t scratch = 0;  // bytes wanted for a run; known after bind, for Call::threads threads
  double flops = 0;         // of a run, multiplications and additions counted apart
  double bytes = 0;         // read and written at least, 0: the operands' sizes
  std::string how;          // which algorithm was chosen, for profiles: "winograd4", "direct 2x14"

 protected:
  virtual bool take(const Kernel& other) { return false; }

 private:
  bool plain_ = false;  // nothing was packed when it was told its constants
};

// An application of an operator that wants a kernel.
struct Call {
  const Attrs& attrs;
  const Tensors& in;
  const Tensors& out;
  int threads;           // how many a run will have at most; set_num_threads binds anew
  bool precise = false;  // no algorithm that trades accuracy for speed (Winograd)
};

// Gives null, or throws Declined, when it has no kernel for these attributes, dtypes or shapes; NumPy does it then. What run
// relies on is checked here: inference may have let through what no operator takes, and a file may say anything.
using Bind = std::unique_ptr<Kernel> (*)(const Call&);

struct KernelEntry {
  const char* op;     // the operator's name in hybrid.core.op.OPS
  const char* dtype;  // of its first input
  Bind bind;
};

}  // namespace gluonnx
