#include "program.h"

#include <chrono>
#include <cstdint>
#include <new>
#include <set>
#include <stdexcept>

#ifndef _WIN32
#include <pthread.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "control.h"
#include "guard.h"
#include "library.h"
#include "memory.h"

namespace gluonnx {
namespace {

constexpr std::size_t TRIMMED = std::size_t{1} << 22;  // bytes of weights, from which on memory is worth the time

}  // namespace

// What other threads hold when a process forks stays held in the child, which does not have these threads. Who forks therefore
// takes the locks that are held for moments, and those that are held for a whole run are new in the child: what was
// being packed there is packed again, because whoever asked for it has not been told that it is.
struct Program::All {
  std::mutex lock;
  std::set<Program*> programs;

  All() {
#ifndef _WIN32
    pthread_atfork(
        [] {
          all().lock.lock();
          for (Program* p : all().programs) p->lock_.lock();
        },
        [] { all().free(); },
        [] {
          all().free();
          for (Program* p : all().programs) p->constants_lock_.release();  // locked, maybe: not to be destroyed
          for (Program* p : all().programs) p->constants_lock_ = std::make_unique<std::shared_mutex>();
        });
#endif
  }
  void free() {
    for (Program* p : programs) p->lock_.unlock();
    lock.unlock();
  }
};

Program::All& Program::all() {
  static All& there = *new All;  // never destroyed: programs may die later
  return there;
}

Program::Program(std::vector<Tensor> tensors, std::vector<Place> places, std::vector<Step> steps, std::size_t arena, int inputs,
                 int outputs, int constants, int threads, bool precise, bool keep, bool guarded)
    : tensors_(std::move(tensors)),
      places_(std::move(places)),
      steps_(std::move(steps)),
      input_tensors_(inputs, -1),
      output_tensors_(outputs, -1),
      constants_(constants, nullptr),
      arena_(aligned(arena)),
      team_(threads),
      keep_(keep),
      guard_(guarded) {
  check();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    // Several tensors may lie in one array: what has to be there is as much as the largest wants.
    auto largest = [&](std::vector<int>& of_all) {
      int& known = of_all[places_[i].at];
      if (known < 0 || bytes(known) < bytes(static_cast<int>(i))) known = static_cast<int>(i);
    };
    if (places_[i].kind == Place::input) largest(input_tensors_);
    if (places_[i].kind == Place::output) largest(output_tensors_);
    tensors_[i].constant = places_[i].kind == Place::constant;
  }
  for (auto& step : steps_) {
    Tensors in, out;
    for (int t : step.in) in.push_back(tensors_[t]);
    for (int t : step.out) out.push_back(tensors_[t]);
    std::shared_ptr<Kernel> kernel;
    if (step.control) kernel = step.control, step.control->check(in, out);
    else if (!step.host) kernel = bind_kernel(step.op, Call{step.attrs, in, out, threads, precise});
    if (kernel) scratch_ = std::max(scratch_, aligned(kernel->scratch));
    step.host = !kernel;
    kernels_.push_back(std::move(kernel));
  }
  int in = 0, out = 0;
  for (auto& step : steps_) {
    for (int t : step.in) {
      const Place& place = places_[t];
      if (place.kind == Place::input) from_inputs_.push_back({in, static_cast<int>(place.at), inside(t)});
      if (place.kind == Place::output) from_outputs_.push_back({in, static_cast<int>(place.at), inside(t)});
      ++in;
    }
    std::vector<int> halos;
    for (std::size_t i = 0; i < step.out.size(); ++i, ++out) {
      const Tensor& tensor = tensors_[step.out[i]];
      const Place& place = places_[step.out[i]];
      if (place.kind == Place::output) to_outputs_.push_back({out, static_cast<int>(place.at), inside(step.out[i])});
      if (tensor.blocked && (tensor.halo_h || tensor.halo_w)) halos.push_back(static_cast<int>(i));
    }
    halos_.push_back(std::move(halos));
  }
  std::lock_guard<std::mutex> guard(all().lock);
  all().programs.insert(this);
}

const std::size_t Program::ZONE = guard::ZONE;

// Whatever a program is made from: tensors whose bytes can be counted, and that lie inside the memory they are said to lie in.
void Program::check() const {
  auto wanted = [](bool fits, const char* what, std::size_t i) {
    if (!fits) throw std::invalid_argument(std::string("a program's tensor ") + std::to_string(i) + " " + what);
  };
  if (places_.size() != tensors_.size()) throw std::invalid_argument("wanted as many places as tensors");
  constexpr std::int64_t MOST = std::int64_t{1} << 60;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& t = tensors_[i];
    std::int64_t size = static_cast<std::int64_t>(size_of(t.dtype));
    for (auto d : t.shape) wanted(d >= 0 && !__builtin_mul_overflow(size, std::max<std::int64_t>(d, 1), &size) && size < MOST, "is too large, or has a negative dim", i);
    if (t.blocked) {
      wanted(t.rank() == 5 && t.shape[4] == BLOCK && t.halo_h >= 0 && t.halo_w >= 0, "is no blocked one", i);
      std::int64_t image = BLOCK * static_cast<std::int64_t>(size_of(t.dtype));
      for (std::int64_t d : {t.shape[3] + 2 * t.halo_w, t.shape[2] + 2 * t.halo_h, t.shape[1]})
        wanted(!__builtin_mul_overflow(image, std::max<std::int64_t>(d, 1), &image) && image < MOST, "is too large", i);
      wanted(t.batch_stride >= t.shape[1] * t.block_stride(), "has images that overlap", i);
      wanted(!__builtin_mul_overflow(t.batch_stride * static_cast<std::int64_t>(size_of(t.dtype)), std::max<std::int64_t>(t.shape[0], 1), &image) && t.batch_stride < MOST && image < MOST, "is too large", i);
    }
    const Place& place = places_[i];
    const std::size_t counts[] = {0, input_tensors_.size(), output_tensors_.size(), constants_.size()};
    wanted(place.kind >= Place::arena && place.kind <= Place::constant && place.at >= 0, "has no place", i);
    const auto at = static_cast<std::size_t>(place.at);
    if (place.kind == Place::arena) wanted(at <= arena_ && extent(t) <= arena_ - at, "lies beyond the arena", i);
    else wanted(at < counts[place.kind], "is an input, output or constant that there is not", i);
  }
  for (const Step& step : steps_)
    for (const auto* numbers : {&step.in, &step.out})
      for (int t : *numbers)
        if (t < 0 || static_cast<std::size_t>(t) >= tensors_.size())
          throw std::invalid_argument("a step of " + step.op + " has a tensor that there is not");
}

std::size_t Program::extent(const Tensor& t) const {
  if (!t.blocked) return t.size() * size_of(t.dtype);
  if (!t.shape[0]) return 0;
  return ((t.shape[0] - 1) * t.batch_stride + t.shape[1] * t.block_stride()) * size_of(t.dtype);
}

Program::~Program() {
  std::lock_guard<std::mutex> guard(all().lock);
  all().programs.erase(this);
}

std::size_t Program::bytes(int tensor) const {
  const Tensor& t = tensors_[tensor];
  if (!t.blocked) return t.size() * size_of(t.dtype);
  return static_cast<std::size_t>(t.shape[0] * t.batch_stride) * size_of(t.dtype);
}

void Program::set_constants(const std::vector<const void*>& values, const std::vector<bool>& changed, std::int64_t number) {
  if (values.size() != constants_.size() || changed.size() != constants_.size())
    throw std::invalid_argument("wanted as many constants as the program has");
  std::unique_lock<std::shared_mutex> guard(*constants_lock_);
  constants_number_ = -1;  // until all are packed: what throws on the way leaves some of the old and some of the new
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]) constants_[i] = values[i];
  {
    std::lock_guard<std::mutex> lock(lock_);
    idle_.clear();  // frames know where constants are
  }
  struct Work {
    Kernel* kernel;
    std::vector<const void*> in;
    std::size_t bytes;
  };
  std::vector<Work> work;
  std::size_t total = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (!kernels_[s]) continue;
    Work item{kernels_[s].get(), {}, 0};
    bool any = false;
    for (int t : steps_[s].in) {
      bool constant = places_[t].kind == Place::constant;
      item.in.push_back(constant ? values[places_[t].at] : nullptr);
      if (constant) item.bytes += bytes(t);
      any |= constant && changed[places_[t].at];
    }
    if (!any) continue;
    total += item.bytes;
    work.push_back(std::move(item));
  }
  // A kernel with a large part of all weights packs with all threads; the others are packed side by side.
  std::vector<Work*> small;
  for (auto& item : work) {
    if (item.bytes * 4 * team_.threads() > total) item.kernel->prepare(item.in.data(), &team_);
    else small.push_back(&item);
  }
  struct Side {
    std::vector<Work*>& items;
    Pool* team;
  } side{small, &team_};
  team_.run(
      static_cast<std::int64_t>(small.size()),
      [](void* arg, std::int64_t i, int) {
        auto* side = static_cast<Side*>(arg);
        side->items[i]->kernel->prepare(side->items[i]->in.data(), side->team);
      },
      &side);
  constants_number_ = number;
#if defined(__GLIBC__)
  // What weights were computed from is freed between packed weights that stay: a hole, which glibc keeps unless it is told.
  if (total >= TRIMMED) malloc_trim(0);
#endif
}

std::vector<Kept> Program::kept(int step) const {
  auto* keeper = dynamic_cast<Keeper*>(kernels_[step].get());
  std::vector<Kept> found = keeper ? keeper->kept() : std::vector<Kept>();
  for (const Kept& k : found)
    if (!k.memory->data() || k.memory->size() != k.count) return {};
  return found;
}

void Program::restore(const std::vector<const void*>& values, const std::vector<std::vector<Packed>>& packed, std::int64_t number) {
  auto wanted = [](bool fits, const std::string& what) {
    if (!fits) throw std::invalid_argument("packed weights do not fit the program: " + what);
  };
  wanted(values.size() == constants_.size() && packed.size() == steps_.size(), "others are there than it has");
  std::unique_lock<std::shared_mutex> guard(*constants_lock_);
  constants_number_ = -1;  // until all is there
  constants_ = values;
  {
    std::lock_guard<std::mutex> lock(lock_);
    idle_.clear();
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const std::string& op = steps_[s].op;
    auto* keeper = dynamic_cast<Keeper*>(kernels_[s].get());
    std::vector<const void*> in;
    bool any = false, all = true;
    for (std::size_t i = 0; i < steps_[s].in.size(); ++i) {
      const Place& place = places_[steps_[s].in[i]];
      const bool constant = place.kind == Place::constant;
      in.push_back(constant ? values[place.at] : nullptr);
      if (!constant) continue;
      any = true, all &= in.back() != nullptr;
      const bool read = !kernels_[s] || kernels_[s]->reads(static_cast<int>(i));
      wanted(in.back() || (keeper && !packed[s].empty() && !read), op + " has no value for a constant");
    }
    if (packed[s].empty()) {
      wanted(!any || all, op + " has no value for a constant");
      if (any && kernels_[s]) kernels_[s]->prepare(in.data(), &team_);
      continue;
    }
    wanted(keeper && any, op + " packs none");
    std::vector<Kept> places = keeper->kept();
    wanted(places.size() == packed[s].size(), op + " packs as many as " + std::to_string(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Packed& from = packed[s][i];
      const std::size_t bytes = static_cast<std::size_t>(places[i].count + Floats::ROOM) * sizeof(float);
      wanted(from.form == places[i].form, op + " packs " + places[i].form + ", not " + from.form);
      wanted(from.bytes == bytes, op + " wants " + std::to_string(bytes) + " bytes, not " + std::to_string(from.bytes));
      wanted(reinterpret_cast<std::uintptr_t>(from.memory.get()) % ALIGNMENT == 0, "they are not aligned");
      places[i].memory->borrow(from.memory, places[i].count);
    }
  }
  constants_number_ = number;
}

bool Program::has_steps_of(const Program& other) const {
  return steps_.size() == other.steps_.size() && constants_.size() == other.constants_.size();
}

std::int64_t Program::adopt(const std::vector<Program*>& others) {
  std::vector<std::shared_lock<std::shared_mutex>> locks;
  std::vector<const Program*> donors;
  for (Program* other : others) {
    std::shared_lock<std::shared_mutex> lock(*other->constants_lock_, std::try_to_lock);
    if (!lock || other->constants_number_ < 0 || !has_steps_of(*other)) {
      if (donors.empty()) return -1;  // the first is whose constants are to be run with
      continue;
    }
    locks.push_back(std::move(lock));
    donors.push_back(other);
  }
  if (donors.empty()) return -1;
  const Program& first = *donors[0];
  const std::vector<bool> there = first.read_constants();
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    bool any = false;
    for (std::size_t i = 0; i < steps_[s].in.size(); ++i) {
      const Place& place = places_[steps_[s].in[i]];
      if (place.kind != Place::constant) continue;
      any = true;
      if ((!kernels_[s] || kernels_[s]->reads(static_cast<int>(i))) && !there[place.at]) return -1;
    }
    if (any && kernels_[s] && !adopt_step(s, donors)) return -1;
  }
  constants_ = first.constants_;
  constants_number_ = first.constants_number_;
  return constants_number_;
}

bool Program::adopt_step(std::size_t step, const std::vector<const Program*>& others) {
  for (const Program* other : others)
    if (other->kernels_[step] && kernels_[step]->adopt(*other->kernels_[step])) return true;
  return false;
}

void Program::share(const std::vector<Program*>& others) {
  std::unique_lock<std::shared_mutex> guard(*constants_lock_);
  if (constants_number_ < 0) return;
  for (Program* other : others) {  // who is being packed, or shares with this one, has to be left alone
    std::shared_lock<std::shared_mutex> lock(*other->constants_lock_, std::try_to_lock);
    if (other == this || !lock || other->constants_number_ < 0 || !has_steps_of(*other)) continue;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      bool any = false;
      for (int t : steps_[s].in) any |= places_[t].kind == Place::constant;
      if (any && kernels_[s]) adopt_step(s, {other});
    }
  }
}

std::vector<bool> Program::read_constants() const {
  std::vector<bool> read(constants_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (std::size_t i = 0; i < steps_[s].in.size(); ++i) {
      const Place& place = places_[steps_[s].in[i]];
      if (place.kind == Place::constant && (!kernels_[s] || kernels_[s]->reads(static_cast<int>(i)))) read[place.at] = true;
    }
  return read;
}

// The memory of one run, and where every operand of every step is in it.
struct Program::Frame {
  // given: memory that is there already
  explicit Frame(const Program& program, std::byte* given = nullptr) : program(program), memory(given), own(!given) {
    if (own && program.memory_bytes()) {
      memory = allocate(program.memory_bytes());
      if (!memory) throw std::bad_alloc();
    }
    if (memory && program.guard_) guard::open(memory, program.memory_bytes());
    for (std::size_t s = 0; s < program.steps_.size(); ++s) {
      for (int t : program.steps_[s].in) in.push_back(program.at(t, memory));
      for (int t : program.steps_[s].out) out.push_back(program.at(t, memory));
    }
  }
  ~Frame() {
    if (!memory) return;
    if (program.guard_) guard::open(memory, program.memory_bytes());
    if (own) release(memory, program.memory_bytes());
  }
  Frame(const Frame&) = delete;

  const Program& program;
  std::byte* memory;
  bool own;
  std::vector<const void*> in;  // of all steps, one after the other
  std::vector<void*> out;
};

std::byte* Program::at(int tensor, std::byte* memory) const {
  const Place& place = places_[tensor];
  if (place.kind == Place::constant) return static_cast<std::byte*>(const_cast<void*>(constants_[place.at]));
  if (place.kind != Place::arena) return nullptr;  // comes with the run
  return arena_of(memory) + place.at + inside(tensor);
}

std::int64_t Program::inside(int tensor) const {
  const Tensor& t = tensors_[tensor];
  if (!t.blocked) return 0;
  return (t.halo_h * t.row_stride() + t.halo_w * BLOCK) * static_cast<std::int64_t>(size_of(t.dtype));
}

std::unique_ptr<Program::Frame> Program::take() {
  {
    std::lock_guard<std::mutex> guard(lock_);
    if (!idle_.empty()) {
      auto frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

// Before a step: its scratch holds nothing, and behind it and around everything are the zones.
void Program::open(std::byte* memory, const Kernel* kernel) const {
  const std::size_t wanted = kernel ? kernel->scratch : 0;
  std::byte* scratch = scratch_of(memory);
  guard::close(memory, ZONE);
  guard::close(scratch - ZONE, ZONE);
  guard::open(scratch, wanted);
  guard::close(scratch + wanted, scratch_ + ZONE - wanted);
}

// After a step.
void Program::look(const std::byte* memory, std::size_t step) const {
  const std::size_t wanted = kernels_[step] ? kernels_[step]->scratch : 0;
  const std::byte* scratch = scratch_of(const_cast<std::byte*>(memory));
  const char* where = nullptr;
  if (!guard::untouched(memory, ZONE)) where = "before the arena";
  if (!guard::untouched(scratch - ZONE, ZONE)) where = "behind the arena or before its scratch";
  if (!guard::untouched(scratch + wanted, scratch_ + ZONE - wanted)) where = "behind its scratch";
  if (where) throw std::logic_error("step " + std::to_string(step) + ", " + steps_[step].op + ", wrote " + where);
}

void Program::zero_halo(const Tensor& t, float* inside, const Run& run) const {
  constexpr std::int64_t WORTH = 8192;  // elements that one thread writes in the time that it takes to wake another one
  const std::int64_t row = t.row_stride(), block = t.block_stride();
  const std::int64_t side = t.halo_w * BLOCK, width = t.shape[3] * BLOCK;
  const std::int64_t each = block - t.shape[2] * width;
  run.ranges(t.shape[0] * t.shape[1], std::max<std::int64_t>(1, WORTH / std::max<std::int64_t>(1, each)),
             [&](std::int64_t begin, std::int64_t end, int) {
               for (std::int64_t i = begin; i < end; ++i) {
                 float* plane =
                     inside + i / t.shape[1] * t.batch_stride + i % t.shape[1] * block - t.halo_h * row - side;
                 std::memset(plane, 0, (t.halo_h * row + (t.shape[2] ? side : 0)) * sizeof(float));
                 for (std::int64_t y = 0; y < t.shape[2]; ++y)  // the end of this row and the start of the next
                   std::memset(plane + (t.halo_h + y) * row + side + width, 0,
                               (y + 1 < t.shape[2] ? 2 * side : side) * sizeof(float));
                 std::memset(plane + (t.halo_h + t.shape[2]) * row, 0, t.halo_h * row * sizeof(float));
               }
             });
}

bool Program::complete() const {
  for (std::size_t s = 0; s < steps_.size(); ++s)
    if (!kernels_[s] || (steps_[s].control && !steps_[s].control->complete())) return false;
  return true;
}

bool Program::run(const void* const* inputs, void* const* outputs, Host* host, std::int64_t number, double* seconds) {
  std::shared_lock<std::shared_mutex> guard(*constants_lock_);
  if (number != constants_number_) return false;
  std::unique_ptr<Frame> frame = take();
  Awake awake;
  execute(*frame, inputs, outputs, host, seconds);
  if (!keep_) return true;
  std::lock_guard<std::mutex> lock(lock_);
  idle_.push_back(std::move(frame));
  return true;
}

void Program::execute(Frame& frame, const void* const* inputs, void* const* outputs, Host* host, double* seconds) const {
  for (const Operand& operand : from_inputs_)
    frame.in[operand.position] = static_cast<const std::byte*>(inputs[operand.number]) + operand.inside;
  for (const Operand& operand : from_outputs_)
    frame.in[operand.position] = static_cast<std::byte*>(outputs[operand.number]) + operand.inside;
  for (const Operand& operand : to_outputs_)
    frame.out[operand.position] = static_cast<std::byte*>(outputs[operand.number]) + operand.inside;
  const void* const* in = frame.in.data();
  void* const* out = frame.out.data();
  std::byte* scratch = frame.memory ? scratch_of(frame.memory) : nullptr;
  Team team = team_;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    using clock = std::chrono::steady_clock;
    clock::time_point start;
    if (seconds) start = clock::now();
    const Step& step = steps_[s];
    if (guard_) open(frame.memory, kernels_[s].get());
    const Run run{in, out, scratch, &team};
    if (!kernels_[s] || !kernels_[s]->zeroes)
      for (int i : halos_[s]) zero_halo(tensors_[step.out[i]], static_cast<float*>(out[i]), run);
    bool done = true;
    if (step.control) {
      done = step.control->run(run, host);
    } else if (kernels_[s]) {
      try {
        kernels_[s]->run(run);
      } catch (const Refused&) {
        if (!host || kernels_[s]->sure) throw;
        done = false;
      }
    } else {
      done = false;
    }
    if (!done) {
      if (!host && step.control) throw Refused{};
      if (!host) throw std::logic_error("no kernel for " + step.op + ", and nobody else to do it");
      host->run(*this, static_cast<int>(s), in, out);
    }
    if (guard_) look(frame.memory, s);
    in += step.in.size();
    out += step.out.size();
    if (seconds) seconds[s] += std::chrono::duration<double>(clock::now() - start).count();
  }
}

Program::Session::Session(const Program& program, std::byte* memory)
    : program_(program), frame_(std::make_unique<Frame>(program, memory)) {}
Program::Session::~Session() = default;
Program::Session::Session(Session&&) noexcept = default;

void Program::Session::run(const void* const* inputs, void* const* outputs, Host* host) {
  program_.execute(*frame_, inputs, outputs, host, nullptr);
}

}  // namespace gluonnx
