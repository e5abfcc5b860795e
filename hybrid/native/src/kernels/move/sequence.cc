// Batches of sequences of different lengths: SequenceMask, SequenceLast, SequenceReverse, and the gradients of these; ONNX's
// ReverseSequence, which refuses lengths that are none.
#include "constant.h"
#include "index.h"
#include "parts.h"

#include <algorithm>

namespace gluonnx {
namespace {

enum class Task { mask, reverse, last, last_back };

// Data (steps, batch, row), or (batch, steps, row).
class Sequences : public Kernel {
 public:
  // data: the shape of the data; lengths: which input they are, -1 for none; value: what mask puts behind the end; strict: lengths
  // that are none are refused
  Sequences(const Call& call, Task task, const Tensor& data, int lengths, int axis, std::vector<std::byte> value,
            bool strict = false)
      : task_(task),
        lengths_(lengths),
        batch_first_(axis == 1),
        steps_(data.shape[axis]),
        batch_(data.shape[1 - axis]),
        row_(product(data.shape, 2, data.shape.size()) * static_cast<std::int64_t>(size_of(data.dtype))),
        value_(std::move(value)),
        positions_(lengths < 0 ? DType::i64 : call.in[lengths].dtype) {
    const Tensor &from = call.in[0], &to = call.out[0];
    const std::int64_t all = data.size(), one = steps_ ? all / steps_ : 0;
    want(from.dtype == data.dtype && to.dtype == data.dtype);
    want_size(from, task == Task::last_back ? one : all);
    want_size(to, task == Task::last ? one : all);
    if (lengths >= 0) want_size(call.in[lengths], batch_);
    how = "rows";
    sure = !strict;
    scratch = static_cast<std::size_t>(batch_) * sizeof(std::int64_t);
  }

  void run(const Run& run) const override {
    auto* ends = reinterpret_cast<std::int64_t*>(run.scratch);
    if (lengths_ < 0) std::fill(ends, ends + batch_, steps_);
    else positions_.read(run.in[lengths_], 0, batch_, ends);
    if (!sure) want_value(std::all_of(ends, ends + batch_, [&](std::int64_t end) { return end >= 0 && end <= steps_; }));
    if (task_ == Task::last) {
      run.ranges(batch_, grain_of(row_), [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t b = begin; b < end; ++b) move(run, at(last(ends[b]), b), b * row_);
      });
      return;
    }
    run.ranges(steps_ * batch_, grain_of(row_), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t s = batch_first_ ? i % steps_ : i / batch_, b = batch_first_ ? i / steps_ : i % batch_;
        if (task_ == Task::mask) {
          if (s < ends[b]) move(run, i * row_, i * row_);
          else fill(run.output<std::byte>() + i * row_);
        } else if (task_ == Task::reverse) {
          const std::int64_t end = std::clamp<std::int64_t>(ends[b], 0, steps_);
          move(run, at(s < end ? end - 1 - s : s, b), i * row_);
        } else {
          if (s == last(ends[b])) move(run, b * row_, i * row_);
          else fill(run.output<std::byte>() + i * row_);
        }
      }
    });
  }

 private:
  std::int64_t at(std::int64_t s, std::int64_t b) const { return (batch_first_ ? b * steps_ + s : s * batch_ + b) * row_; }
  std::int64_t last(std::int64_t end) const {  // the least number wraps round, as NumPy has it
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(static_cast<std::uint64_t>(end) - 1), 0, steps_ - 1);
  }
  void move(const Run& run, std::int64_t from, std::int64_t to) const {
    std::memcpy(run.output<std::byte>() + to, run.input<std::byte>(0) + from, static_cast<std::size_t>(row_));
  }
  void fill(std::byte* to) const {
    if (value_.empty()) return static_cast<void>(std::memset(to, 0, static_cast<std::size_t>(row_)));
    for (std::int64_t i = 0; i < row_; i += static_cast<std::int64_t>(value_.size()))
      std::memcpy(to + i, value_.data(), value_.size());
  }

  Task task_;
  int lengths_;
  bool batch_first_;
  std::int64_t steps_, batch_, row_;
  std::vector<std::byte> value_;  // empty for zeros
  Positions positions_;
};

std::unique_ptr<Kernel> sequences(const Call& call, Task task, bool back) {
  const Attrs& attrs = call.attrs;
  const Tensor& data = call.in[back ? 1 : 0];
  const int lengths = attrs.flag("use_sequence_length") ? (back ? 2 : 1) : -1;
  const int axis = static_cast<int>(axis_in(attrs.integer("axis"), 2));
  want(data.rank() >= 2);
  const double value = task == Task::mask && !back ? attrs.real("value") : 0;
  attrs.ignore("value");
  if (back && (attrs.integer("of") != 0 || call.in[0].dtype != call.out[0].dtype)) return nullptr;
  if (lengths >= 0 && !Positions::can(call.in[lengths].dtype)) return nullptr;
  if ((task == Task::last || task == Task::last_back) && data.shape[axis] == 0) return nullptr;
  std::vector<std::byte> bytes;
  if (value != 0 || std::signbit(value)) {
    const auto bits = bits_of(value, data.dtype);
    if (!bits) return nullptr;
    bytes.resize(size_of(data.dtype));
    std::memcpy(bytes.data(), &*bits, bytes.size());
  }
  return std::make_unique<Sequences>(call, task, data, lengths, axis, std::move(bytes));
}

}  // namespace

std::unique_ptr<Kernel> bind_sequence_mask(const Call& call) { return sequences(call, Task::mask, false); }
std::unique_ptr<Kernel> bind_sequence_mask_back(const Call& call) { return sequences(call, Task::mask, true); }
std::unique_ptr<Kernel> bind_sequence_reverse(const Call& call) { return sequences(call, Task::reverse, false); }
std::unique_ptr<Kernel> bind_sequence_reverse_back(const Call& call) { return sequences(call, Task::reverse, true); }
std::unique_ptr<Kernel> bind_reverse_sequence(const Call& call) {
  call.attrs.ignore("given");
  const std::int64_t axis = call.attrs.integer("time_axis");
  want((axis == 0 || axis == 1) && call.attrs.integer("batch_axis") == 1 - axis && call.in[0].rank() >= 2);
  want(Positions::can(call.in[1].dtype));
  return std::make_unique<Sequences>(call, Task::reverse, call.in[0], 1, static_cast<int>(axis), std::vector<std::byte>{}, true);
}
std::unique_ptr<Kernel> bind_sequence_last(const Call& call) { return sequences(call, Task::last, false); }
std::unique_ptr<Kernel> bind_sequence_last_back(const Call& call) { return sequences(call, Task::last_back, true); }

}  // namespace gluonnx
