// _fused_chain: element-wise operators one after the other over pieces that stay in the first cache, in any dtypes: numbers are
// computed in what the machine has (words.h), and halves become that where they are read and halves again where they are stored.
//
// The output may be the memory of one input that has the output's shape, halo and strides: every element is read before the
// element of the same place is written, and what is written is read by nobody else.
#include <algorithm>
#include <cstring>

#include "../../base/half.h"
#include "../../base/kernel.h"
#include "code.h"
#include "walk.h"

namespace gluonnx {
namespace chain {
namespace {

constexpr std::int64_t TILE = 1024;  // elements of a piece
constexpr std::int64_t SHORT = 256;  // rows shorter than this are taken several at a time
constexpr int MOST_VALUES = 192;
constexpr double WORTH = 20e3;  // nanoseconds of work that another thread is worth waking for

// The numbers of rows [start, start + n) one after the other, halves as float32.
using Bring = void (*)(std::byte* to, const std::byte* from, const Rows& rows, std::int64_t start, std::int64_t n);
template <class T>
void bring(std::byte* out, const std::byte* in, const Rows& rows, std::int64_t start, std::int64_t n) {
  T* to = reinterpret_cast<T*>(out);
  const T* from = reinterpret_cast<const T*>(in);
  rows.each(start, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
    const T* p = from + offset;
    if (step == 1) std::memcpy(to, p, count * sizeof(T));
    else if (step == 0) std::fill(to, to + count, *p);
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = p[i * step];
    to += count;
  });
}
template <DType TYPE>
void bring_halves(std::byte* out, const std::byte* in, const Rows& rows, std::int64_t start, std::int64_t n) {
  float* to = reinterpret_cast<float*>(out);
  const auto* from = reinterpret_cast<const std::uint16_t*>(in);
  const auto value = TYPE == DType::f16 ? float16_value : bfloat16_value;
  rows.each(start, n, [&](std::int64_t offset, std::int64_t step, std::int64_t count) {
    const std::uint16_t* p = from + offset;
    if (step == 1) widen_halves(TYPE, to, p, count);
    else if (step == 0) std::fill(to, to + count, value(*p));
    else
      for (std::int64_t i = 0; i < count; ++i) to[i] = value(p[i * step]);
    to += count;
  });
}
Bring bring_of(DType type) {
  if (type == DType::f16) return bring_halves<DType::f16>;
  if (type == DType::bf16) return bring_halves<DType::bf16>;
  switch (size_of(type)) {
    case 1:
      return bring<std::uint8_t>;
    case 4:
      return bring<std::uint32_t>;
    default:
      return bring<std::uint64_t>;
  }
}

class Chain : public Kernel {
 public:
  static std::unique_ptr<Kernel> make(const Call& call) {
    std::vector<DType> dtypes;
    for (const Tensor& t : call.in) {
      want(computed_in(t.dtype) <= DType::i64 && (!t.blocked || t.dtype == DType::f32));
      dtypes.push_back(t.dtype);
    }
    auto code = parse(call.attrs.text("code"), dtypes);
    if (!code || static_cast<int>(code->values.size()) > MOST_VALUES || call.out[0].rank() > Rows::MOST) return nullptr;
    want(code->dtype == call.out[0].dtype && (!call.out[0].blocked || code->dtype == DType::f32));
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
      tiles(run, begin, end, run.scratch + thread * scratch_each_);
    });
  }

 private:
  // How a value is found while a tile is computed.
  struct Slot {
    bool single = false;       // one number stands for all elements
    bool steady = false;       // the same for all tiles of a segment
    bool copied = false;       // an input that is not dense in a segment, or of halves: brought into the buffer
    std::int64_t buffer = -1;  // offset in scratch, bytes
    Bring bring = nullptr;     // of an input that is copied
    std::int64_t period = 0;   // elements after which an input begins anew; 0 when it does not, or is not copied
  };
  struct BoundLoop {
    Loop loop;
    Registers instruction;
    int operands[3];
    int singles;
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
    for (const auto& t : call.in) sizes_.push_back(static_cast<std::int64_t>(size_of(t.dtype)));
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
    std::int64_t used = 0, unit = 1;  // bytes of the largest numbers, so that any buffer will do for any of them
    for (const auto& v : code_.values) unit = std::max(unit, bytes_of(v.dtype));
    auto buffer = [&](std::int64_t size) {
      std::int64_t at = used;
      used += aligned(size * unit);
      return at;
    };
    for (std::size_t v = 0; v < slots_.size(); ++v) {
      const auto& value = code_.values[v];
      Slot& slot = slots_[v];
      if (value.kind == Value::number) slot = {true, true};
      if (value.kind != Value::input) continue;
      const Rows& rows = rows_[1 + value.input_index];
      const bool half = is_half(value.dtype);
      if (rows.single()) slot = {true, true, half, half ? buffer(1) : -1};
      else if (!rows.dense() || half) {
        auto period = rows.period();
        slot = {false, period > 0 && tile_ % period == 0, true, buffer(tile_)};
        slot.period = period;
      }
      slot.bring = bring_of(value.dtype);
      inputs_.push_back(static_cast<int>(v));
    }
    stored_ = !rows_[0].dense() || is_half(code_.dtype);
    // Buffers that no later instruction reads. A result may take its operand's if its elements have that size: they are read
    // before they are written.
    std::vector<std::int64_t> free, later_free;
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
      BoundLoop bound{instruction.word->loop, instruction.word->instruction, {0, 0, 0}, singles, instruction.result, slot.single};
      for (int o = 0; o < 3; ++o) bound.operands[o] = instruction.operands[std::min(o, arity - 1)];
      for (int o = 0; o < arity; ++o) {
        int operand = instruction.operands[o];
        const Slot& s = slots_[operand];
        bool again = code_.values[operand].kind != Value::result || s.steady;
        for (std::size_t later = i + 1; later < code_.instructions.size() && !again; ++later) {
          const auto& other = code_.instructions[later];
          again = std::count(other.operands, other.operands + other.word->arity, operand) > 0;
        }
        const bool alike = bytes_of(code_.values[operand].dtype) == bytes_of(code_.values[instruction.result].dtype);
        auto& freed = alike ? free : later_free;
        if (!again && std::find(freed.begin(), freed.end(), s.buffer) == freed.end()) freed.push_back(s.buffer);
      }
      if (slot.steady) slot.buffer = buffer(slot.single ? 1 : tile_);
      else if (!last || stored_) {
        if (free.empty()) free.push_back(buffer(tile_));
        slot.buffer = free.back();
        free.pop_back();
      }
      free.insert(free.end(), later_free.begin(), later_free.end());
      later_free.clear();
      (slot.steady ? steady_steps_ : steps_).push_back(bound);
    }
    scratch_each_ = used;
  }

  void tiles(const Run& run, std::int64_t begin, std::int64_t end, std::byte* scratch) const {
    const std::byte* at[MOST_VALUES];    // by value; of inputs, where the segment begins
    const std::byte* from[MOST_VALUES];  // by value, for this tile
    for (std::size_t v = 0; v < slots_.size(); ++v) {
      const bool held = slots_[v].buffer >= 0;  // in scratch memory, which there may be none of
      from[v] = code_.values[v].kind == Value::number ? code_.values[v].constant : held ? scratch + slots_[v].buffer : nullptr;
    }
    std::byte* out = nullptr;
    std::int64_t segment = -1;
    const int result = steps_.back().result;
    const auto size = static_cast<std::int64_t>(size_of(code_.dtype));
    for (std::int64_t number = begin; number < end; ++number) {
      if (number / tiles_ != segment) {
        bool first = segment < 0;
        segment = number / tiles_;
        out = run.output<std::byte>() + offset(0, segment) * size;
        enter(run, segment, first, at, from);
      }
      std::int64_t start = number % tiles_ * tile_, n = std::min(tile_, segment_ - start);
      for (int v : inputs_) {
        const Slot& slot = slots_[v];
        const int input = code_.values[v].input_index;
        if (slot.steady) continue;
        if (!slot.copied) from[v] = at[v] + start * sizes_[input];
        else slot.bring(const_cast<std::byte*>(from[v]), at[v], rows_[1 + input], start, n);
      }
      if (!stored_) from[result] = out + start * size;
      for (const BoundLoop& s : steps_)
        s.loop(s.instruction, const_cast<std::byte*>(from[s.result]), from[s.operands[0]], from[s.operands[1]], from[s.operands[2]],
               s.singles, n);
      if (stored_) store(out, from[result], start, n);
    }
  }

  void store(std::byte* out, const std::byte* source, std::int64_t start, std::int64_t n) const {
    if (is_half(code_.dtype)) {
      auto* to = reinterpret_cast<std::uint16_t*>(out);
      const auto* values = reinterpret_cast<const float*>(source);
      return rows_[0].each(start, n, [&](std::int64_t at, std::int64_t, std::int64_t count) {
        narrow_halves(code_.dtype, to + at, values, count);
        values += count;
      });
    }
    const auto size = static_cast<std::int64_t>(size_of(code_.dtype));
    rows_[0].each(start, n, [&](std::int64_t at, std::int64_t, std::int64_t count) {
      std::memcpy(out + at * size, source, count * size);
      source += count * size;
    });
  }

  // Finds a segment's operands, and computes what its tiles share, unless it is what the segment before had.
  void enter(const Run& run, std::int64_t segment, bool first, const std::byte** at, const std::byte** from) const {
    bool changed = first;
    for (int v : inputs_) {
      const Slot& slot = slots_[v];
      int input = code_.values[v].input_index;
      const std::byte* p = run.input<std::byte>(input) + offset(1 + input, segment) * sizes_[input];
      if (!first && p == at[v]) continue;
      at[v] = p;
      if (!slot.steady) continue;
      changed = true;
      if (slot.copied) bring_steady(slot, const_cast<std::byte*>(from[v]), p, rows_[1 + input], bytes_of(code_.values[v].dtype));
      else from[v] = p;
    }
    if (!changed) return;
    for (const BoundLoop& s : steady_steps_)
      s.loop(s.instruction, const_cast<std::byte*>(from[s.result]), from[s.operands[0]], from[s.operands[1]], from[s.operands[2]],
             s.singles, s.single ? 1 : tile_);
  }

  // Once what comes again and again in a tile, which is then copied as a whole, twice as much each time.
  void bring_steady(const Slot& slot, std::byte* to, const std::byte* p, const Rows& rows, std::int64_t size) const {
    const std::int64_t all = slot.single ? 1 : tile_, own = slot.period ? std::min(slot.period, all) : all;
    slot.bring(to, p, rows, 0, own);
    for (std::int64_t there = own; there < all; there *= 2)
      std::memcpy(to + there * size, to, std::min(there, all - there) * size);
  }

  static std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(computed_in(dtype))); }

  std::int64_t offset(int operand, std::int64_t segment) const {
    std::int64_t sum = 0;
    for (std::size_t i = outer_.size(); i-- > 0;) {
      sum += segment % outer_[i] * outer_strides_[operand][i];
      segment /= outer_[i];
    }
    return sum;
  }

  Code code_;
  Ints outer_;                       // axes before the segment's
  std::vector<Ints> outer_strides_;  // of the output, then of the inputs
  std::vector<Rows> rows_;           // within a segment, in the same order
  std::int64_t segment_ = 0, segments_ = 0, tile_ = 0, tiles_ = 0, grain_ = 1;
  std::vector<Slot> slots_;  // by value
  std::vector<int> inputs_;  // values that are inputs
  std::vector<std::int64_t> sizes_;  // of their elements, by input
  std::vector<BoundLoop> steady_steps_, steps_;
  std::size_t scratch_each_ = 0;
  bool stored_ = false;  // the output is not dense in a segment, or of halves: from a buffer
};

}  // namespace
}  // namespace chain

std::unique_ptr<Kernel> bind_chain(const Call& call) { return chain::Chain::make(call); }

}  // namespace gluonnx
