#include "control.h"

#include <algorithm>
#include <stdexcept>

namespace gluonnx {
namespace {

void fits(bool good, const char* what) {
  if (!good) throw std::invalid_argument(std::string("control flow with ") + what);
}

std::size_t bytes_of(const Tensor& t) { return t.size() * size_of(t.dtype); }

// One element as a condition: whatever is not 0 holds, NaN too.
bool truth(DType dtype, const void* value) {
  switch (dtype) {
    case DType::f32: return *static_cast<const float*>(value) != 0.f;
    case DType::f64: return *static_cast<const double*>(value) != 0.;
    case DType::f16:
    case DType::bf16: {
      std::uint16_t bits;
      std::memcpy(&bits, value, sizeof bits);
      return (bits & 0x7fff) != 0;
    }
    default: {
      const auto* bytes = static_cast<const unsigned char*>(value);
      return std::any_of(bytes, bytes + size_of(dtype), [](unsigned char b) { return b != 0; });
    }
  }
}

bool is_count(const Tensor& t) { return t.dtype == DType::i64 || t.dtype == DType::i32; }

std::int64_t count_at(const Tensor& t, const void* values, std::int64_t i = 0) {
  return t.dtype == DType::i64 ? static_cast<const std::int64_t*>(values)[i] : static_cast<const std::int32_t*>(values)[i];
}

// A body in one run of its step.
struct Running {
  Running(const Body& body, std::byte* memory)
      : body(body), session(*body.program, memory), in(body.inputs.size()), out(body.program->output_tensors().size()) {}

  // Where a result is. given: inputs of the step.
  const void* at(const Place& from, const void* const* given) const {
    switch (from.kind) {
      case Place::input: return in[from.at];
      case Place::constant: return given[body.constants[from.at]];
      default: return out[from.at];
    }
  }

  const Body& body;
  Program::Session session;
  std::vector<const void*> in;
  std::vector<void*> out;
};

// What loops and branches have in common: bodies, and how these and the operands of their step fit each other.
class Bodies : public Control {
 public:
  void prepare(const void* const* in, Pool*) override {
    for (Body* body : all_) {
      std::vector<const void*> values;
      std::vector<bool> changed;
      for (int i : body->constants) {
        values.push_back(in[i]);
        changed.push_back(in[i]);
      }
      if (!values.empty()) body->program->set_constants(values, changed, 0);
      body->read = body->program->read_constants();
    }
  }

  bool reads(int input) const override {
    if (std::find(own_.begin(), own_.end(), input) != own_.end()) return true;
    for (const Body* body : all_) {
      for (const Source& source : body->inputs)
        if (source.kind <= Source::slice && source.number == input) return true;
      for (int i = 0; i < static_cast<int>(body->constants.size()); ++i) {
        if (body->constants[i] != input) continue;
        if (i >= static_cast<int>(body->read.size()) || body->read[i]) return true;
        for (const Target& result : body->results)
          if (result.from.kind == Place::constant && result.from.at == i) return true;
      }
    }
    return false;
  }

  bool complete() const override {
    return std::all_of(all_.begin(), all_.end(), [](const Body* body) { return body->program->complete(); });
  }

 protected:
  bool is_in(int i) const { return i >= 0 && static_cast<std::size_t>(i) < in_.size(); }
  bool is_out(int i) const { return i >= 0 && static_cast<std::size_t>(i) < out_.size(); }

  // A part of the scratch.
  std::size_t take(std::size_t bytes) {
    const std::size_t at = scratch;
    scratch += aligned(bytes);
    return at;
  }

  // Adds a body; gives where in the scratch its memory is.
  std::size_t add(Body& body) {
    check_body(body);
    all_.push_back(&body);
    sure &= body.program->sure();
    return take(body.program->memory_bytes());
  }

  std::size_t piece(const Tensor& t) const {
    fits(count_ >= 1, "slices or rows without a count");
    const std::size_t bytes = bytes_of(t), pieces = examples_ * count_;
    fits(bytes % pieces == 0, "pieces of many sizes");
    return bytes / pieces;
  }

  std::size_t bytes_from(const Source& source) const {
    const auto number = static_cast<std::size_t>(source.number);
    if (source.kind <= Source::slice) fits(is_in(source.number), "an input that there is not");
    if (source.kind == Source::state) fits(number < state_bytes_.size(), "a state that there is not");
    switch (source.kind) {
      case Source::whole: return bytes_of(in_[number]);
      case Source::slice: return piece(in_[number]);
      case Source::state: return state_bytes_[number];
      case Source::counter: return sizeof(std::int64_t);
      default: return sizeof(bool);
    }
  }

  std::size_t bytes_to(const Target& target) const {
    const auto number = static_cast<std::size_t>(target.number);
    if (target.kind <= Target::row) fits(is_out(target.number), "an output that there is not");
    if (target.kind == Target::state) fits(number < state_bytes_.size(), "a state that there is not");
    switch (target.kind) {
      case Target::whole: return bytes_of(out_[number]);
      case Target::row: return piece(out_[number]);
      case Target::state: return state_bytes_[number];
      default: return size_of(target.dtype);
    }
  }

  void check_body(const Body& body) {
    const Program& p = *body.program;
    const auto &takes = p.input_tensors(), &gives = p.output_tensors();
    fits(body.inputs.size() == takes.size(), "other sources than a body has inputs");
    for (std::size_t i = 0; i < takes.size(); ++i)
      fits(bytes_from(body.inputs[i]) >= (takes[i] < 0 ? 0 : p.bytes(takes[i])), "an input of a body that is too small");
    fits(body.constants.size() == static_cast<std::size_t>(p.constants()), "other constants than a body has");
    for (int i : body.constants) fits(is_in(i), "a constant that there is not");
    for (int t = 0; t < static_cast<int>(p.tensors().size()); ++t)
      if (p.place(t).kind == Place::constant)
        fits(bytes_of(in_[body.constants[p.place(t).at]]) >= p.bytes(t), "a constant of a body that is too small");
    std::size_t written = 0;
    for (const Target& result : body.results) {
      const std::size_t wanted = bytes_to(result);
      const auto at = static_cast<std::size_t>(result.from.at);
      switch (result.from.kind) {
        case Place::arena:
          fits(at == written++ && at < gives.size() && gives[at] >= 0 && p.bytes(gives[at]) == wanted, "a result of another size");
          break;
        case Place::input: fits(at < takes.size() && bytes_from(body.inputs[at]) >= wanted, "no such input to hand on"); break;
        case Place::output: fits(at < written && p.bytes(gives[at]) >= wanted, "no such result to hand on"); break;
        case Place::constant:
          fits(at < body.constants.size() && bytes_of(in_[body.constants[at]]) >= wanted, "no such constant to hand on");
          break;
      }
    }
    fits(written == gives.size(), "results that go nowhere");
  }

  std::vector<int> own_;  // inputs that are read here, or by the operator's own rule
  Tensors in_, out_;
  std::vector<std::size_t> state_bytes_;
  std::int64_t count_ = -1, examples_ = 1;

 private:
  std::vector<Body*> all_;
};

class Loop : public Bodies {
 public:
  explicit Loop(LoopSpec spec) : s_(std::move(spec)) {
    own_ = s_.kept;
    for (const State& state : s_.states) own_.push_back(state.input);
    for (int i : {s_.limit, s_.begin, s_.lengths}) own_.push_back(i);
    count_ = s_.count;
    examples_ = s_.examples;
  }

  void check(const Tensors& in, const Tensors& out) override {
    in_ = in, out_ = out;
    sure = !s_.some && !s_.exact && s_.budget < 0 && s_.lengths < 0;
    fits(s_.condition.size() <= 1 && s_.examples >= 1, "many conditions, or no example");
    for (const State& state : s_.states) {
      fits(is_in(state.input) && is_out(state.output), "a state that there is not");
      const std::size_t bytes = bytes_of(in[state.input]);
      fits(bytes == bytes_of(out[state.output]) && bytes % s_.examples == 0, "a state that changes its size");
      state_bytes_.push_back(bytes / s_.examples);
      state_at_.push_back(take(state_bytes_.back()));
    }
    for (int i : {s_.limit, s_.begin, s_.lengths}) fits(i == -1 || is_in(i), "an operand that there is not");
    fits(s_.limit < 0 || (is_count(in[s_.limit]) && in[s_.limit].size() == 1), "a limit that is no number");
    fits(s_.begin < 0 || in[s_.begin].size() == 1, "a condition of many elements");
    fits(s_.lengths < 0 || (is_count(in[s_.lengths]) && in[s_.lengths].size() == s_.examples), "other lengths than examples");
    fits(s_.told < 0 || (is_out(s_.told) && out[s_.told].dtype == DType::i64 && out[s_.told].size() == 1), "a count that is no number");
    const Program& body = *s_.body.program;
    body_at_ = add(s_.body);
    if (!s_.condition.empty()) condition_at_ = add(s_.condition[0]);
    for (const Target& result : s_.body.results) fits(result.kind != Target::whole, "a body's result as a whole output");
    for (const Body& c : s_.condition) fits(c.results.size() == 1 && c.results[0].kind == Target::flag, "no condition");
    flag_at_ = take(64);
    counter_at_ = take(sizeof(std::int64_t));
    flops = body.flops() * s_.examples * std::max<std::int64_t>(1, s_.count);
    how = (s_.count < 0 ? "" : std::to_string(s_.examples * s_.count) + " times ") + std::to_string(body.steps().size()) + " steps";
  }

  bool run(const Run& run, Host* host) const override {
    Running body(s_.body, run.scratch + body_at_);
    std::vector<Running> condition;
    if (!s_.condition.empty()) condition.emplace_back(s_.condition[0], run.scratch + condition_at_);
    std::vector<const void*> now(s_.states.size());
    std::vector<void*> next(s_.states.size());
    for (std::int64_t e = 0; e < s_.examples; ++e)
      if (!example(run, host, e, body, condition.empty() ? nullptr : &condition[0], now, next)) return false;
    return true;
  }

 private:
  // Points the body's inputs to what they hold at this time round.
  void arrange(const Run& run, std::int64_t e, std::int64_t t, std::int64_t length, Running& r,
               const std::vector<const void*>& now) const {
    for (std::size_t i = 0; i < r.in.size(); ++i) {
      const Source& source = r.body.inputs[i];
      switch (source.kind) {
        case Source::whole: r.in[i] = run.in[source.number]; break;
        case Source::slice: {
          const std::int64_t at = e * s_.count + (source.backward ? length - 1 - t : t);
          r.in[i] = run.input<std::byte>(source.number) + at * piece(in_[source.number]);
          break;
        }
        case Source::state: r.in[i] = now[source.number]; break;
        case Source::counter: r.in[i] = run.scratch + counter_at_; break;
        case Source::flag: r.in[i] = run.scratch + flag_at_ + FLAG; break;
      }
    }
  }

  // One example, from the first to the last time round.
  bool example(const Run& run, Host* host, std::int64_t e, Running& body, Running* condition, std::vector<const void*>& now,
               std::vector<void*>& next) const {
    std::byte* flags = run.scratch + flag_at_;  // what a result is written to, and what the next time round is told
    std::int64_t most = s_.limit >= 0 ? count_at(in_[s_.limit], run.in[s_.limit]) : s_.count;
    const bool cut = s_.count >= 0 && (s_.limit < 0 || most > s_.count);  // there may be more to do than there is room for
    if (s_.limit >= 0 && s_.count >= 0) most = std::min(most, s_.count);
    const bool bounded = s_.limit >= 0 || s_.count >= 0;
    if (s_.lengths >= 0) {
      most = count_at(in_[s_.lengths], run.in[s_.lengths], e);
      if (most < 0 || most > s_.count) return false;
    }
    auto first = [&](std::size_t s) { return run.output<std::byte>(s_.states[s].output) + e * state_bytes_[s]; };
    for (std::size_t s = 0; s < now.size(); ++s) {
      now[s] = run.input<std::byte>(s_.states[s].input) + e * state_bytes_[s];
      next[s] = first(s);
    }
    bool going = s_.begin < 0 || truth(in_[s_.begin].dtype, run.in[s_.begin]);
    std::int64_t t = 0;
    for (; !bounded || t < most; ++t) {
      std::memcpy(run.scratch + counter_at_, &t, sizeof t);
      if (condition) {
        arrange(run, e, t, most, *condition, now);
        const Target& asked = condition->body.results[0];
        if (!condition->out.empty()) condition->out[0] = flags;
        condition->session.run(condition->in.data(), condition->out.data(), host);
        going = truth(asked.dtype, condition->at(asked.from, run.in));
      }
      if (!going) break;
      if (s_.budget >= 0 && t >= s_.budget) return false;
      flags[FLAG] = std::byte{1};
      arrange(run, e, t, most, body, now);
      for (const Target& result : body.body.results)
        if (result.from.kind == Place::arena) body.out[result.from.at] = to(run, e, t, most, result, next);
      body.session.run(body.in.data(), body.out.data(), host);
      going &= advance(run, e, t, most, body, now, next);
    }
    if (s_.told >= 0) *run.output<std::int64_t>(s_.told) = cut && going && t == s_.count ? -1 : t;
    if ((!t && s_.some) || (t != s_.count && s_.exact)) return false;
    for (std::size_t s = 0; s < now.size(); ++s)
      if (now[s] != first(s)) std::memcpy(first(s), now[s], state_bytes_[s]);
    for (const Target& result : s_.body.results) {  // rows of the times round that there were not
      if (result.kind != Target::row || t == s_.count) continue;
      const std::size_t bytes = piece(out_[result.number]);
      std::memset(run.output<std::byte>(result.number) + (e * s_.count + t) * bytes, 0, (s_.count - t) * bytes);
    }
    return true;
  }

  // Where a result goes at this time round.
  void* to(const Run& run, std::int64_t e, std::int64_t t, std::int64_t length, const Target& result,
           const std::vector<void*>& next) const {
    if (result.kind == Target::flag) return run.scratch + flag_at_;
    if (result.kind == Target::state) return next[result.number];
    const std::int64_t at = e * s_.count + (result.backward ? length - 1 - t : t);
    return run.output<std::byte>(result.number) + at * piece(out_[result.number]);
  }

  // After the body: copies what it only handed on, and gives states their new values. Whether it goes on.
  bool advance(const Run& run, std::int64_t e, std::int64_t t, std::int64_t length, const Running& body,
               std::vector<const void*>& now, std::vector<void*>& next) const {
    bool going = true;
    auto lasting = [&](const Target& result) {  // what stays where it is while the loop goes on
      const Place& from = result.from;
      if (from.kind == Place::constant) return true;
      if (from.kind == Place::input) {
        const Source& source = body.body.inputs[from.at];
        return source.kind <= Source::slice || (source.kind == Source::state && source.number == result.number);
      }
      for (const Target& other : body.body.results)
        if (other.from.kind == Place::arena && other.from.at == from.at) return other.kind == Target::row;
      return false;
    };
    for (const Target& result : body.body.results) {
      const bool written = result.from.kind == Place::arena;
      const void* from = written ? body.out[result.from.at] : body.at(result.from, run.in);
      if (result.kind == Target::flag) {
        going = truth(result.dtype, from);
      } else if (!written && !(result.kind == Target::state && lasting(result))) {
        std::memcpy(to(run, e, t, length, result, next), from, bytes_to(result));
      }
    }
    for (const Target& result : body.body.results) {
      if (result.kind != Target::state) continue;
      const int s = result.number;
      if (result.from.kind != Place::arena && lasting(result)) {
        now[s] = body.at(result.from, run.in);
        continue;
      }
      now[s] = next[s];
      std::byte* own = run.output<std::byte>(s_.states[s].output) + e * state_bytes_[s];
      next[s] = now[s] == own ? run.scratch + state_at_[s] : own;
    }
    return going;
  }

  static constexpr std::size_t FLAG = 32;  // behind what a condition is written to

  LoopSpec s_;
  std::vector<std::size_t> state_at_;
  std::size_t body_at_ = 0, condition_at_ = 0, flag_at_ = 0, counter_at_ = 0;
};

class Branch : public Bodies {
 public:
  explicit Branch(BranchSpec spec) : s_(std::move(spec)) {
    own_ = s_.kept;
    own_.push_back(s_.chosen);
  }

  void check(const Tensors& in, const Tensors& out) override {
    in_ = in, out_ = out;
    fits(s_.condition.size() == (s_.chosen < 0), "not one condition");
    fits(s_.chosen < 0 || (is_in(s_.chosen) && in[s_.chosen].size() == 1), "a condition of many elements");
    for (Body& c : s_.condition) {
      condition_at_ = add(c);
      fits(c.results.size() == 1 && c.results[0].kind == Target::flag, "no condition");
    }
    for (int i = 0; i < 2; ++i) {
      at_[i] = add(s_.bodies[i]);
      for (const Target& result : s_.bodies[i].results) fits(result.kind == Target::whole, "a branch's result as something else");
      flops = std::max(flops, s_.bodies[i].program->flops());
    }
    flag_at_ = take(64);
    how = std::to_string(s_.bodies[0].program->steps().size()) + " or " + std::to_string(s_.bodies[1].program->steps().size()) + " steps";
  }

  bool run(const Run& run, Host* host) const override {
    bool holds;
    if (s_.chosen >= 0) {
      holds = truth(in_[s_.chosen].dtype, run.in[s_.chosen]);
    } else {
      Running asked(s_.condition[0], run.scratch + condition_at_);
      go(run, asked, host, run.scratch + flag_at_);
      const Target& result = asked.body.results[0];
      holds = truth(result.dtype, asked.at(result.from, run.in));
    }
    Running body(s_.bodies[!holds], run.scratch + at_[!holds]);
    go(run, body, host, nullptr);
    for (const Target& result : body.body.results)
      if (result.from.kind != Place::arena)
        std::memcpy(run.out[result.number], body.at(result.from, run.in), bytes_to(result));
    return true;
  }

 private:
  void go(const Run& run, Running& body, Host* host, void* flag) const {
    for (std::size_t i = 0; i < body.in.size(); ++i) body.in[i] = run.in[body.body.inputs[i].number];
    for (const Target& result : body.body.results)
      if (result.from.kind == Place::arena) body.out[result.from.at] = flag ? flag : run.out[result.number];
    body.session.run(body.in.data(), body.out.data(), host);
  }

  BranchSpec s_;
  std::size_t condition_at_ = 0, at_[2] = {}, flag_at_ = 0;
};

}  // namespace

std::shared_ptr<Control> make_loop(LoopSpec spec) { return std::make_shared<Loop>(std::move(spec)); }
std::shared_ptr<Control> make_branch(BranchSpec spec) { return std::make_shared<Branch>(std::move(spec)); }

}  // namespace gluonnx
