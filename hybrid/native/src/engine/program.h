// A planned graph: steps over tensors whose places are known. One call runs all of it.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "../base/kept.h"
#include "../base/kernel.h"
#include "pool.h"

namespace gluonnx {

// Where a tensor lives: at an offset of the arena, or in the memory of an input, an output or a constant.
struct Place {
  enum Kind { arena, input, output, constant } kind;
  std::int64_t at;  // bytes into the arena, or which input, output or constant
};

class Control;

struct Step {
  std::string op;
  Attrs attrs;
  std::vector<int> in, out;                // numbers of tensors
  bool host = false;                       // no kernel wanted: NumPy does it
  int number = 0;                          // by which the host knows it
  std::shared_ptr<Control> control = {};   // what there is in the place of a kernel: bodies to be run
};

class Program;

// Who does the steps without a kernel, and those that a kernel refuses, of a program and of the bodies in it. Operands point to
// C-contiguous memory; results are to be written where they point.
class Host {
 public:
  virtual ~Host() = default;
  virtual void run(const Program& program, int step, const void* const* in, void* const* out) = 0;
};

// Immutable but for its constants; any number of threads may run it at once, each in an arena of its own.
class Program {
  struct Frame;

 public:
  // Binds a kernel to each step. keep: the memory of a run stays for the next one, else it goes back to the allocator.
  // guard: memory of a run lies between zones, which are looked at after each step; for tests, slow.
  // Throws std::invalid_argument for tensors that are none or that do not lie in their place, and what a kernel throws on bad
  // attributes.
  Program(std::vector<Tensor> tensors, std::vector<Place> places, std::vector<Step> steps, std::size_t arena, int inputs,
          int outputs, int constants, int threads, bool precise, bool keep, bool guard = false);
  ~Program();

  // Values of the constants, which have to stay where they are; null: as before. Packs again what belongs to those that
  // `changed`, for which the other constants of the same steps have to be given.
  // Waits for runs in other threads to end. number: what runs with these constants have to say; -1 when more are to come.
  void set_constants(const std::vector<const void*>& values, const std::vector<bool>& changed, std::int64_t number);

  // Makes this run with the constants of the first of other programs of the same steps, bound to other sizes, which all have the same:
  // weights packed alike are shared. Gives their number; -1 where something has to be packed anew, or was packed and is not there to be read.
  std::int64_t adopt(const std::vector<Program*>& others);
  // What the kernel of a step has packed its constants into; empty where it has to be prepared with the constants themselves.
  std::vector<Kept> kept(int step) const;
  // As set_constants for all of them, where what kept() said of each step lies elsewhere: `packed`, for as many steps, is to be borrowed.
  // Steps without any are prepared. values: null for those that nobody reads or prepares. Throws std::invalid_argument, and there are
  // no constants then, where something is not as this program packs it, or is missing.
  struct Packed {
    std::shared_ptr<float> memory;
    std::size_t bytes;  // from there on
    std::string form;
  };
  void restore(const std::vector<const void*>& values, const std::vector<std::vector<Packed>>& packed, std::int64_t number);

  // Gives up what others of the same constants have packed alike, and shares theirs.
  void share(const std::vector<Program*>& others);

  // Operands lie where the program was told, and have the sizes that bytes() says. Throws std::logic_error when a step of a
  // guarded program wrote where it may not.
  // Does nothing and gives false when the constants are not those of that number (any more): another thread has set others
  // since the caller looked. A program without constants has those of number 0. seconds: null, or one number per step, which
  // its time is added to.
  bool run(const void* const* inputs, void* const* outputs, Host* host, std::int64_t number, double* seconds = nullptr);

  // Runs one after the other in memory_bytes() of memory that somebody else has, as a part of another program's runs: nobody
  // changes the constants meanwhile.
  class Session {
   public:
    Session(const Program& program, std::byte* memory);
    ~Session();
    Session(Session&&) noexcept;
    void run(const void* const* inputs, void* const* outputs, Host* host);

   private:
    const Program& program_;
    std::unique_ptr<Frame> frame_;
  };
  std::size_t memory_bytes() const { return arena_ + scratch_ + (guard_ ? 3 * ZONE : 0); }

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Place& place(int tensor) const { return places_[tensor]; }
  const std::vector<Step>& steps() const { return steps_; }
  const Kernel* kernel(int step) const { return kernels_[step].get(); }
  const std::vector<int>& input_tensors() const { return input_tensors_; }
  const std::vector<int>& output_tensors() const { return output_tensors_; }
  // For each constant whether a run reads it where it is; one that was packed need not stay.
  std::vector<bool> read_constants() const;
  int constants() const { return static_cast<int>(constants_.size()); }
  std::size_t bytes(int tensor) const;  // of memory, with halo
  std::size_t arena_bytes() const { return arena_ + scratch_; }
  // Whether there are kernels of all steps, those of bodies too, which may leave values to NumPy all the same.
  bool complete() const;
  // Whether nobody else is ever needed for a step: there are kernels for all of them, and none that may refuse what it is given.
  bool sure() const {
    return std::all_of(kernels_.begin(), kernels_.end(), [](const auto& kernel) { return kernel && kernel->sure; });
  }
  double flops() const {
    double all = 0;
    for (const auto& kernel : kernels_) all += kernel ? kernel->flops : 0;
    return all;
  }

 private:
  struct All;  // programs there are, for forks
  static All& all();
  // An operand of a step that comes with each run: its place among all operands, which input or output it is, and how far
  // the first element lies behind the halo.
  struct Operand {
    int position, number;
    std::int64_t inside;
  };

  bool has_steps_of(const Program& other) const;
  bool adopt_step(std::size_t step, const std::vector<const Program*>& others);
  std::unique_ptr<Frame> take();
  std::byte* at(int tensor, std::byte* memory) const;  // null for what comes with a run
  std::int64_t inside(int tensor) const;               // bytes of halo before the first element
  void check() const;
  std::size_t extent(const Tensor& tensor) const;  // bytes from the first to behind the last element, with halo
  std::byte* arena_of(std::byte* memory) const { return memory + (guard_ ? ZONE : 0); }
  std::byte* scratch_of(std::byte* memory) const { return arena_of(memory) + arena_ + (guard_ ? ZONE : 0); }
  void execute(Frame& frame, const void* const* inputs, void* const* outputs, Host* host, double* seconds) const;
  void open(std::byte* memory, const Kernel* kernel) const;
  void look(const std::byte* memory, std::size_t step) const;
  void zero_halo(const Tensor& tensor, float* inside, const Run& run) const;

  std::vector<Tensor> tensors_;
  std::vector<Place> places_;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<Kernel>> kernels_;
  std::vector<int> input_tensors_, output_tensors_;
  std::vector<const void*> constants_;
  std::int64_t constants_number_ = 0;
  std::size_t arena_, scratch_ = 0;
  Team team_;
  std::mutex lock_;
  std::unique_ptr<std::shared_mutex> constants_lock_ = std::make_unique<std::shared_mutex>();
  std::vector<std::unique_ptr<Frame>> idle_;
  std::vector<Operand> from_inputs_, from_outputs_, to_outputs_;
  std::vector<std::vector<int>> halos_;  // of each step: which outputs have one
  bool keep_, guard_;
  static const std::size_t ZONE;
};

}  // namespace gluonnx
