// The thread pool: one set of workers for the whole process, which every program and every kernel shares.
#pragma once

#include "../base/kernel.h"

namespace gluonnx {

// The process's threads as one caller sees them: so many of them and no more, whatever set_threads says meanwhile (what
// was bound for n threads has scratch for n). Costs nothing to make.
//
// How many of them take part may be less: while another caller has the workers, and inside of a chunk, everything runs in the
// calling thread. What a chunk throws is thrown by run, when no chunk is being executed any more.
class Team : public Pool {
 public:
  explicit Team(int threads);
  int threads() const override { return threads_; }
  void run(std::int64_t chunks, void (*fn)(void*, std::int64_t, int), void* arg) override;

 private:
  int threads_;
};

// How many threads there are by default: the CPUs that the process may use, or what set_threads has said.
int threads();
void set_threads(int wanted);

// While one of these lives, a program runs: workers wait for its next step with their eyes open, and programs that run at the
// same time share the threads between them.
class Awake {
 public:
  Awake();
  ~Awake();
  Awake(const Awake&) = delete;

 private:
  void* workers_;  // those it was made with: a child process has others
};

}  // namespace gluonnx
