// RNN: layers of plain, LSTM or GRU cells, in one or both directions. What all steps share is one product; what depends on
// the state is done step by step.
//
// Columns of the packed weights are ordered by groups of units, in a group by gate: so a thread that has a few groups has all
// that it needs of their gates, and computes their new state at once. A step is handed over once.
#include <cstring>

#include "../../base/kept.h"
#include "../gemm/pack.h"
#include "layers.h"

namespace gluonnx {
namespace rnn {
namespace {

using gemm::Floats;

constexpr Index CACHED = 1 << 21;  // floats of weights that are still in the last cache when the next step comes

// Packed weights of a layer in one direction.
struct Weights {
  float *input, *recurrent, *bias, *fresh_bias;
};

// How columns are ordered.
struct Columns : Geometry {
  // units of a group: its columns fill panels
  Index group() const { return 16 * gates() % gemm::WIDTH ? gemm::WIDTH : 16; }
  Index groups() const { return divided_up(size, group()); }
  Index group_columns() const { return group() * gates(); }
  Index columns() const { return groups() * group_columns(); }
  Index padded() const { return groups() * group(); }
};

// The weights of one place, in packed order.
void pack(const Columns& g, const Place& place, const float* parameters, const Weights& to, Pool* pool) {
  const Index columns = g.columns(), group = g.group(), size = g.size;
  // where the rows of 16 columns are among the rows of the parameters, and how many there are
  auto source = [&](Index column, Index* count) {
    const Index unit = column / g.group_columns() * group + column % group;
    *count = std::clamp<Index>(size - unit, 0, 16);
    return column % g.group_columns() / group * size + unit;
  };
  auto matrix = [&](Index at, Index k, float* packed, Index column) {
    const gemm::Operand weights{parameters + at, k, true};
    Index count, row = source(column, &count);
    gemm::each_slice(k, [&](Index k0, Index depth) {
      float* panel = packed + k0 * columns + column / gemm::WIDTH * gemm::WIDTH * depth;
      gemm::pack_panel(weights, k0, depth, row, count, 16, panel + column % gemm::WIDTH, gemm::WIDTH);
    });
  };
  const bool gru = g.mode == Mode::gru;
  Run run{nullptr, nullptr, nullptr, pool};
  run.ranges(columns / 16, 1 + (1 << 16) / (16 * (place.features + size)), [&](Index begin, Index end, int) {
    for (Index column = 16 * begin; column < 16 * end; column += 16) {
      matrix(place.i2h, place.features, to.input, column);
      matrix(place.h2h, size, to.recurrent, column);
      Index count, row = source(column, &count);
      const bool fresh = gru && column % g.group_columns() / group == 2;  // of n, what is recalled has its bias apart
      for (Index i = 0; i < 16; ++i) {
        const float own = i < count ? parameters[place.h2h_bias + row + i] : 0;
        to.bias[column + i] = i < count ? parameters[place.i2h_bias + row + i] + (fresh ? 0 : own) : 0;
        if (fresh) to.fresh_bias[column / g.group_columns() * group + column % group + i] = own;
      }
    }
  });
}

class Recurrent : public Kernel, public Keeper {
 public:
  __attribute__((cold)) Recurrent(const Columns& g, bool constant, bool states, bool training, bool seeded, int threads, DType lengths)
      : g_(g), constant_(constant), states_(states), training_(training), seeded_(seeded), lengths_(lengths), places_(places_of(g)) {
    Room room;
    if (constant_) {
      for (const Place& place : places_) packed_at_.push_back(place_weights(place, room));
      packed_size_ = room.used();
      room = Room();
    }
    const Index columns = g.columns();
    given_ = room.take(g.directions * g.rows() * columns);
    between_ = training ? 0 : room.take(std::min<Index>(g.layers - 1, 2) * g.rows() * g.width());
    cells_ = room.take(g.directions * g.batch * g.padded());
    if (g.ends) ends_ = room.take(2 * g.batch), held_ = room.take(2 * g.directions * g.batch * g.size);
    own_size_ = divided_up(g.batch * (g.group_columns() + g.size), 16) * 16;
    own_ = room.take(own_size_ * threads);
    if (!constant_) {
      Room most;
      for (const Place& place : places_) {
        Room one;
        place_weights(place, one);
        if (one.used() > most.used()) most = one;
      }
      weights_size_ = most.used();
      weights_ = room.take(weights_size_ * g.directions);
    }
    product_ = room.take(0);
    std::size_t product = 0;
    for (const Place& place : places_) {
      product = std::max(product, gemm::scratch_bytes({g.rows(), columns, place.features}, true, threads));
      flops += 2.0 * g.rows() * g.gate_rows() * (place.features + g.size);
    }
    scratch = room.used() * sizeof(float) + product;
    how = std::string(constant_ ? "packed " : "") + std::to_string(g.layers) + " layers of " + std::to_string(g.size);
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!constant_ || !in[1]) return;
    packed_.resize(packed_size_);
    for (std::size_t i = 0; i < places_.size(); ++i)
      pack(g_, places_[i], static_cast<const float*>(in[1]), at(packed_.data(), packed_at_[i]), pool);
  }

  bool reads(int input) const override { return !(constant_ && input == 1); }

  bool take(const Kernel& other) override {
    const auto* from = dynamic_cast<const Recurrent*>(&other);
    if (!from || !constant_ || !from->constant_ || packed_size_ != from->packed_size_ || packed_at_.size() != from->packed_at_.size())
      return false;
    packed_ = from->packed_;  // the operator is the same, and how its weights lie depends on nothing else
    return true;
  }

  std::vector<Kept> kept() override {
    if (!constant_) return {};
    return {{&packed_, packed_size_, "gates in " + gemm::panels()}};
  }

  void run(const Run& run) const override {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    float* memory = run.output<float>(memory_output());
    const float* x = run.input<float>(0);
    if (g_.ends) read_ends(run);
    for (Index layer = 0; layer < g_.layers; ++layer) {
      float* y = run.output<float>();
      if (layer + 1 < g_.layers)
        y = training_ ? memory + layer * g_.rows() * g_.width() : scratch + between_ + layer % 2 * g_.rows() * g_.width();
      Layer l{x, y, layer, {}};
      for (Index d = 0; d < g_.directions; ++d) {
        const Index i = layer * g_.directions + d;
        if (constant_) {
          l.weights[d] = at(packed_.data(), packed_at_[i]);
        } else {
          Room room;
          l.weights[d] = at(scratch + weights_ + d * weights_size_, place_weights(places_[i], room));
          pack(g_, places_[i], run.input<float>(1), l.weights[d], run.pool);
        }
      }
      forward(run, l);
      x = y;
    }
    if (!memory) return;
    // no gradient will read what was not kept; the last number says so
    if (!training_) std::memset(memory, 0, g_.memory_count() * sizeof(float));
    memory[g_.memory_count() - 1] = training_;
    if (seeded_) *run.output<std::int64_t>(memory_output() + 1) = 0;
  }

 private:
  struct At {
    Index input, recurrent, bias, fresh_bias;
  };
  struct Layer {
    const float* x;
    float* y;
    Index number;
    Weights weights[2];
  };

  int memory_output() const { return 1 + (states_ ? static_cast<int>(g_.states()) : 0); }
  At place_weights(const Place& place, Room& room) const {
    const Index columns = g_.columns();
    const Index input = room.take(columns * place.features), recurrent = room.take(columns * g_.size);
    return {input, recurrent, room.take(columns), room.take(g_.padded())};
  }
  static Weights at(float* base, const At& a) {
    return {base + a.input, base + a.recurrent, base + a.bias, base + a.fresh_bias};
  }

  void forward(const Run& run, const Layer& l) const {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const Index columns = g_.columns(), features = places_[l.number * g_.directions].features, state = g_.batch * g_.size;
    for (Index d = 0; d < g_.directions; ++d) {
      gemm::Product p;
      p.sizes = {g_.rows(), columns, features};
      p.a = {l.x, features, false};
      p.packed = l.weights[d].input;
      p.c = scratch + given_ + d * g_.rows() * columns;
      p.ldc = columns;
      p.epilogue.bias = l.weights[d].bias;
      Run inner = run;
      inner.scratch = reinterpret_cast<std::byte*>(scratch + product_);
      gemm::multiply(p, inner);
      if (g_.mode == Mode::lstm) begin_cells(run, l, d);
      if (g_.ends) std::memcpy(held(run, d, 0), run.input<float>(2) + (l.number * g_.directions + d) * state, state * sizeof(float));
    }
    each_step(run, g_, g_.steps, g_.groups(), columns * g_.size, [&](const Part& part) { step(run, l, part); });
    for (Index d = 0; d < g_.directions && states_; ++d) end_states(run, l, d);
  }

  void step(const Run& run, const Layer& l, const Part& part) const {
    float* scratch = reinterpret_cast<float*>(run.scratch);
    const Index d = part.direction, s = part.step, row = part.row;
    const Index time = d ? g_.steps - 1 - s : s, count = part.row_end - row, columns = g_.columns(), size = g_.size;
    const float* before;
    Index ld;
    if (g_.ends) {
      before = held(run, d, s % 2);
      ld = size;
    } else if (s == 0) {
      before = run.input<float>(2) + (l.number * g_.directions + d) * g_.batch * size;
      ld = size;
    } else {
      before = l.y + (d ? time + 1 : time - 1) * g_.batch * g_.width() + d * size;
      ld = g_.width();
    }
    float* recalled = scratch + own_ + part.thread * own_size_;
    float* packed_a = count == 1 ? nullptr : recalled + count * g_.group_columns();
    gemm::Product p;
    p.sizes = {count, columns, size};
    p.a = {before + row * ld, ld, false};
    p.packed = l.weights[d].recurrent;
    p.again = s > 0 && columns * size < CACHED;
    p.c = recalled;
    p.ldc = g_.group_columns();
    if (packed_a) gemm::pack_a(p.a, count, size, packed_a);
    const CellFunction gates = cell_function_of(g_.mode);
    float* kept = training_ ? run.output<float>(memory_output()) : nullptr;
    if (kept) kept += g_.kept_at(l.number, d);
    for (Index i = part.group; i < part.group_end; ++i) {
      const Index group = part.nth(i);
      gemm::multiply_packed(p, packed_a, group * g_.group_columns(), (group + 1) * g_.group_columns());
      for (Index r = 0; r < count; ++r) {
        const Index sequence = row + r, at = time * g_.batch + sequence;
        for (Index u = 0; u < g_.group() && group * g_.group() + u < size; u += 16) {
          const Index unit = group * g_.group() + u;
          Cell c;
          c.given = scratch + given_ + (d * g_.rows() + at) * columns + group * g_.group_columns() + u;
          c.recalled = recalled + r * g_.group_columns() + u;
          c.apart = g_.group();
          c.new_bias = l.weights[d].fresh_bias + unit;
          c.before = before + sequence * ld + unit;
          c.cell = scratch + cells_ + (d * g_.batch + sequence) * g_.padded() + unit;
          c.after = l.y + at * g_.width() + d * size + unit;
          c.count = static_cast<int>(std::min<Index>(16, size - unit));
          c.kept = kept ? kept + at * 4 * size + unit : nullptr;
          c.kept_cell = kept ? kept + g_.rows() * 4 * size + at * size + unit : nullptr;
          c.size = size;
          c.clip = g_.clips ? &g_.clip : nullptr;
          if (!g_.ends) {
            gates(c);
            continue;
          }
          float* after = held(run, d, (s + 1) % 2) + sequence * size + unit;
          if (time < ends(run)[sequence]) {
            gates(c);
            std::memcpy(after, c.after, c.count * sizeof(float));
            continue;
          }
          float cell[16];
          if (c.kept && g_.mode == Mode::lstm) std::memcpy(cell, c.cell, sizeof cell), c.cell = cell;
          if (c.kept) gates(c);  // for what it keeps
          std::memset(c.after, 0, c.count * sizeof(float));
          std::memcpy(after, before + sequence * size + unit, c.count * sizeof(float));
        }
      }
    }
  }

  std::int64_t* ends(const Run& run) const {
    return reinterpret_cast<std::int64_t*>(reinterpret_cast<float*>(run.scratch) + ends_);
  }
  // The state of sequences that end on their own, before every other step.
  float* held(const Run& run, Index d, Index which) const {
    return reinterpret_cast<float*>(run.scratch) + held_ + (which * g_.directions + d) * g_.batch * g_.size;
  }
  void read_ends(const Run& run) const {
    const void* given = run.in[2 + g_.states()];
    for (Index n = 0; n < g_.batch; ++n) {
      if (lengths_ == DType::i64) ends(run)[n] = static_cast<const std::int64_t*>(given)[n];
      else if (lengths_ == DType::i32) ends(run)[n] = static_cast<const std::int32_t*>(given)[n];
      else ends(run)[n] = whole(lengths_ == DType::f32 ? static_cast<const float*>(given)[n] : static_cast<const double*>(given)[n]);
    }
  }
  // Towards 0, within what there is; what is no number is 0.
  std::int64_t whole(double length) const {
    return length >= 1 ? static_cast<std::int64_t>(std::min(length, static_cast<double>(g_.steps))) : 0;
  }

  void begin_cells(const Run& run, const Layer& l, Index d) const {
    const float* from = run.input<float>(3) + (l.number * g_.directions + d) * g_.batch * g_.size;
    float* cells = reinterpret_cast<float*>(run.scratch) + cells_ + d * g_.batch * g_.padded();
    std::memset(cells, 0, g_.batch * g_.padded() * sizeof(float));
    for (Index n = 0; n < g_.batch; ++n) std::memcpy(cells + n * g_.padded(), from + n * g_.size, g_.size * sizeof(float));
  }

  void end_states(const Run& run, const Layer& l, Index d) const {
    const Index index = (l.number * g_.directions + d) * g_.batch * g_.size, bytes = g_.size * sizeof(float);
    const Index last = d ? 0 : g_.steps - 1;
    const float* cells = reinterpret_cast<const float*>(run.scratch) + cells_ + d * g_.batch * g_.padded();
    for (Index n = 0; n < g_.batch; ++n) {
      const float* state =
          g_.ends ? held(run, d, g_.steps % 2) + n * g_.size
          : g_.steps ? l.y + (last * g_.batch + n) * g_.width() + d * g_.size : run.input<float>(2) + index + n * g_.size;
      std::memcpy(run.output<float>(1) + index + n * g_.size, state, bytes);
      if (g_.mode == Mode::lstm) std::memcpy(run.output<float>(2) + index + n * g_.size, cells + n * g_.padded(), bytes);
    }
  }

  Columns g_;
  bool constant_, states_, training_;
  bool seeded_;  // there is dropout between layers, which does nothing here
  DType lengths_;
  std::vector<Place> places_;
  Floats packed_;
  Index packed_size_ = 0;
  std::vector<At> packed_at_;
  // parts of the scratch, in floats
  Index given_, between_, cells_, ends_ = 0, held_ = 0, own_, own_size_, weights_ = 0, weights_size_ = 0, product_;
};

}  // namespace

std::vector<Place> places_of(const Geometry& g) {
  std::vector<Place> places;
  Index at = 0;
  for (Index layer = 0; layer < g.layers; ++layer)
    for (Index d = 0; d < g.directions; ++d) {
      const Index features = layer ? g.width() : g.features;
      places.push_back({features, at, at + g.gate_rows() * features, 0, 0});
      at += g.gate_rows() * (features + g.size);
    }
  for (Place& place : places) {
    place.i2h_bias = at;
    place.h2h_bias = at + g.gate_rows();
    at += 2 * g.gate_rows();
  }
  return places;
}

std::unique_ptr<Kernel> make_forward(const Geometry& g, bool constant, bool states, bool training, bool seeded, int threads,
                                     DType lengths) {
  return std::make_unique<Recurrent>(Columns{g}, constant, states, training, seeded, threads, lengths);
}

bool read(const Call& call, int data, Geometry* g) {
  const auto& attrs = call.attrs;
  const std::string& mode = attrs.text("mode");
  const auto& shape = call.in[data].shape;
  *g = {mode == "lstm"       ? Mode::lstm
        : mode == "gru"      ? Mode::gru
        : mode == "rnn_tanh" ? Mode::tanh
                             : Mode::relu,
        shape[0],
        shape[1],
        shape[2],
        attrs.integer("state_size"),
        attrs.integer("num_layers"),
        attrs.flag("bidirectional") ? 2 : 1};
  if (attrs.has("projection_size")) return false;
  attrs.ignore("projection_size");
  g->ends = attrs.flag("use_sequence_length");
  g->clip = {static_cast<float>(attrs.real("lstm_state_clip_min", 0)), static_cast<float>(attrs.real("lstm_state_clip_max", 0)),
             !attrs.flag("lstm_state_clip_nan")};
  g->clips = attrs.has("lstm_state_clip_min") && g->mode == Mode::lstm;
  const std::size_t lengths = data + 2 + g->states();
  want(call.in.size() > lengths - !g->ends);
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (!g->ends || i != lengths) want(call.in[i].dtype == DType::f32 && !call.in[i].blocked);
  want(shape.size() == 3 && g->size >= 1 && g->layers >= 1);
  // the parameters bound the sizes before anything is made of them
  const Tensor& parameters = call.in[data + 1];
  const Index most = parameters.size();
  want(g->layers <= most && g->size <= most && times(g->gates() * g->size, plus(g->features, g->width())) <= most);
  want(g->layers == 1 || times(g->layers - 1, g->gates() * g->size, g->width() + g->size) <= most);
  want_size(parameters, places_of(*g).back().h2h_bias + g->gate_rows());
  for (Index i = 0; i < g->states(); ++i) want_size(call.in[data + 2 + i], g->state_count());
  return true;
}

}  // namespace rnn

std::unique_ptr<Kernel> bind_RNN(const Call& call) {
  rnn::Geometry g;
  if (!rnn::read(call, 0, &g)) return nullptr;
  DType lengths = DType::i64;
  if (g.ends) {
    const Tensor& given = call.in[2 + g.states()];
    lengths = given.dtype;
    want_size(given, g.batch);
    want(lengths == DType::i64 || lengths == DType::i32 || lengths == DType::f32 || lengths == DType::f64);
  }
  const bool training = call.attrs.flag("training"), seeded = call.attrs.real("p") > 0 && g.layers > 1;
  if (seeded && training) return nullptr;
  const bool states = call.attrs.flag("state_outputs");
  const std::size_t made = 2 + (states ? g.states() : 0);
  want(call.out.size() == made + seeded);
  for (std::size_t i = 0; i < made; ++i) {
    want(call.out[i].dtype == DType::f32);
    want_size(call.out[i], i == 0 ? g.rows() * g.width() : i + 1 == made ? g.memory_count() : g.state_count());
  }
  if (seeded) want(call.out[made].dtype == DType::i64), want_size(call.out[made], 1);
  return rnn::make_forward(g, call.in[1].constant, states, training, seeded, call.threads, lengths);
}

}  // namespace gluonnx
