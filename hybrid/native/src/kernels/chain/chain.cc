// _fused_chain: element-wise operators one after the other over pieces that stay in the first cache.
//
// The output may be the memory of one input that has the output's shape, halo and strides: every element is read before the
// element of the same place is written, and what is written is read by nobody else.
#include <algorithm>
#include <cstring>

#include "../../base/kernel.h"
#include "code.h"
#include "walk.h"

namespace gluonnx {
namespace chain {
namespace {

constexpr std::int64_t TILE = 1024;  // elements of a piece
constexpr std::int64_t SHORT = 256;  // rows shorter than this are taken several at a time
constexpr int MOST_VALUES = 96;
constexpr double WORTH = 20e3;  // nanoseconds of work that another thread is worth waking for

template <class T>
class Chain : public Kernel {
 public:
  static std::unique_ptr<Kernel> make(const Call& call) {
    auto code = parse<T>(call.attrs.text("code"), static_cast<int>(call.in.size()));
    if (!code || static_cast<int>(code->values.size()) > MOST_VALUES || call.out[0].rank() > Rows::MOST) return nullptr;
    for (const Tensor& t : call.in) {
      want(t.rank() <= call.out[0].rank());
      for (int i = 1; i <= t.rank(); ++i) {
        const std::int64_t have = t.shape[t.rank() - i];
        want(have == 1 || have == call.out[0].shape[call.out[0].rank() - i]);
      }
    }
    auto kernel = std::make_unique<Chain>();
    kernel->code_ = std::move(*code);
    kernel->plan(call);
    return kernel;
  }

  void run(const Run& run) const override {
    if (segments_ == 0 || segment_ == 0) return;
    run.ranges(segments_ * tiles_, grain_, [&](std::int64_t begin, std::int64_t end, int thread) {
      tiles(run, begin, end, reinterpret_cast<T*>(run.scratch + thread * scratch_each_));
    });
  }

 private:
  // How a value is found while a tile is computed.
  struct Slot {
    bool single = false;       // one number stands for all elements
    bool steady = false;       // the same for all tiles of a segment
    bool copied = false;       // an input that is not dense in a segment: brought into the buffer
    std::int64_t buffer = -1;  // offset in scratch, elements
  };
  struct BoundLoop {
    Loop<T> loop;
    int operands[3];
    int result;
    bool single;
  };

  void plan(const Call& call) {
    Ints shape = call.out[0].shape;
    std::vector<Ints> strides{strides_of(call.out[0], shape)};
    for (const auto& t : call.in) strides.push_back(strides_of(t, shape));
    collapse(shape, strides);

    // the fewest axes at the end that make a segment worth a tile
    std::size_t cut = shape.size();
    segment_ = 1;
    while (cut > 0 && segment_ < SHORT) segment_ *= shape[--cut];
    Ints inner(shape.begin() + cut, shape.end());
    outer_.assign(shape.begin(), shape.begin() + cut);
    segments_ = 1;
    for (auto d : outer_) segments_ *= d;
    for (const auto& s : strides) {
      rows_.emplace_back(inner, Ints(s.begin() + cut, s.end()));
      outer_strides_.emplace_back(s.begin(), s.begin() + cut);
    }
    std::int64_t whole = 1;  // tiles end where as many axes as fit into one do
    for (std::size_t i = inner.size(); i-- > 0 && whole * inner[i] <= TILE;) whole *= inner[i];
    tile_ = segment_ <= TILE ? segment_ : TILE / std::max<std::int64_t>(whole, 1) * whole;
    tiles_ = segment_ ? (segment_ + tile_ - 1) / tile_ : 0;

    settle_values();
    double cost = 0.15;  // of reading and writing, nanoseconds per element
    for (const auto& i : code_.instructions) cost += i.word->cost;
    grain_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(WORTH / (cost * std::max<std::int64_t>(tile_, 1))));
    scratch = scratch_each_ * call.threads;
    flops = static_cast<double>(call.out[0].size()) * code_.words;
    for (const auto& i : code_.instructions) how.append(how.empty() ? "" : " ").append(i.word->name);
  }

  void settle_values() {
    slots_.resize(code_.values.size());
    const int result = code_.instructions.back().result;
    std::int64_t used = 0;
    auto buffer = [&](std::int64_t size) {
      std::int64_t at = used;
      used += (size + 15) / 16 * 16;
      return at;
    };
    for (std::size_t v = 0; v < slots_.size(); ++v) {
      const auto& value = code_.values[v];
      Slot& slot = slots_[v];
      if (value.kind == Value<T>::number) slot = {true, true};
      if (value.kind != Value<T>::input) continue;
      const Rows& rows = rows_[1 + value.input_index];
      if (rows.single()) slot = {true, true};
      else if (!rows.dense()) {
        auto period = rows.period();
        slot = {false, period > 0 && tile_ % period == 0, true, buffer(tile_)};
      }
      inputs_.push_back(static_cast<int>(v));
    }
    scattered_ = !rows_[0].dense();
    // Buffers that no later instruction reads. A result may take its operand's: elements are read before they are written.
    std::vector<std::int64_t> free;
    for (std::size_t i = 0; i < code_.instructions.size(); ++i) {
      const auto& instruction = code_.instructions[i];
      const int arity = instruction.word->arity;
      Slot& slot = slots_[instruction.result];
      bool last = instruction.result == result;
      slot = {!last, !last};
      int singles = 0;
      for (int o = 0; o < arity; ++o) {
        const Slot& operand = slots_[instruction.operands[o]];
        slot.single &= operand.single;
        slot.steady &= operand.steady;
        singles |= operand.single << o;
      }
      BoundLoop bound{instruction.word->loops[singles], {0, 0, 0}, instruction.result, slot.single};
      for (int o = 0; o < 3; ++o) bound.operands[o] = instruction.operands[std::min(o, arity - 1)];
      for (int o = 0; o < arity; ++o) {
        int operand = instruction.operands[o];
        const Slot& s = slots_[operand];
        bool again = code_.values[operand].kind != Value<T>::result || s.steady;
        for (std::size_t later = i + 1; later < code_.instructions.size() && !again; ++later) {
          const auto& other = code_.instructions[later];
          again = std::count(other.operands, other.operands + other.word->arity, operand) > 0;
        }
        if (!again && std::find(free.begin(), free.end(), s.buffer) == free.end()) free.push_back(s.buffer);
      }
      if (slot.steady) slot.buffer = buffer(slot.single ? 1 : tile_);
      else if (!last || scattered_) {
        if (free.empty()) free.push_back(buffer(tile_));
        slot.buffer = free.back();
        free.pop_back();
      }
      (slot.steady ? steady_steps_ : steps_).push_back(bound);
    }
    scratch_each_ = (used * sizeof(T) + 63) / 64 * 64;
  }

  void tiles(const Run& run, std::int64_t begin, std::int64_t end, T* scratch) const {
    const T* at[MOST_VALUES];    // by value; of inputs, where the segment begins
    const T* from[MOST_VALUES];  // by value, for this tile
    for (std::size_t v = 0; v < slots_.size(); ++v) {
      const bool held = slots_[v].buffer >= 0;  // in scratch memory, which there may be none of
      from[v] = code_.values[v].kind == Value<T>::number ? &code_.values[v].constant : held ? scratch + slots_[v].buffer : nullptr;
    }
    T* out = nullptr;
    std::int64_t segment = -1;
    const int result = steps_.back().result;
    for (std::int64_t number = begin; number < end; ++number) {
      if (number / tiles_ != segment) {
        bool first = segment < 0;
        segment = number / tiles_;
        out = run.output<T>() + offset(0, segment);
        enter(run, segment, first, at, from);
      }
      std::int64_t start = number % tiles_ * tile_, n = std::min(tile_, segment_ - start);
      for (int v : inputs_) {
        const Slot& slot = slots_[v];
        if (slot.steady) continue;
        if (!slot.copied) from[v] = at[v] + start;
        else bring(const_cast<T*>(from[v]), at[v], rows_[1 + code_.values[v].input_index], start, n);
      }
      if (!scattered_) from[result] = out + start;
      for (const BoundLoop& s : steps_)
        s.loop(const_cast<T*>(from[s.result]), from[s.operands[0]], from[s.operands[1]], from[s.operands[2]], n);
      if (scattered_) {
        const T* source = from[result];
        rows_[0].each(start, n, [&](std::int64_t to, std::int64_t, std::int64_t count) {
          std::memcpy(out + to, source, count * sizeof(T));
          source += count;
        });
      }
    }
  }

  // Finds a segment's operands, and computes what its tiles share, unless it is what the segment before had.
  void enter(const Run& run, std::int64_t segment, bool first, const T** at, const T** from) const {
    bool changed = first;
    for (int v : inputs_) {
      const Slot& slot = slots_[v];
      int input = code_.values[v].input_index;
      const T* p = run.input<T>(input) + offset(1 + input, segment);
      if (!first && p == at[v]) continue;
      at[v] = p;
      if (!slot.steady) continue;
      changed = true;
      if (slot.copied) bring(const_cast<T*>(from[v]), p, rows_[1 + input], 0, tile_);
      else from[v] = p;
    }
    if (!changed) return;
    for (const BoundLoop& s : steady_steps_)
      s.loop(const_cast<T*>(from[s.result]), from[s.operands[0]], from[s.operands[1]], from[s.operands[2]],
             s.single ? 1 : tile_);
  }

  static void bring(T* to, const T* base, const Rows& rows, std::int64_t start, std::int64_t n) {
    rows.each(start, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
      const T* p = base + offset;
      if (step == 1) std::memcpy(to, p, count * sizeof(T));
      else if (step == 0) std::fill(to, to + count, *p);
      else
        for (std::int64_t i = 0; i < count; ++i) to[i] = p[i * step];
      to += count;
    });
  }

  std::int64_t offset(int operand, std::int64_t segment) const {
    std::int64_t sum = 0;
    for (std::size_t i = outer_.size(); i-- > 0;) {
      sum += segment % outer_[i] * outer_strides_[operand][i];
      segment /= outer_[i];
    }
    return sum;
  }

  Code<T> code_;
  Ints outer_;                       // axes before the segment's
  std::vector<Ints> outer_strides_;  // of the output, then of the inputs
  std::vector<Rows> rows_;           // within a segment, in the same order
  std::int64_t segment_ = 0, segments_ = 0, tile_ = 0, tiles_ = 0, grain_ = 1;
  std::vector<Slot> slots_;  // by value
  std::vector<int> inputs_;  // values that are inputs
  std::vector<BoundLoop> steady_steps_, steps_;
  std::size_t scratch_each_ = 0;
  bool scattered_ = false;  // the output is not dense in a segment
};

}  // namespace
}  // namespace chain

std::unique_ptr<Kernel> bind_chain(const Call& call) {
  for (const auto& t : call.in)
    if (t.dtype != call.out[0].dtype) return nullptr;
  switch (call.out[0].dtype) {
    case DType::f32:
      return chain::Chain<float>::make(call);
    case DType::f64:
      return chain::Chain<double>::make(call);
    case DType::i32:
      return chain::Chain<std::int32_t>::make(call);
    case DType::i64:
      return chain::Chain<std::int64_t>::make(call);
    default:
      return nullptr;
  }
}

}  // namespace gluonnx
