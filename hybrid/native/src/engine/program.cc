#include "program.h"

#include <chrono>
#include <new>
#include <stdexcept>

#include "library.h"
#include "memory.h"
#include "pool.h"

namespace gluonnx {
namespace {

constexpr std::size_t ALIGNMENT = 64;

// Rounded up, because the scratch that follows is aligned.
std::size_t aligned(std::size_t size) { return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

}  // namespace

Program::Program(std::vector<Tensor> tensors, std::vector<Place> places, std::vector<Step> steps, std::size_t arena,
                 int inputs, int outputs, int constants, int threads, bool precise)
    : tensors_(std::move(tensors)),
      places_(std::move(places)),
      steps_(std::move(steps)),
      input_tensors_(inputs, -1),
      output_tensors_(outputs, -1),
      constants_(constants, nullptr),
      arena_(aligned(arena)) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (places_[i].kind == Place::input) input_tensors_.at(places_[i].at) = static_cast<int>(i);
    if (places_[i].kind == Place::output) output_tensors_.at(places_[i].at) = static_cast<int>(i);
    tensors_[i].constant = places_[i].kind == Place::constant;
  }
  for (auto& step : steps_) {
    std::vector<Tensor> in, out;
    for (int t : step.in) in.push_back(tensors_.at(t));
    for (int t : step.out) out.push_back(tensors_.at(t));
    std::unique_ptr<Kernel> kernel;
    if (!step.host) kernel = bind_kernel(step.op, Call{step.attrs, in, out, threads, precise});
    if (kernel) scratch_ = std::max(scratch_, aligned(kernel->scratch));
    step.host = !kernel;
    kernels_.push_back(std::move(kernel));
  }
}

Program::~Program() {
  for (auto* memory : idle_) release(memory, arena_ + scratch_);
}

std::size_t Program::bytes(int tensor) const {
  const Tensor& t = tensors_[tensor];
  if (!t.blocked) return t.size() * size_of(t.dtype);
  return static_cast<std::size_t>(t.shape[0] * t.batch_stride) * size_of(t.dtype);
}

void Program::set_constants(const std::vector<const void*>& values, const std::vector<bool>& changed) {
  if (values.size() != constants_.size() || changed.size() != constants_.size())
    throw std::invalid_argument("wanted as many constants as the program has");
  constants_ = values;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    if (!kernels_[s]) continue;
    bool any = false;
    std::vector<const void*> in;
    for (int t : steps_[s].in) {
      bool constant = places_[t].kind == Place::constant;
      in.push_back(constant ? constants_[places_[t].at] : nullptr);
      any |= constant && changed[places_[t].at];
    }
    if (any) kernels_[s]->prepare(in.data(), &pool());
  }
}

std::byte* Program::take_arena() {
  if (arena_ + scratch_ == 0) return nullptr;
  {
    std::lock_guard<std::mutex> guard(lock_);
    if (!idle_.empty()) {
      auto* memory = idle_.back();
      idle_.pop_back();
      return memory;
    }
  }
  auto* memory = allocate(arena_ + scratch_);
  if (!memory) throw std::bad_alloc();
  return memory;
}

void Program::give_arena(std::byte* memory) {
  if (!memory) return;
  std::lock_guard<std::mutex> guard(lock_);
  idle_.push_back(memory);
}

struct Program::Lease {
  Program& program;
  std::byte* memory;
  explicit Lease(Program& p) : program(p), memory(p.take_arena()) {}
  ~Lease() { program.give_arena(memory); }
};

void Program::zero_halo(const Tensor& t, float* inside) const {
  const std::int64_t row = t.row_stride(), block = t.block_stride();
  const std::int64_t side = t.halo_w * BLOCK, width = t.shape[3] * BLOCK;
  for (std::int64_t n = 0; n < t.shape[0]; ++n)
    for (std::int64_t c = 0; c < t.shape[1]; ++c) {
      float* plane = inside + n * t.batch_stride + c * block - t.halo_h * row - side;
      std::memset(plane, 0, (t.halo_h * row + side) * sizeof(float));
      for (std::int64_t y = 0; y < t.shape[2]; ++y)  // the end of this row and the start of the next
        std::memset(plane + (t.halo_h + y) * row + side + width, 0, (y + 1 < t.shape[2] ? 2 * side : side) * sizeof(float));
      std::memset(plane + (t.halo_h + t.shape[2]) * row, 0, t.halo_h * row * sizeof(float));
    }
}

void Program::run(const void* const* inputs, void* const* outputs, Host* host, double* seconds) {
  Lease lease(*this);
  std::vector<std::byte*> at(tensors_.size());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Place& place = places_[i];
    switch (place.kind) {
      case Place::arena: at[i] = lease.memory + place.at; break;
      case Place::input: at[i] = static_cast<std::byte*>(const_cast<void*>(inputs[place.at])); break;
      case Place::output: at[i] = static_cast<std::byte*>(outputs[place.at]); break;
      case Place::constant: at[i] = static_cast<std::byte*>(const_cast<void*>(constants_[place.at])); break;
    }
    const Tensor& t = tensors_[i];
    if (t.blocked && (t.halo_h || t.halo_w))
      at[i] += (t.halo_h * t.row_stride() + t.halo_w * BLOCK) * static_cast<std::int64_t>(size_of(t.dtype));
  }
  std::vector<const void*> in;
  std::vector<void*> out;
  Run run{nullptr, nullptr, lease.memory ? lease.memory + arena_ : nullptr, &pool()};
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    using clock = std::chrono::steady_clock;
    clock::time_point start;
    if (seconds) start = clock::now();
    in.clear();
    out.clear();
    for (int t : steps_[s].in) in.push_back(at[t]);
    for (int t : steps_[s].out) {
      out.push_back(at[t]);
      const Tensor& tensor = tensors_[t];
      if (tensor.blocked && (tensor.halo_h || tensor.halo_w)) zero_halo(tensor, reinterpret_cast<float*>(at[t]));
    }
    if (kernels_[s]) {
      run.in = in.data();
      run.out = out.data();
      kernels_[s]->run(run);
    } else if (host) {
      host->run(static_cast<int>(s), in.data(), out.data());
    } else {
      throw std::logic_error("no kernel for " + steps_[s].op + ", and nobody else to do it");
    }
    if (seconds) seconds[s] += std::chrono::duration<double>(clock::now() - start).count();
  }
}

}  // namespace gluonnx
