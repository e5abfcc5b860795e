// Products of 8-bit matrices: MatMulInteger, QLinearMatMul, onnxruntime's QGemm and MatMulIntegerToFloat, and MXNet's quantised
// FullyConnected.
#include <cmath>
#include <limits>

#include "batches.h"
#include "layer.h"

namespace gluonnx {
namespace integer {
namespace {

// The operands of a call by position, -1: there is none.
struct ProductOperands {
  int a = 0, b = 1, a_zero = -1, b_zero = -1;
  int a_scale = -1, b_scale = -1, y_scale = -1, y_zero = -1;  // of sums that are quantised again
  int bias = -1, ranges = -1;                                 // MXNet's
  int addend = -1, after = -1;  // of int32, before sums are scaled, and of float32, afterwards: one number, or one for each column
  float alpha = 1;
  bool b_transposed = false;
  Epilogue::Kind kind = Epilogue::Kind::sums;
  std::optional<Layer> layer;  // of those that are followed
};

// The right operand, packed.
struct Right {
  std::int32_t *steps, *sum, *zero;
};

class Product : public Kernel {
 public:
  Product(Index m, Index n, Index k, const ProductOperands& operands, const Call& call)
      : m_(m),
        n_(n),
        k_(k),
        at_(operands),
        a_signed_(call.in[operands.a].dtype == DType::i8),
        b_signed_(call.in[operands.b].dtype == DType::i8) {
    for (int i = 0; i < static_cast<int>(call.in.size()); ++i) sizes_.push_back(call.in[i].size());
    out_signed_ = call.out[0].dtype == DType::i8;
    panels_ = divided_up(n_, WIDTH);
    constant_ = call.in[at_.b].constant && (at_.b_zero < 0 || call.in[at_.b_zero].constant);
    forms_ = forms_of(constant_);
    for (auto form = forms_.rbegin(); form != forms_.rend(); ++form) {
      choose(*form);
      Divided counted(nullptr);
      divide(counted);
      scratch = std::max(scratch, counted.used());
    }
    flops = 2.0 * m * n * k;
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!constant_ || !in[at_.b] || (at_.b_zero >= 0 && !in[at_.b_zero])) return;
    for (Form form : forms_) {
      choose(form);
      kept_ = std::make_shared<Packed>();
      kept_->form = form;
      Divided counted(nullptr);
      divide_right(counted);
      Divided kept(kept_->memory.resize(counted.used()));
      kept_->rest.resize(is_fitted(form) ? panels_ : 0);
      pack_right(in, divide_right(kept), pool, kept_->rest);
      if (kept_->pays(panels_ * steps_)) return;
    }
  }

  bool reads(int input) const override { return !(constant_ && input == at_.b); }

  void run(const Run& run) const override {
    if (at_.ranges >= 0) give_range(run);
    if (at_.layer) at_.layer->give_range(run);
    if (!m_ || !n_) return;
    Divided memory(run.scratch), kept(constant_ ? kept_->memory.data() : nullptr);
    const Memory made = divide(memory);
    const Right right = constant_ ? divide_right(kept) : made.right;
    std::vector<Rest> none;
    if (!constant_) pack_right(run.in, right, run.pool, none);
    bool shifted = false;  // whether there is a zero point on the right
    for (Index j = 0; j < n_ && !shifted; ++j) shifted = right.zero[j];
    const bool direct = packs_nothing();
    const std::int32_t* left = direct ? run.input<std::int32_t>(at_.a) : made.left;
    const Index ld = direct ? steps_ : ld_;
    pack_left(run, made, shifted);
    const Epilogue epilogue = epilogue_of(run, made);
    const Strips cut(m_, form_, matrix_);
    const Index strips = cut.count();
    const bool by_rows = strips > panels_;                               // what there is more of is cut
    const bool abreast = LANES < 16 && m_ == 1 && !by_rows && 4 * panels_ * WIDTH * steps_ > BEYOND_CACHES;
    const double each = 1 + flops / (by_rows ? strips : panels_) / 500;  // nanoseconds, about
    run.ranges(by_rows ? strips : panels_, 1 + static_cast<Index>(8e3 / each), [&](Index begin, Index end, int) {
      const MatrixRegisters registers(matrix_);
      Tile tile{form_, false, steps_, nullptr, ld, nullptr, 0, 0, 0, 0};
      Index first = by_rows ? 0 : begin;
      for (; abreast && first + ABREAST <= end && (first + ABREAST) * WIDTH <= n_; first += ABREAST) {
        tile.left = left;
        tile.right = right.steps + first * WIDTH * steps_;
        tile.column = first * WIDTH;
        tile.rows = 1;
        tile.columns = WIDTH;
        tile.row_zero = made.row_zero;
        tile.row_term = made.row_term;
        if (form_ != Form::pairs) tile.column_sum = right.sum + tile.column;
        if (shifted) tile.column_zero = right.zero + tile.column;
        compute_abreast(tile, constant_ ? kept_->rest_of(first) : nullptr, epilogue);
      }
      for (Index panel = first; panel < (by_rows ? panels_ : end); ++panel)
        for (Index strip = by_rows ? begin : 0; strip < (by_rows ? end : strips); ++strip) {
          const Index row = cut.first(strip), column = panel * WIDTH;
          tile.left = left + row * ld;
          tile.right = right.steps + panel * WIDTH * steps_;
          tile.row = row;
          tile.column = column;
          tile.rows = static_cast<int>(cut.first(strip + 1) - row);
          tile.columns = static_cast<int>(std::min<Index>(WIDTH, n_ - column));
          tile.matrix = strip < cut.tall;
          tile.row_zero = made.row_zero;
          tile.row_term = made.row_term;
          if (constant_) tile.rest = kept_->rest_of(panel);
          if (form_ != Form::pairs) tile.column_sum = right.sum + column;
          if (shifted) tile.column_zero = right.zero + column;
          compute(tile, epilogue);
        }
    });
  }

 protected:
  bool take(const Kernel& other) override {
    const auto* like = dynamic_cast<const Product*>(&other);
    if (!like || !like->kept_ || !constant_ || like->n_ != n_ || like->k_ != k_ || like->forms_ != forms_) return false;
    kept_ = like->kept_;
    choose(kept_->form);
    return true;
  }

 private:
  void choose(Form form) {
    form_ = form;
    left_ = {form, a_signed_, OTHER_SIGNED};
    right_ = {form, b_signed_, true};
    steps_ = steps_of(form, k_);
    // rows a power of 2 apart would all want the same places of the first cache
    ld_ = rounded_up(steps_, 16) + (steps_ % 256 ? 0 : 16);
    matrix_ = form == Form::bytes && steps_ && steps_ % STEPS == 0 && m_ >= TALL && has_matrix_registers();
    how = matrix_ ? "amx" : name(form);
  }

  struct Memory {
    std::int32_t *left, *row_zero, *row_term;
    float* columns;
    Right right{};
  };

  Right divide_right(Divided& memory) const {
    const Index n = panels_ * WIDTH;
    return {memory.take<std::int32_t>(n * steps_), memory.take<std::int32_t>(n), memory.take<std::int32_t>(n)};
  }
  Memory divide(Divided& memory) const {
    Memory made{memory.take<std::int32_t>(packs_nothing() ? 0 : m_ * ld_), memory.take<std::int32_t>(m_),
                memory.take<std::int32_t>(m_), memory.take<float>(2 * panels_ * WIDTH)};
    if (!constant_) made.right = divide_right(memory);
    return made;
  }

  // whether the left operand can be read where it is
  bool packs_nothing() const { return form_ != Form::pairs && !left_.shift() && k_ % 4 == 0 && k_ % 1024 != 0; }

  ZeroPoint zero_point(const void* const* in, int i, bool is_signed) const {
    return i < 0 ? ZeroPoint{} : ZeroPoint{in[i], sizes_[i], is_signed};
  }

  // Packs the left operand, unless it is read where it is, and finds its zero points and terms, the latter if they are wanted.
  void pack_left(const Run& run, const Memory& made, bool terms) const {
    const ZeroPoint zeros = zero_point(run.in, at_.a_zero, left_.is_signed);
    const auto* from = run.input<std::uint8_t>(at_.a);
    run.ranges(m_, 1 + (1 << 16) / (k_ + 1), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        const int zero = zeros.at(zeros.count ? i % zeros.count : 0);
        std::int32_t sum = 0;
        if (!packs_nothing()) sum = left_.pack(from + i * k_, k_, zero, made.left + i * ld_);
        else if (terms)
          for (Index k = 0; k < k_; ++k) sum += from[i * k_ + k];
        made.row_zero[i] = left_.zero(zero);
        made.row_term[i] = sum - static_cast<std::int32_t>(k_) * left_.zero(zero);
      }
    });
  }

  // rest: of each panel, if steps are fitted
  void pack_right(const void* const* in, const Right& to, Pool* pool, std::vector<Rest>& rest) const {
    const ZeroPoint zeros = zero_point(in, at_.b_zero, right_.is_signed);
    const int each = numbers_of(form_);
    const Index across = at_.b_transposed ? k_ : 1, along = at_.b_transposed ? 1 : n_;
    Run run{nullptr, nullptr, nullptr, pool};
    run.ranges(panels_, 1 + (1 << 12) / (k_ + 1), [&](Index begin, Index end, int) {
      for (Index panel = begin; panel < end; ++panel) {
        const Index first = panel * WIDTH, columns = std::min<Index>(WIDTH, n_ - first);
        std::int32_t* steps = to.steps + first * steps_;
        std::int32_t sums[WIDTH] = {}, points[WIDTH] = {};
        for (Index j = 0; j < columns; ++j) points[j] = zeros.at(first + j);
        std::memset(steps, 0, steps_ * WIDTH * sizeof *steps);
        for (Index k = 0; k < k_; ++k)
          for (Index j = 0; j < columns; ++j) {
            const int x = right_.stored(number(in[at_.b], right_.is_signed, (first + j) * across + k * along), points[j]);
            steps[k / each * WIDTH + j] |= static_cast<std::int32_t>(right_.placed(x, k % each));
            sums[j] += x;
          }
        for (Index j = 0; j < WIDTH; ++j) {
          to.sum[first + j] = sums[j];
          to.zero[first + j] = j < columns ? right_.zero(points[j]) : 0;
        }
        if (!rest.empty()) rest[panel].fit(form_, steps, steps_, WIDTH, WIDTH, 1, WIDTH);
      }
    });
  }

  Epilogue epilogue_of(const Run& run, const Memory& made) const {
    Epilogue f;
    f.kind = at_.kind;
    f.out = run.out[0];
    f.ld = n_;
    if (at_.layer) {
      at_.layer->set(run, f, made.columns, made.columns + panels_ * WIDTH);
    } else if (at_.a_scale >= 0) {
      const float a = *run.input<float>(at_.a_scale), *b = run.input<float>(at_.b_scale);
      const float y = at_.y_scale < 0 ? 1.f : *run.input<float>(at_.y_scale);
      for (Index j = 0; j < n_; ++j) made.columns[j] = at_.alpha * (a * b[sizes_[at_.b_scale] == 1 ? 0 : j]) / y;
      f.scale = made.columns;
      f.zero = at_.y_zero < 0 ? 0 : number(run.in[at_.y_zero], out_signed_, 0);
      f.is_signed = out_signed_;
      f.type = DType::f32;
      float* rest = made.columns + panels_ * WIDTH;
      if (at_.addend >= 0) {
        auto* sums = reinterpret_cast<std::int32_t*>(rest);
        for (Index j = 0; j < n_; ++j) sums[j] = run.input<std::int32_t>(at_.addend)[sizes_[at_.addend] == 1 ? 0 : j];
        f.bias = sums;
      }
      if (at_.after >= 0) {
        for (Index j = 0; j < n_; ++j) rest[j] = run.input<float>(at_.after)[sizes_[at_.after] == 1 ? 0 : j];
        f.after = rest;
      }
    } else if (at_.bias >= 0) {
      const float scale = (data_levels() / reach_of(run, 0)) * (127.5f / reach_of(run, 1)) * reach_of(run, 2) / 127.5f;
      const auto* bias = run.input<std::int8_t>(at_.bias);
      for (Index j = 0; j < n_; ++j) made.columns[j] = cut(bias[j] * scale);
      f.addend = made.columns;
    }
    return f;
  }

  // MXNet's numbers: see hybrid/ops/quantization.py
  float data_levels() const { return a_signed_ ? 127.5f : 255.5f; }
  float reach_of(const Run& run, int operand) const {
    return reach(run.input<float>(at_.ranges + 2 * operand), run.input<float>(at_.ranges + 2 * operand + 1));
  }
  // the whole part as an int32, of which what is none becomes the least, and then a float again
  static float cut(float x) { return x > -2147483904.f && x < 2147483648.f ? std::trunc(x) : -2147483648.f; }
  void give_range(const Run& run) const {
    const float one = (reach_of(run, 0) / (a_signed_ ? 127.f : 255.f)) * (reach_of(run, 1) / 127.f);
    run.output<float>(2)[0] = one * 2147483648.f;
    run.output<float>(1)[0] = -run.output<float>(2)[0];
  }

  Index m_, n_, k_;
  ProductOperands at_;
  std::vector<Form> forms_;
  Form form_;
  Encoding left_{}, right_{};
  std::vector<Index> sizes_;
  bool a_signed_, b_signed_, out_signed_, constant_, matrix_;
  Index steps_, panels_, ld_;
  std::shared_ptr<Packed> kept_;
};

std::unique_ptr<Kernel> make(const ProductOperands& at, const Call& call) {
  const Tensor &a = call.in[at.a], &b = call.in[at.b];
  if (a.rank() < 2 || b.rank() != 2 || !is_byte(a.dtype) || !is_byte(b.dtype)) return nullptr;
  const Index n = b.shape[at.b_transposed ? 0 : 1], k = b.shape[at.b_transposed ? 1 : 0];
  Index m = 1;
  const auto& result = call.out[0].shape;
  for (std::size_t i = 0; i + 1 < result.size(); ++i) m *= result[i];
  // one number, or one for each row of a matrix or column
  auto suits = [&](int i, DType dtype, Index many) {
    if (i < 0) return true;
    const Tensor& t = call.in[i];
    return t.dtype == dtype && (t.size() == 1 || (t.rank() == 1 && t.size() == many));
  };
  if (!suits(at.a_zero, a.dtype, a.shape[a.rank() - 2]) || !suits(at.b_zero, b.dtype, n)) return nullptr;
  const Tensor& y = call.out[0];
  if (at.a_scale >= 0) {
    if (!is_one(call.in[at.a_scale], DType::f32) || !suits(at.b_scale, DType::f32, n)) return nullptr;
    // a row, of whatever rank
    for (const auto& [i, dtype] : {std::pair{at.addend, DType::i32}, std::pair{at.after, DType::f32}}) {
      if (i < 0) continue;
      const Tensor& t = call.in[i];
      if (t.dtype != dtype || t.rank() > y.rank() || (t.size() != 1 && (t.size() != n || t.shape.back() != n))) return nullptr;
    }
    want(at.addend < 0 || at.after < 0);
  }
  if (at.kind == Epilogue::Kind::quantized &&
      (!is_one(call.in[at.y_scale], DType::f32) || !is_byte(y.dtype) || (at.y_zero >= 0 && !is_one(call.in[at.y_zero], y.dtype))))
    return nullptr;
  if (at.kind == Epilogue::Kind::followed) want(y.dtype == DType::f32 || at.layer);
  if (at.kind == Epilogue::Kind::sums || at.kind == Epilogue::Kind::rounded) want(call.out[0].dtype == DType::i32);
  want(a.rank() >= 1 && k >= 0 && n >= 0);
  want_size(a, times(m, k));
  want_size(call.out[0], times(m, n));
  want_ranges(call, at.ranges, at.bias >= 0 ? 3 : 2);
  if (at.bias >= 0) want(call.in[at.bias].dtype == DType::i8), want_size(call.in[at.bias], n);
  return std::make_unique<Product>(m, n, k, at, call);
}

}  // namespace
}  // namespace integer

std::unique_ptr<Kernel> bind_matmul_integer(const Call& call) {
  integer::ProductOperands at;
  int next = 2;
  if (call.attrs.names("given", "a_zero_point")) at.a_zero = next++;
  if (call.attrs.names("given", "b_zero_point")) at.b_zero = next++;
  if (call.in[1].rank() > 2) return integer::batched_matmul(call, 0, 1, at.a_zero, at.b_zero, {-1, -1, -1, -1});
  return integer::make(at, call);
}

std::unique_ptr<Kernel> bind_qlinear_matmul(const Call& call) {
  call.attrs.ignore("given");
  integer::ProductOperands at;
  at.a_scale = 1;
  at.a_zero = 2;
  at.b = 3;
  at.b_scale = 4;
  at.b_zero = 5;
  at.y_scale = 6;
  at.y_zero = 7;
  at.kind = integer::Epilogue::Kind::quantized;
  if (call.in[3].rank() > 2) return integer::batched_matmul(call, 0, 3, 2, 5, {1, 4, 6, 7});
  return integer::make(at, call);
}

std::unique_ptr<Kernel> bind_quantized_dense(const Call& call) {
  call.attrs.ignore("num_hidden", "flatten", "no_bias", "training");
  integer::ProductOperands at;
  at.b_transposed = true;
  at.ranges = 2;
  if (call.in.size() == 9) {
    // NumPy's sums do not wrap round before the bias is added
    if (call.in[1].rank() != 2 || call.in[1].shape[1] > 65000) return nullptr;
    at.bias = at.ranges++;
    at.kind = integer::Epilogue::Kind::rounded;
  }
  return integer::make(at, call);
}

std::unique_ptr<Kernel> bind_qgemm(const Call& call) {
  const Attrs& attrs = call.attrs;
  if (attrs.flag("transA")) return nullptr;
  integer::ProductOperands at;
  at.a_scale = 1;
  at.a_zero = 2;
  at.b = 3;
  at.b_scale = 4;
  at.b_zero = 5;
  at.b_transposed = attrs.flag("transB");
  at.alpha = static_cast<float>(attrs.real("alpha"));
  int next = 6;
  if (attrs.names("given", "C")) at.addend = next++;
  if (attrs.names("given", "y_scale")) at.y_scale = next++;
  if (attrs.names("given", "y_zero_point")) at.y_zero = next++;
  at.kind = at.y_scale < 0 ? integer::Epilogue::Kind::followed : integer::Epilogue::Kind::quantized;
  return integer::make(at, call);
}

std::unique_ptr<Kernel> bind_matmul_integer_to_float(const Call& call) {
  integer::ProductOperands at;
  at.a_scale = 2;
  at.b_scale = 3;
  int next = 4;
  if (call.attrs.names("given", "a_zero_point")) at.a_zero = next++;
  if (call.attrs.names("given", "b_zero_point")) at.b_zero = next++;
  if (call.attrs.names("given", "bias")) at.after = next++;
  at.kind = integer::Epilogue::Kind::followed;
  return integer::make(at, call);
}

std::unique_ptr<Kernel> bind_fused_quantized_dense(const Call& call) {
  call.attrs.ignore("num_hidden", "flatten");
  want(call.in.size() > 2 && call.in[1].rank() == 2 && call.in[1].dtype == DType::i8);
  integer::ProductOperands at;
  at.b_transposed = true;
  at.kind = integer::Epilogue::Kind::followed;
  at.layer = integer::Layer::of(call, call.in[1].shape[0]);
  if (call.in[1].shape[1] > 65000) return nullptr;  // NumPy's sums do not wrap round
  return integer::make(at, call);
}

}  // namespace gluonnx
