#include "batches.h"

#include <cmath>

#include "../chain/walk.h"

namespace gluonnx {
namespace integer {

BatchedProducts::BatchedProducts(Batches batches, const Call& call)
    : b_(std::move(batches)), form_(best_form()), threads_(call.threads) {
  left_ = {form_, call.in[b_.left.input].dtype == DType::i8, OTHER_SIGNED};
  right_ = {form_, call.in[b_.right.input].dtype == DType::i8, true};
  steps_ = steps_of(form_, b_.k);
  panels_ = divided_up(b_.n, WIDTH);
  ld_ = rounded_up(steps_, 16) + (steps_ % 256 ? 0 : 16);
  Divided counted(nullptr);
  for (int t = 0; t < threads_; ++t) divide(counted);
  counted.take<float>(columns());
  scratch = counted.used();
  flops = 2.0 * b_.m * b_.n * b_.k * b_.result.size();
  matrix_ = form_ == Form::bytes && steps_ && steps_ % STEPS == 0 && b_.m >= TALL && has_matrix_registers();
  how = matrix_ ? "amx" : name(form_);
}

BatchedProducts::Memory BatchedProducts::divide(Divided& memory) const {
  return {memory.take<std::int32_t>(b_.m * ld_), memory.take<std::int32_t>(b_.m), memory.take<std::int32_t>(b_.m),
          memory.take<std::int32_t>(columns() * steps_), memory.take<std::int32_t>(columns())};
}

// Panels of columns, step by step; beyond the last column they hold zeros.
void BatchedProducts::pack_right(const std::uint8_t* from, int zero, std::int32_t* panels) const {
  const int each = numbers_of(form_);
  if (b_.right.column == 1) {  // rows lie together: steps of as many of these
    for (Index s = 0; s < steps_; ++s) {
      const int count = static_cast<int>(std::min<Index>(each, b_.k - s * each));
      const std::uint8_t* rows[4];
      for (int i = 0; i < 4; ++i) rows[i] = from + (s * each + std::min(i, count - 1)) * b_.right.row;
      if (b_.n % WIDTH) std::fill_n(panels + ((panels_ - 1) * steps_ + s) * WIDTH, WIDTH, 0);
      right_.interleave(rows, count, zero, b_.n, panels + s * WIDTH, steps_ * WIDTH);
    }
    return;
  }
  if (b_.n % WIDTH) std::fill_n(panels + (panels_ - 1) * steps_ * WIDTH, steps_ * WIDTH, 0);
  constexpr Index PIECE = 256;
  alignas(64) std::int32_t column[PIECE];
  for (Index j = 0; j < b_.n; ++j)
    for (Index s = 0; s < steps_; s += PIECE) {
      const Index count = std::min(PIECE, steps_ - s);
      std::int32_t* to = panels + (j / WIDTH * steps_ + s) * WIDTH + j % WIDTH;
      right_.pack(from + j * b_.right.column + s * each, std::min(count * each, b_.k - s * each), zero, column);
      for (Index i = 0; i < count; ++i) to[i * WIDTH] = column[i];
    }
}

void BatchedProducts::run(const Run& run) const {
  const Index count = static_cast<Index>(b_.result.size());
  if (!count || !b_.m || !b_.n) {
    epilogue_of(run, nullptr);
    return;
  }
  Divided memory(run.scratch);
  float* made = memory.take<float>(columns());
  std::vector<Memory> each(threads_);
  for (Memory& m : each) m = divide(memory);
  const Epilogue all = epilogue_of(run, made);
  const int left_zero = b_.left_zero < 0 ? 0 : number(run.in[b_.left_zero], left_.is_signed, 0);
  const int right_zero = b_.right_zero < 0 ? 0 : number(run.in[b_.right_zero], right_.is_signed, 0);
  const int row_zero = left_.zero(left_zero), column_zero = right_.zero(right_zero);
  const Index size = all.kind == Epilogue::Kind::quantized ? 1 : all.kind == Epilogue::Kind::sums ? 4 : size_of(all.type);
  const double nanoseconds = 1 + flops / count / 300;
  run.ranges(count, 1 + static_cast<Index>(8e3 / nanoseconds), [&](Index begin, Index end, int thread) {
    const Memory& own = each[thread];
    const MatrixRegisters registers(matrix_);
    alignas(64) std::int32_t zeros[WIDTH];
    std::fill_n(zeros, WIDTH, column_zero);
    for (Index item = begin; item < end; ++item) {
      pack_right(run.input<std::uint8_t>(b_.right.input) + b_.right.begin[item], right_zero, own.panels);
      for (Index i = 0; i < b_.m; ++i) {
        const auto* row = run.input<std::uint8_t>(b_.left.input) + b_.left.begin[item] + i * b_.left.row;
        const std::int32_t sum = left_.pack(row, b_.k, left_zero, own.left + i * ld_);
        own.row_zero[i] = row_zero;
        own.row_term[i] = sum - static_cast<std::int32_t>(b_.k) * row_zero;
      }
      Epilogue there = all;
      there.out = static_cast<std::byte*>(all.out) + b_.result[item] * size;
      const Strips cut(b_.m, form_, matrix_);
      const Index strips = cut.count();
      for (Index panel = 0; panel < panels_; ++panel) {
        const std::int32_t* right = own.panels + panel * steps_ * WIDTH;
        if (form_ == Form::bytes && row_zero) column_sums(form_, right, steps_, false, own.sums);
        for (Index strip = 0; strip < strips; ++strip) {
          const Index row = cut.first(strip);
          Tile tile{form_,
                    false,
                    steps_,
                    own.left + row * ld_,
                    ld_,
                    right,
                    row,
                    panel * WIDTH,
                    static_cast<int>(cut.first(strip + 1) - row),
                    static_cast<int>(std::min<Index>(WIDTH, b_.n - panel * WIDTH))};
          tile.matrix = strip < cut.tall;
          tile.row_zero = own.row_zero;
          tile.row_term = own.row_term;
          if (form_ == Form::bytes && row_zero) tile.column_sum = own.sums;
          if (column_zero) tile.column_zero = zeros;
          compute(tile, there);
        }
      }
    }
  });
}

namespace {

// -- ONNX: MatMulInteger and QLinearMatMul of matrices on both sides ---------------------------------------------------------

struct Scales {
  int a = -1, b = -1, y = -1, zero = -1;
};

class Onnx : public BatchedProducts {
 public:
  Onnx(Batches batches, const Scales& scales, const Call& call)
      : BatchedProducts(batches, call), scales_(scales), ld_(batches.ld), is_signed_(call.out[0].dtype == DType::i8) {}

 protected:
  Epilogue epilogue_of(const Run& run, float* columns) const override {
    Epilogue f;
    f.out = run.out[0];
    f.ld = ld_;
    if (scales_.a < 0 || !columns) return f;
    f.kind = Epilogue::Kind::quantized;
    std::fill_n(columns, this->columns(), *run.input<float>(scales_.a) * *run.input<float>(scales_.b) / *run.input<float>(scales_.y));
    f.scale = columns;
    f.zero = number(run.in[scales_.zero], is_signed_, 0);
    f.is_signed = is_signed_;
    return f;
  }

 private:
  Scales scales_;
  Index ld_;
  bool is_signed_;
};

bool is_one_or_none(const Call& call, int i, DType dtype) { return i < 0 || (call.in[i].size() == 1 && call.in[i].dtype == dtype); }

}  // namespace

std::unique_ptr<Kernel> batched_matmul(const Call& call, int a, int b, int a_zero, int b_zero, const std::array<int, 4>& scales) {
  const Tensor &x = call.in[a], &w = call.in[b], &y = call.out[0];
  if (x.rank() < 2 || w.rank() < 2 || !is_byte(x.dtype) || !is_byte(w.dtype)) return nullptr;
  if (!is_one_or_none(call, a_zero, x.dtype) || !is_one_or_none(call, b_zero, w.dtype)) return nullptr;
  const Scales s{scales[0], scales[1], scales[2], scales[3]};
  for (int i : {s.a, s.b, s.y})
    if (!is_one_or_none(call, i, DType::f32)) return nullptr;
  if (s.a >= 0 && (!is_byte(y.dtype) || !is_one_or_none(call, s.zero, y.dtype))) return nullptr;
  want(s.a >= 0 || y.dtype == DType::i32);
  Batches p;
  p.m = x.shape[x.rank() - 2], p.k = x.shape.back(), p.n = w.shape.back();
  want(y.rank() >= 2 && w.shape[w.rank() - 2] == p.k && y.shape[y.rank() - 2] == p.m && y.shape.back() == p.n);
  p.left = {a, {}, p.k, 1};
  p.right = {b, {}, p.n, 1};
  p.left_zero = a_zero;
  p.right_zero = b_zero;
  p.ld = p.n;
  const chain::Ints shape(y.shape.begin(), y.shape.end() - 2);
  Index count = 1;
  for (Index d : shape) count = times(count, d);
  want(count <= 1 << 20);  // each is remembered
  Tensor outer[2];
  const Tensor* whole[2] = {&x, &w};
  std::vector<chain::Ints> strides;
  for (int i : {0, 1}) {
    outer[i].shape.assign(whole[i]->shape.begin(), whole[i]->shape.end() - 2);
    const auto& own = outer[i].shape;
    want(own.size() <= shape.size());
    for (std::size_t d = 0; d < own.size(); ++d) want(own[d] == 1 || own[d] == shape[shape.size() - own.size() + d]);
    strides.push_back(chain::strides_of(outer[i], shape));
  }
  for (Index item = 0; item < count; ++item) {
    Index at[2] = {0, 0}, rest = item;
    for (Index d = static_cast<Index>(shape.size()) - 1; d >= 0; --d) {
      for (int i : {0, 1}) at[i] += rest % shape[d] * strides[i][d];
      rest /= shape[d];
    }
    p.left.begin.push_back(at[0] * p.m * p.k);
    p.right.begin.push_back(at[1] * p.k * p.n);
    p.result.push_back(item * p.m * p.n);
  }
  return std::make_unique<Onnx>(std::move(p), s, call);
}

namespace {

// -- MXNet: the two products of self-attention; see hybrid/ops/subgraph.py -----------------------------------------------------

class Attention : public BatchedProducts {
 public:
  // ranges: of projections and of the other operand, which may be they again
  Attention(Batches batches, std::array<int, 2> ranges, std::array<bool, 2> is_signed, float factor, const Call& call)
      : BatchedProducts(batches, call),
        ld_(batches.ld),
        ranges_(ranges),
        signed_(is_signed),
        factor_(factor),
        type_(call.out[0].dtype) {
    const Attrs& attrs = call.attrs;
    if (attrs.has("min_calib_range") && attrs.has("max_calib_range")) {
      low_ = static_cast<float>(attrs.real("min_calib_range"));
      high_ = static_cast<float>(attrs.real("max_calib_range"));
    }
    attrs.ignore("min_calib_range", "max_calib_range");
    want(attrs.flag("quantized"));
    want(type_ == (attrs.flag("enable_float_output") ? DType::f32 : low_ && high_ ? DType::i8 : DType::i32));
    for (int first : ranges_)
      for (int i : {0, 1}) want(call.in[first + i].dtype == DType::f32), want_size(call.in[first + i], 1);
    want(call.out.size() == (type_ == DType::f32 ? 1u : 3u));
    for (std::size_t i = 1; i < call.out.size(); ++i) want(call.out[i].dtype == DType::f32), want_size(call.out[i], 1);
  }

 protected:
  Epilogue epilogue_of(const Run& run, float* columns) const override {
    float reaches[2], scales[2];
    for (int i : {0, 1}) {
      reaches[i] = reach(run.input<float>(ranges_[i]), run.input<float>(ranges_[i] + 1));
      scales[i] = steps_to(signed_[i] ? 127.5f : 255.5f, reaches[i]);
    }
    Epilogue f;
    f.kind = Epilogue::Kind::followed;
    f.out = run.out[0];
    f.ld = ld_;
    f.type = type_;
    f.most = type_ == DType::i32 ? 2147483520.f : 127.f;
    float scale = factor_;
    if (type_ != DType::i32) {
      const float unit = type_ == DType::f32 ? 1.f : steps_to(127.5f, reach(&*low_, &*high_));
      scale = unit / scales[0] / scales[1] * factor_;
    }
    if (type_ == DType::i8) {
      *run.output<float>(1) = *low_;
      *run.output<float>(2) = *high_;
    } else if (type_ == DType::i32) {
      const float most = (reaches[1] / (signed_[1] ? 127.f : 255.f)) * (reaches[0] / 127.f) * 2147483648.f;
      *run.output<float>(1) = -most;
      *run.output<float>(2) = most;
    }
    if (columns) std::fill_n(columns, this->columns(), scale);
    f.scale = columns;
    return f;
  }

 private:
  static float steps_to(float levels, float most) {
    const float scale = levels / most;
    return std::isinf(scale) ? 2147483648.f : scale;
  }

  Index ld_;
  std::array<int, 2> ranges_;
  std::array<bool, 2> signed_;
  float factor_;
  DType type_;
  std::optional<float> low_, high_;
};

// Projections (T, N, heads * 3 * D), where the three parts of a head lie side by side.
struct Interleaved {
  Index steps, batch, heads, size;

  explicit Interleaved(const Call& call) : steps(call.in[0].shape[0]), batch(call.in[0].shape[1]), heads(call.attrs.integer("heads")) {
    want(call.in[0].rank() == 3 && call.in[0].dtype == DType::i8 && heads > 0);
    size = call.in[0].shape[2] / times(heads, 3);
    want(size > 0 && size <= 65000 && call.in[0].shape[2] == 3 * heads * size && times(batch, heads) <= 1 << 20);
  }
  Index row() const { return batch * heads * 3 * size; }
  Index at(Index product, Index part) const { return product * 3 * size + part * size; }
};

}  // namespace
}  // namespace integer

std::unique_ptr<Kernel> bind_quantized_scores(const Call& call) {
  const integer::Interleaved all(call);
  want_shape(call.out[0], {all.batch * all.heads, all.steps, all.steps});
  integer::Batches p;
  p.m = p.n = p.ld = all.steps;
  p.k = all.size;
  p.left = {0, {}, all.row(), 1};
  p.right = {0, {}, 1, all.row()};
  for (integer::Index i = 0; i < all.batch * all.heads; ++i) {
    p.left.begin.push_back(all.at(i, 0));
    p.right.begin.push_back(all.at(i, 1));
    p.result.push_back(i * all.steps * all.steps);
  }
  const auto factor = static_cast<float>(1 / std::sqrt(static_cast<double>(all.size)));
  return std::make_unique<integer::Attention>(p, std::array{1, 1}, std::array{true, true}, factor, call);
}

std::unique_ptr<Kernel> bind_quantized_values(const Call& call) {
  const integer::Interleaved all(call);
  const integer::Index rows = call.in[1].shape[1], count = all.batch * all.heads;
  want_shape(call.in[1], {count, rows, all.steps});
  want_shape(call.out[0], {rows, all.batch, all.heads * all.size});
  want(call.in[1].dtype == DType::u8 && all.steps <= 65000);
  integer::Batches p;
  p.m = rows, p.n = all.size, p.k = all.steps;
  p.ld = count * all.size;
  p.left = {1, {}, all.steps, 1};
  p.right = {0, {}, all.row(), 1};
  for (integer::Index i = 0; i < count; ++i) {
    p.left.begin.push_back(i * rows * all.steps);
    p.right.begin.push_back(all.at(i, 2));
    p.result.push_back(i * all.size);
  }
  // the range of the projections comes first, as the dtype does
  return std::make_unique<integer::Attention>(p, std::array{2, 4}, std::array{true, false}, 1.f, call);
}

}  // namespace gluonnx
