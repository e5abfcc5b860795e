// RNN, GRU and LSTM as ONNX has them: one layer, any activations, gates that are clipped, peepholes, sequences that end early.
// What all steps share is one product, what depends on the state another in each step.
#include <cmath>
#include <cstring>

#include "../../base/math.h"
#include "../gemm/gemm.h"

namespace gluonnx {
namespace {

using gemm::Index;

enum class Shape { relu, tanh, sigmoid, affine, leaky, thresholded, scaled_tanh, hard_sigmoid, elu, softsign, softplus };

struct Curve {
  Shape shape;
  double alpha, beta;
  bool clipped;
  double most;  // of the argument's size
};

const struct {
  const char* name;
  Shape shape;
  bool has_alpha, has_beta;
  double alpha, beta;
} SHAPES[] = {
    {"relu", Shape::relu, false, false, 0, 0},
    {"tanh", Shape::tanh, false, false, 0, 0},
    {"sigmoid", Shape::sigmoid, false, false, 0, 0},
    {"affine", Shape::affine, true, true, 1, 0},
    {"leakyrelu", Shape::leaky, true, false, 0.01, 0},
    {"thresholdedrelu", Shape::thresholded, true, false, 1, 0},
    {"scaledtanh", Shape::scaled_tanh, true, true, 1, 1},
    {"hardsigmoid", Shape::hard_sigmoid, true, true, 0.2, 0.5},
    {"elu", Shape::elu, true, false, 1, 0},
    {"softsign", Shape::softsign, false, false, 0, 0},
    {"softplus", Shape::softplus, false, false, 0, 0},
};

template <class F>
GX_INLINE void each_block(float* p, Index count, F f) {
  float some[16] = {};
  for (Index i = 0; i < count; i += 16) {
    const bool whole = count - i >= 16;
    float* at = whole ? p + i : some;
    if (!whole) std::memcpy(some, p + i, (count - i) * sizeof(float));
    store(at, each(load(at), f));
    if (!whole) std::memcpy(p + i, some, (count - i) * sizeof(float));
  }
}

// Every number bent by the curve.
void bend(const Curve& c, float* p, Index count) {
  const Reg a = splat_reg(static_cast<float>(c.alpha)), b = splat_reg(static_cast<float>(c.beta));
  const Reg none = splat_reg(0.f), one = splat_reg(1.f);
  if (c.clipped) {
    const Reg most = splat_reg(static_cast<float>(c.most));
    each_block(p, count, [&](Reg x) GX_LAMBDA { return at_most(at_least(x, -most), most); });
  }
  switch (c.shape) {
    case Shape::relu: return each_block(p, count, [&](Reg x) GX_LAMBDA { return at_least(x, none); });
    case Shape::tanh: return each_block(p, count, [&](Reg x) GX_LAMBDA { return tanh(x); });
    case Shape::sigmoid: return each_block(p, count, [&](Reg x) GX_LAMBDA { return sigmoid(x); });
    case Shape::affine: return each_block(p, count, [&](Reg x) GX_LAMBDA { return a * x + b; });
    case Shape::leaky: return each_block(p, count, [&](Reg x) GX_LAMBDA { return x >= 0.f ? x : a * x; });
    case Shape::thresholded: return each_block(p, count, [&](Reg x) GX_LAMBDA { return x >= a ? x : none; });
    case Shape::scaled_tanh: return each_block(p, count, [&](Reg x) GX_LAMBDA { return a * tanh(b * x); });
    case Shape::hard_sigmoid:
      return each_block(p, count, [&](Reg x) GX_LAMBDA { return at_most(at_least(a * x + b, none), one); });
    case Shape::elu:
      return each_block(p, count, [&](Reg x) GX_LAMBDA { return x >= 0.f ? x : a * expm1(at_most(x, none)); });
    case Shape::softsign: return each_block(p, count, [&](Reg x) GX_LAMBDA { return x / (one + abs(x)); });
    case Shape::softplus: return each_block(p, count, [&](Reg x) GX_LAMBDA { return softplus(x); });
  }
}

void bend(const Curve& c, double* p, Index count) {
  const double a = c.alpha, b = c.beta;
  auto all = [&](auto f) {
    for (Index i = 0; i < count; ++i) p[i] = f(p[i]);
  };
  if (c.clipped) all([&](double x) {
    const double low = x < -c.most ? -c.most : x;
    return low > c.most ? c.most : low;
  });
  switch (c.shape) {
    case Shape::relu: return all([](double x) { return x < 0 ? 0 : x; });
    case Shape::tanh: return all([](double x) { return std::tanh(x); });
    case Shape::sigmoid: return all([](double x) { return 1 / (1 + std::exp(-x)); });
    case Shape::affine: return all([&](double x) { return a * x + b; });
    case Shape::leaky: return all([&](double x) { return x >= 0 ? x : a * x; });
    case Shape::thresholded: return all([&](double x) { return x >= a ? x : 0; });
    case Shape::scaled_tanh: return all([&](double x) { return a * std::tanh(b * x); });
    case Shape::hard_sigmoid:
      return all([&](double x) {
        const double y = a * x + b;
        return y < 0 ? 0 : y > 1 ? 1 : y;
      });
    case Shape::elu: return all([&](double x) { return x >= 0 ? x : a * std::expm1(x > 0 ? 0 : x); });
    case Shape::softsign: return all([](double x) { return x / (1 + std::abs(x)); });
    case Shape::softplus: return all([](double x) { return std::log1p(std::exp(-std::abs(x))) + (x < 0 ? 0 : x); });
  }
}

// Products with a transposed weight (n, k): C (m, n) = A (m, k) W^T, and `added` (rows, or one row of a bias).
struct Term {
  Index m, n, k;
};

Index room_of(const Term& t, float) { return gemm::packed_size(t.n, t.k); }
Index room_of(const Term& t, double) { return t.n * t.k; }
std::size_t scratch_of(const Term& t, int threads, float) { return gemm::scratch_bytes({t.m, t.n, t.k}, true, threads); }
std::size_t scratch_of(const Term&, int, double) { return 0; }

void pack(const Term& t, const float* weight, float* to, Pool* pool) { gemm::pack_b({weight, t.k, true}, t.n, t.k, to, pool); }
void pack(const Term& t, const double* weight, double* to, Pool*) {
  for (Index i = 0; i < t.n; ++i)
    for (Index k = 0; k < t.k; ++k) to[k * t.n + i] = weight[i * t.k + k];
}

void product(const Run& run, const Term& t, const float* a, Index lda, const float* packed, float* c, Index ldc,
             const float* bias, const float* added) {
  gemm::Product p;
  p.sizes = {t.m, t.n, t.k};
  p.a = {a, lda, false};
  p.packed = packed;
  p.c = c;
  p.ldc = ldc;
  p.epilogue.bias = bias;
  p.epilogue.residual = added;
  p.epilogue.residual_ld = ldc;
  gemm::multiply(p, run);
}
void product(const Run& run, const Term& t, const double* a, Index lda, const double* packed, double* c, Index ldc,
             const double* bias, const double* added) {
  run.ranges(t.m, 1 + (1 << 15) / (1 + t.n * t.k), [&](Index begin, Index end, int) {
    for (Index r = begin; r < end; ++r) {
      double* to = c + r * ldc;
      for (Index i = 0; i < t.n; ++i) to[i] = bias ? bias[i] : added ? added[r * ldc + i] : 0;
      for (Index k = 0; k < t.k; ++k) {
        const double value = a[r * lda + k], *row = packed + k * t.n;
        for (Index i = 0; i < t.n; ++i) to[i] += value * row[i];
      }
    }
  });
}

enum class Kind { plain, gru, lstm };

struct Layer {
  Kind kind;
  Index steps, batch, features, size, directions;
  bool reversed;  // the first direction
  bool special;   // of a GRU: linear_before_reset; of an LSTM: input_forget
  int bias, lengths, hidden, cell, peepholes;  // which inputs they are, -1 for none
  Curve curves[2][3];

  Index gates() const { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }
  Index width() const { return gates() * size; }
};

template <class T>
class Standard : public Kernel {
 public:
  __attribute__((cold)) Standard(const Layer& l, bool constant, int threads) : l_(l), constant_(constant) {
    const Index own = l.kind == Kind::gru ? 2 * l.size : l.width();  // columns that depend on nothing but the state
    input_ = {l.steps * l.batch, l.width(), l.features};
    state_ = {l.batch, own, l.size};
    last_ = {l.batch, l.width() - own, l.size};
    Index room = 0;
    auto take = [&](Index count) {
      const Index at = room;
      room += (count + 15) / 16 * 16;
      return at;
    };
    input_at_ = take(room_of(input_, T())), state_at_ = take(room_of(state_, T()));
    last_at_ = take(last_.n ? room_of(last_, T()) : 0);
    weights_ = room;
    room = constant ? 0 : weights_;
    given_ = take(l.steps * l.batch * l.width()), sums_ = take(l.batch * l.width());
    hidden_ = take(l.batch * l.size), cell_ = take(l.batch * l.size), reset_ = take(l.batch * l.size);
    bias_ = take(2 * l.width());
    product_ = room * sizeof(T);
    std::size_t most = 0;
    for (const Term& t : {input_, state_, last_})
      if (t.n) most = std::max(most, scratch_of(t, threads, T()));
    scratch = product_ + most;
    flops = 2.0 * l.directions * l.steps * l.batch * l.width() * (l.features + l.size);
    sure = l.lengths < 0;
    how = std::string(constant ? "packed " : "") + std::to_string(l.size) + " units";
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!constant_ || !in[1] || !in[2]) return;
    packed_.resize(l_.directions * weights_ * static_cast<Index>(sizeof(T) / sizeof(float)));
    for (Index d = 0; d < l_.directions; ++d) pack_all(in, d, packed(d), pool);
  }

  bool reads(int input) const override { return !sure || !(constant_ && (input == 1 || input == 2)); }

  void run(const Run& run) const override {
    if (const std::int32_t* lengths = lengths_of(run))
      for (Index n = 0; n < l_.batch; ++n)
        want_value(lengths[n] >= 0 && lengths[n] <= l_.steps);
    for (Index d = 0; d < l_.directions && l_.batch; ++d) direction(run, d);
  }

 private:
  T* packed(Index d) const { return reinterpret_cast<T*>(packed_.data()) + d * weights_; }
  const std::int32_t* lengths_of(const Run& run) const { return l_.lengths < 0 ? nullptr : run.input<std::int32_t>(l_.lengths); }

  void pack_all(const void* const* in, Index d, T* to, Pool* pool) const {
    const T* w = static_cast<const T*>(in[1]) + d * l_.width() * l_.features;
    const T* r = static_cast<const T*>(in[2]) + d * l_.width() * l_.size;
    pack(input_, w, to + input_at_, pool);
    pack(state_, r, to + state_at_, pool);
    if (last_.n) pack(last_, r + state_.n * l_.size, to + last_at_, pool);
  }

  void direction(const Run& outer, Index d) const {
    T* scratch = reinterpret_cast<T*>(outer.scratch);
    Run run = outer;
    run.scratch = outer.scratch + product_;
    const Index size = l_.size, width = l_.width(), state = l_.batch * size;
    const T* weights = constant_ ? packed(d) : scratch;
    if (!constant_) pack_all(run.in, d, scratch, run.pool);
    // The biases that are added at once; of a GRU's last gate what is added before it is reset comes later.
    T *bias = scratch + bias_, *later = bias + width;
    std::fill(bias, bias + 2 * width, T(0));
    if (l_.bias >= 0) {
      const T* b = run.input<T>(l_.bias) + d * 2 * width;
      const bool apart = l_.kind == Kind::gru && l_.special;
      for (Index i = 0; i < width; ++i) {
        const bool now = !apart || i < 2 * size;
        bias[i] = b[i] + (now ? b[width + i] : 0);
        later[i] = now ? 0 : b[width + i];
      }
    }
    begin(run, l_.hidden, d, scratch + hidden_);
    if (l_.kind == Kind::lstm) begin(run, l_.cell, d, scratch + cell_);
    T* given = scratch + given_;
    if (input_.m) product(run, input_, run.input<T>(0), l_.features, weights + input_at_, given, width, bias, static_cast<const T*>(nullptr));
    const bool backward = d == 1 || l_.reversed;
    for (Index s = 0; s < l_.steps; ++s) step(run, scratch, weights, later, d, backward ? l_.steps - 1 - s : s);
    const std::int32_t* lengths = lengths_of(run);
    for (Index n = 0; n < l_.batch; ++n)
      for (int o = 0; o < (l_.kind == Kind::lstm ? 2 : 1); ++o) {
        T* to = run.output<T>(1 + o) + d * state + n * size;
        if (lengths && !lengths[n]) std::fill(to, to + size, T(0));
        else std::copy_n(scratch + (o ? cell_ : hidden_) + n * size, size, to);
      }
  }

  void begin(const Run& run, int input, Index d, T* to) const {
    const Index count = l_.batch * l_.size;
    if (input < 0) std::fill(to, to + count, T(0));
    else std::copy_n(run.input<T>(input) + d * count, count, to);
  }

  void step(const Run& run, T* scratch, const T* weights, const T* later, Index d, Index t) const {
    const Index size = l_.size, width = l_.width(), batch = l_.batch;
    T *sums = scratch + sums_, *hidden = scratch + hidden_, *reset = scratch + reset_;
    const T* given = scratch + given_ + t * batch * width;
    const Curve* curves = l_.curves[d];
    product(run, state_, hidden, size, weights + state_at_, sums, width, static_cast<const T*>(nullptr), given);
    auto rows = [&](auto f) {
      run.ranges(batch, 1 + (1 << 13) / width, [&](Index begin, Index end, int) {
        for (Index n = begin; n < end; ++n) f(n);
      });
    };
    if (l_.kind == Kind::gru) {
      rows([&](Index n) {
        T* gates = sums + n * width;
        bend(curves[0], gates, 2 * size);
        if (!l_.special)
          for (Index i = 0; i < size; ++i) reset[n * size + i] = gates[size + i] * hidden[n * size + i];
      });
      if (l_.special) product(run, last_, hidden, size, weights + last_at_, sums + 2 * size, width, later + 2 * size, static_cast<const T*>(nullptr));
      else product(run, last_, reset, size, weights + last_at_, sums + 2 * size, width, static_cast<const T*>(nullptr), given + 2 * size);
    }
    const std::int32_t* lengths = lengths_of(run);
    rows([&](Index n) {
      T* to = run.output<T>() + ((t * l_.directions + d) * batch + n) * size;
      if (lengths && t >= lengths[n]) return std::fill(to, to + size, T(0));
      T *gates = sums + n * width, *state = hidden + n * size;
      switch (l_.kind) {
        case Kind::plain: bend(curves[0], gates, size), std::copy_n(gates, size, state); break;
        case Kind::gru: gru(curves, gates, given + n * width, state); break;
        case Kind::lstm: lstm(run, curves, gates, scratch + cell_ + n * size, state, d); break;
      }
      std::copy_n(state, size, to);
    });
  }

  void gru(const Curve* curves, T* gates, const T* given, T* state) const {
    const Index size = l_.size;
    T *update = gates, *reset = gates + size, *fresh = gates + 2 * size;
    if (l_.special)
      for (Index i = 0; i < size; ++i) fresh[i] = given[2 * size + i] + reset[i] * fresh[i];
    bend(curves[1], fresh, size);
    for (Index i = 0; i < size; ++i) state[i] = (1 - update[i]) * fresh[i] + update[i] * state[i];
  }

  void lstm(const Run& run, const Curve* curves, T* gates, T* cell, T* state, Index d) const {
    const Index size = l_.size;
    T *enter = gates, *leave = gates + size, *forget = gates + 2 * size, *fresh = gates + 3 * size;
    const T* peep = l_.peepholes < 0 ? nullptr : run.input<T>(l_.peepholes) + d * 3 * size;
    if (peep)
      for (Index i = 0; i < size; ++i) {
        enter[i] += peep[i] * cell[i];
        forget[i] += peep[2 * size + i] * cell[i];
      }
    bend(curves[0], enter, size);
    if (!l_.special) bend(curves[0], forget, size);
    bend(curves[1], fresh, size);
    for (Index i = 0; i < size; ++i) cell[i] = (l_.special ? 1 - enter[i] : forget[i]) * cell[i] + enter[i] * fresh[i];
    if (peep)
      for (Index i = 0; i < size; ++i) leave[i] += peep[size + i] * cell[i];
    bend(curves[0], leave, size);
    std::copy_n(cell, size, state);
    bend(curves[2], state, size);
    for (Index i = 0; i < size; ++i) state[i] *= leave[i];
  }

  Layer l_;
  bool constant_;
  Term input_, state_, last_;  // last: a GRU's last gate
  Index input_at_, state_at_, last_at_, weights_;
  // parts of the scratch
  Index given_, sums_, hidden_, cell_, reset_, bias_;
  std::size_t product_;
  Floats packed_;
};

// The curves of all directions; false for one that there is not.
bool read_curves(const Attrs& attrs, Layer* l) {
  std::vector<std::string> names = attrs.words("activations");
  const std::vector<std::string> alphas = attrs.words("activation_alpha"), betas = attrs.words("activation_beta");
  const Index count = l->kind == Kind::lstm ? 3 : l->kind == Kind::gru ? 2 : 1;
  const bool usual = names.empty();
  if (usual)
    for (Index i = 0; i < count * l->directions; ++i) names.push_back(l->kind != Kind::plain && i % count == 0 ? "sigmoid" : "tanh");
  if (static_cast<Index>(names.size()) != count * l->directions) return false;
  const double clip = attrs.real("clip", 0);
  std::size_t alpha = 0, beta = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    Curve* curve = nullptr;
    for (const auto& known : SHAPES) {
      if (name != known.name) continue;
      curve = &l->curves[i / count][i % count];
      *curve = {known.shape, known.alpha, known.beta, false, 0};
      if (known.has_alpha && alpha < alphas.size()) curve->alpha = std::stod(alphas[alpha++]);
      if (known.has_beta && beta < betas.size()) curve->beta = std::stod(betas[beta++]);
      if (attrs.has("clip") && i % count != 2) curve->clipped = true, curve->most = clip;
    }
    if (!curve) return false;
  }
  return true;
}

std::unique_ptr<Kernel> bind_layer(const Call& call, Kind kind, const char* special) {
  const Attrs& attrs = call.attrs;
  const DType dtype = call.in[0].dtype;
  want(call.in.size() >= 3);
  const Tensor &x = call.in[0], &w = call.in[1], &r = call.in[2];
  want(x.rank() == 3 && w.rank() == 3 && r.rank() == 3);
  attrs.ignore("hidden_size");
  const std::string& direction = attrs.text("direction");
  Layer l{};
  l.kind = kind;
  l.steps = x.shape[0], l.batch = x.shape[1], l.features = x.shape[2], l.size = r.shape[2];
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.reversed = direction == "reverse";
  l.special = special && attrs.flag(special);
  if (!read_curves(attrs, &l) || l.size < 1 || l.features < 1) return nullptr;
  want_shape(w, {l.directions, l.width(), l.features});
  want_shape(r, {l.directions, l.width(), l.size});
  std::size_t next = 3;
  auto optional = [&](const char* name, const std::vector<std::int64_t>& shape) {
    if (!attrs.names("given", name)) return -1;
    want(next < call.in.size());
    want_shape(call.in[next], shape);
    return static_cast<int>(next++);
  };
  const std::vector<std::int64_t> states{l.directions, l.batch, l.size};
  l.bias = optional("B", {l.directions, 2 * l.width()});
  l.lengths = optional("sequence_lens", {l.batch});
  l.hidden = optional("initial_h", states);
  l.cell = kind == Kind::lstm ? optional("initial_c", states) : -1;
  l.peepholes = kind == Kind::lstm ? optional("P", {l.directions, 3 * l.size}) : -1;
  want(next == call.in.size() && call.out.size() == (kind == Kind::lstm ? 3u : 2u));
  for (std::size_t i = 0; i < call.in.size(); ++i)
    want(!call.in[i].blocked && call.in[i].dtype == (static_cast<int>(i) == l.lengths ? DType::i32 : dtype));
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    want(!call.out[i].blocked && call.out[i].dtype == dtype);
    want_size(call.out[i], i ? l.directions * l.batch * l.size : l.steps * l.directions * l.batch * l.size);
  }
  const bool constant = w.constant && r.constant;
  if (dtype == DType::f64) return std::make_unique<Standard<double>>(l, constant, call.threads);
  return std::make_unique<Standard<float>>(l, constant, call.threads);
}

}  // namespace

std::unique_ptr<Kernel> bind_onnx_RNN(const Call& call) { return bind_layer(call, Kind::plain, nullptr); }
std::unique_ptr<Kernel> bind_onnx_GRU(const Call& call) { return bind_layer(call, Kind::gru, "linear_before_reset"); }
std::unique_ptr<Kernel> bind_onnx_LSTM(const Call& call) { return bind_layer(call, Kind::lstm, "input_forget"); }

}  // namespace gluonnx
