// Convolutions of 8-bit numbers: ConvInteger, QLinearConv and MXNet's quantised Convolution, with one to three spatial axes.
//
// The filters are the left operand, pixels are the columns. The input is first written as steps of channels: planes of 32-bit
// elements, each with the same pixel of four (two) channels, with the padding around them. Of a row whose pixels are `stride`
// apart in the windows, those come first that are a multiple of it, and so on, so that a row of windows reads every tap in one
// piece. A panel is then made by copying such pieces, tap by tap.
#include "convolution.h"

#include "bytes.h"

namespace gluonnx {
namespace integer {
namespace {

class Panels : public Convolution {
 public:
  Panels(const Geometry& geometry, const Operands& operands, const Call& call)
      : Convolution(geometry, operands, call), taps_(g_.all_taps()), threads_(call.threads) {
    points_ = true;
    for (const Axis& axis : g_.axis) points_ &= axis.kernel == 1 && axis.stride == 1 && !axis.before && axis.size == axis.steps;
    panels_ = divided_up(g_.places(), WIDTH);
    forms_ = forms_of(constant_);
    for (auto form = forms_.rbegin(); form != forms_.rend(); ++form) {
      choose(*form);
      Divided counted(nullptr);
      divide(counted);
      scratch = std::max(scratch, counted.used());
    }
  }

  void prepare(const void* const* in, Pool* pool) override {
    if (!given(in)) return;
    for (Form form : forms_) {
      choose(form);
      kept_ = std::make_shared<Packed>();
      kept_->form = form;
      Divided counted(nullptr);
      divide_left(counted);
      Divided kept(kept_->memory.resize(counted.used()));
      const Left left = divide_left(kept);
      pack_left(in, left, pool);
      if (is_fitted(form)) fit(left, kept_->rest);
      if (kept_->pays(g_.groups * strips_ * steps_)) return;
    }
  }

  void run(const Run& run) const override {
    give_range(run);
    if (!g_.batch || !g_.filters || !g_.places()) return;
    Divided memory(run.scratch), kept(constant_ ? kept_->memory.data() : nullptr);
    const Memory made = divide(memory);
    const Left left = constant_ ? divide_left(kept) : made.left;
    if (!constant_) pack_left(run.in, left, run.pool);
    const int zero = x_zero(run.in);
    run.ranges(g_.batch * g_.groups * layers_, 1 + (1 << 14) / layer_size(), [&](Index begin, Index end, int thread) {
      std::int32_t* row = made.panels + thread * panel_size();
      for (Index i = begin; i < end; ++i) fill_layer(run.input<std::uint8_t>(at_.x), i, zero, made.input, row);
    });
    Epilogue epilogue = epilogue_of(run, made.rows);
    set_bias(run, epilogue, right_.zero(zero), left.term, made.bias);
    bool shifted = false;
    for (Index i = 0; i < g_.filters && !shifted; ++i) shifted = left.zero[i];
    const Index items = g_.batch * g_.groups * panels_ * parts_;
    const double each = 1 + flops / items / 500;  // nanoseconds, about
    const Strips cut(g_.share(), form_, matrix_);
    run.ranges(items, 1 + static_cast<Index>(8e3 / each), [&](Index begin, Index end, int thread) {
      const MatrixRegisters registers(matrix_);
      const std::int32_t* panel = made.panels + thread * panel_size();
      std::int32_t column_sum[WIDTH];
      Tile tile{form_, true, steps_, nullptr, ld_, nullptr, 0, 0, 0, 0};
      for (Index item = begin; item < end; ++item) {
        const Index part = item % parts_, number = item / parts_ % panels_, group = item / parts_ / panels_ % g_.groups;
        const Index image = item / parts_ / panels_ / g_.groups, column = number * WIDTH;
        if (item == begin || !part) {
          const std::int32_t* input = made.input + (image * g_.groups + group) * layers_ * layer_size();
          if (points_) panel = input + number * steps_ * WIDTH;
          else fill_panel(input, column, made.panels + thread * panel_size());
          if (shifted) column_sums(form_, panel, steps_, true, column_sum);
        }
        const Epilogue there = moved(epilogue, image);
        for (Index strip = strips_ * part / parts_; strip < strips_ * (part + 1) / parts_; ++strip) {
          const Index first = cut.first(strip), row = group * g_.share() + first;
          tile.left = left.steps + row * ld_;
          tile.right = panel;
          tile.row = row;
          tile.column = column;
          tile.rows = static_cast<int>(cut.first(strip + 1) - first);
          tile.columns = static_cast<int>(std::min<Index>(WIDTH, g_.places() - column));
          tile.matrix = strip < cut.tall;
          if (constant_) tile.rest = kept_->rest_of(group * strips_ + strip);
          tile.row_zero = left.zero;
          if (shifted) tile.column_sum = column_sum;
          compute(tile, there);
        }
      }
    });
  }

 protected:
  bool take(const Kernel& other) override {
    const auto* like = dynamic_cast<const Panels*>(&other);
    if (!like || !like->kept_ || !constant_ || like->forms_ != forms_ || like->g_.filters != g_.filters ||
        like->g_.depth() != g_.depth() || like->g_.taps() != g_.taps() || like->g_.groups != g_.groups)
      return false;
    kept_ = like->kept_;
    choose(kept_->form);
    return true;
  }

 private:
  struct Left {
    std::int32_t *steps, *zero, *term;
  };

  void choose(Form form) {
    form_ = form;
    each_ = numbers_of(form);
    left_ = {form, w_signed_, true};
    right_ = {form, x_signed_, OTHER_SIGNED};
    layers_ = steps_of(form, g_.depth());
    places_.clear();
    for (Index layer = 0; layer < layers_; ++layer)
      for (Index tap : taps_) places_.push_back(layer * g_.plane() + tap);
    steps_ = static_cast<Index>(places_.size());
    ld_ = rounded_up(steps_, 16) + (steps_ % 256 ? 0 : 16);
    matrix_ = form == Form::bytes && steps_ % STEPS == 0 && g_.share() >= TALL && has_matrix_registers();
    strips_ = Strips(g_.share(), form, matrix_).count();
    // filters are divided too where there are few panels for the threads
    const Index items = std::max<Index>(1, g_.batch * g_.groups * panels_);
    parts_ = threads_ == 1 ? 1 : std::max<Index>(1, std::min(strips_, 4 * threads_ / items));
    how = matrix_ ? "amx" : name(form);
  }

  // Fits the steps of every strip.
  void fit(const Left& left, std::vector<Rest>& rest) const {
    const Strips cut(g_.share(), form_, false);
    rest.resize(g_.groups * strips_);
    for (Index i = 0; i < g_.groups * strips_; ++i) {
      const Index first = cut.first(i % strips_), row = i / strips_ * g_.share() + first;
      rest[i].fit(form_, left.steps + row * ld_, steps_, 1, cut.first(i % strips_ + 1) - first, ld_, HEIGHT);
    }
  }

  struct Memory {
    std::int32_t *input, *panels, *bias;
    float* rows;
    Left left{};
  };

  Left divide_left(Divided& memory) const {
    return {memory.take<std::int32_t>(g_.filters * ld_), memory.take<std::int32_t>(g_.filters),
            memory.take<std::int32_t>(g_.filters)};
  }
  // of a thread, which has its rows of pixels there before
  Index panel_size() const {
    return rounded_up(std::max(points_ ? 0 : steps_ * WIDTH, g_.axis[2].stride > 1 ? g_.row() : 0), 16);
  }
  // Pixels of a layer. Points lie as they are in panels.
  Index layer_size() const { return points_ ? panels_ * WIDTH : g_.plane(); }
  Memory divide(Divided& memory) const {
    Memory made{memory.take<std::int32_t>(g_.batch * g_.groups * layers_ * layer_size()),
                memory.take<std::int32_t>(threads_ * panel_size()), memory.take<std::int32_t>(g_.filters),
                memory.take<float>(2 * g_.filters)};
    if (!constant_) made.left = divide_left(memory);
    return made;
  }

  void pack_left(const void* const* in, const Left& to, Pool* pool) const {
    const ZeroPoint zeros = w_zero(in);
    const Index taps = g_.taps(), size = g_.depth() * taps;
    Run run{nullptr, nullptr, nullptr, pool};
    run.ranges(g_.filters, 1 + (1 << 14) / (size + 1), [&](Index begin, Index end, int) {
      for (Index i = begin; i < end; ++i) {
        const int zero = zeros.at(i);
        std::int32_t* row = to.steps + i * ld_;
        std::int32_t sum = 0;
        std::fill(row, row + ld_, 0);
        for (Index c = 0; c < g_.depth(); ++c)
          for (Index t = 0; t < taps; ++t) {
            const int x = left_.stored(number(in[at_.w], w_signed_, i * size + c * taps + t), zero);
            row[c / each_ * taps + t] |= static_cast<std::int32_t>(left_.placed(x, c % each_));
            sum += x;
          }
        to.zero[i] = left_.zero(zero);
        to.term[i] = sum - static_cast<std::int32_t>(size) * left_.zero(zero);
      }
    });
  }

  // One step's channels of an image's group; layers are numbered through all of them.
  void fill_layer(const std::uint8_t* x, Index number, int zero, std::int32_t* to, std::int32_t* row) const {
    const Index first = number % layers_ * each_;
    const int count = static_cast<int>(std::min<Index>(each_, g_.depth() - first));
    const std::uint8_t* plane[4];
    for (int i = 0; i < 4; ++i) plane[i] = x + (number / layers_ * g_.depth() + first + std::min(i, count - 1)) * g_.image();
    if (points_) {
      to += (number / layers_ * panels_ * layers_ + number % layers_) * WIDTH;
      return right_.interleave(plane, count, zero, g_.places(), to, layers_ * WIDTH);
    }
    std::uint32_t beyond = 0;
    for (int i = 0; i < count; ++i) beyond |= right_.placed(right_.stored(zero, zero), i);
    fill_plane(plane, count, zero, static_cast<std::int32_t>(beyond), to + number * g_.plane(), row);
  }

  // The steps of a padded plane. row: memory for one.
  void fill_plane(const std::uint8_t* const plane[4], int count, int zero, std::int32_t beyond, std::int32_t* to,
                  std::int32_t* row) const {
    const Axis &deep = g_.axis[0], &high = g_.axis[1], &wide = g_.axis[2];
    const Index stride = wide.stride, phase = g_.phase();
    const Index begin = std::min(wide.before, g_.row()), end = std::max(begin, std::min(wide.before + wide.size, g_.row()));
    std::fill(row, row + (stride > 1 ? g_.row() : 0), beyond);
    for (Index d = 0; d < deep.padded(); ++d)
      for (Index h = 0; h < high.padded(); ++h, to += g_.row()) {
        const Index y = h - high.before, z = d - deep.before;
        if (y < 0 || y >= high.size || z < 0 || z >= deep.size) {
          std::fill(to, to + g_.row(), beyond);
          continue;
        }
        const Index source = (z * high.size + y) * wide.size;
        const std::uint8_t* const from[] = {plane[0] + source, plane[1] + source, plane[2] + source, plane[3] + source};
        right_.interleave(from, count, zero, end - begin, (stride > 1 ? row : to) + begin);
        if (stride == 1) {
          std::fill(to, to + begin, beyond);
          std::fill(to + end, to + g_.row(), beyond);
        } else if (stride == 2) {
          for (Index i = 0; i < phase; ++i) to[i] = row[2 * i], to[phase + i] = row[2 * i + 1];
        } else {
          for (Index p = 0; p < stride; ++p)
            for (Index i = 0; i < phase; ++i) to[p * phase + i] = row[p + i * stride];
        }
      }
  }

  // The pixels of WIDTH windows, tap by tap; beyond the last window the columns hold anything.
  void fill_panel(const std::int32_t* input, Index column, std::int32_t* to) const {
    const Index width = g_.axis[2].steps, high = g_.axis[1].steps, end = std::min(column + WIDTH, g_.places());
    for (Index q = column, next; q < end; q = next) {  // windows that follow one another in a row
      next = std::min(end, (q / width + 1) * width);
      const std::int32_t* from = input + g_.start(q / width / high, q / width % high, q % width);
      copy_piece(from, next - q, to + (q - column));
    }
  }
  void copy_piece(const std::int32_t* from, Index count, std::int32_t* to) const {
    for (const Index place : places_) {
      const std::int32_t* p = from + place;
      if (count >= LANES) {  // all but a whole register at its end, which may overlap
        std::memcpy(to, p, LANES * sizeof *to);
        std::memcpy(to + count - LANES, p + count - LANES, LANES * sizeof *to);
      } else {
        put_some(to, get_some(p, count), count);
      }
      to += WIDTH;
    }
  }

  std::vector<Index> taps_;
  std::vector<Form> forms_;
  Form form_;
  std::shared_ptr<Packed> kept_;
  int each_, threads_;
  bool matrix_;
  bool points_;  // windows of one pixel, each: the image is one row, and layers need no copies
  Encoding left_{}, right_{};
  Index layers_, steps_, ld_, panels_, strips_, parts_;
  std::vector<Index> places_;  // of each step, from a window's first pixel
};

// Strides and so on, one per axis; the first of `rank` belongs to axis 3 - rank.
std::unique_ptr<Kernel> make(const Operands& at, const Call& call, Index groups, const std::vector<Index>& strides,
                             const std::vector<Index>& dilations, const std::vector<Index>& before) {
  const Tensor &x = call.in[at.x], &w = call.in[at.w], &y = call.out[0];
  const int rank = x.rank() - 2;
  if (rank < 1 || rank > 3 || !is_byte(x.dtype) || !is_byte(w.dtype) || groups < 1) return nullptr;
  for (const auto* sizes : {&strides, &dilations, &before}) want(sizes->size() >= static_cast<std::size_t>(rank));
  want(w.rank() == x.rank() && y.rank() == x.rank() && x.shape[1] % groups == 0 && w.shape[0] % groups == 0);
  want(w.shape[1] == x.shape[1] / groups && y.shape[0] == x.shape[0] && y.shape[1] == w.shape[0]);
  for (int i = 0; i < rank; ++i) {
    want_windows(y.shape[2 + i], w.shape[2 + i], strides[i], dilations[i], before[i]);
    want(before[i] >= 0);
  }
  Geometry g{x.shape[0], x.shape[1], w.shape[0], groups, {}};
  for (int i = 0; i < rank; ++i)
    g.axis[3 - rank + i] = {x.shape[2 + i], w.shape[2 + i], strides[i], dilations[i], before[i], y.shape[2 + i]};
  for (const Axis& axis : g.axis)
    if (axis.kernel < 1) return nullptr;
  if (!g.depth()) return nullptr;
  auto suits = [&](int i, DType dtype) {
    return i < 0 || is_one(call.in[i], dtype) || (call.in[i].dtype == dtype && call.in[i].size() == g.filters);
  };
  if ((at.x_zero >= 0 && !is_one(call.in[at.x_zero], x.dtype)) || !suits(at.w_zero, w.dtype)) return nullptr;
  if (at.kind == Epilogue::Kind::quantized &&
      (!is_one(call.in[at.x_scale], DType::f32) || !is_one(call.in[at.y_scale], DType::f32) || !suits(at.w_scale, DType::f32) ||
       !is_byte(y.dtype) || !is_one(call.in[at.y_zero], y.dtype) ||
       (at.bias >= 0 && (call.in[at.bias].dtype != DType::i32 || call.in[at.bias].size() != g.filters))))
    return nullptr;
  if (at.kind == Epilogue::Kind::sums || at.kind == Epilogue::Kind::rounded) want(y.dtype == DType::i32);
  want_ranges(call, at.ranges);
  if (at.kind == Epilogue::Kind::rounded && at.bias >= 0)
    want(call.in[at.bias].dtype == DType::i8), want_size(call.in[at.bias], g.filters);
  if (g.depth() == 1 && g.groups > 1 && g.share() <= 4) return make_depthwise(g, at, call);
  return std::make_unique<Panels>(g, at, call);
}

// ONNX's attributes
std::unique_ptr<Kernel> make_onnx(const Operands& at, const Call& call) {
  const int rank = call.in[at.x].rank() - 2;
  if (rank < 1 || rank > 3) return nullptr;
  const std::vector<Index> ones(rank, 1);
  call.attrs.ignore("kernel_shape", "given");
  const auto strides = call.attrs.ints("strides", ones), dilations = call.attrs.ints("dilations", ones);
  auto pads = call.attrs.ints("pads", std::vector<Index>(2 * rank, 0));
  const std::string padding = call.attrs.text("auto_pad", "NOTSET");
  if (padding != "NOTSET") std::fill(pads.begin(), pads.end(), 0);
  for (const auto* sizes : {&strides, &dilations}) want(sizes->size() == ones.size());
  want(pads.size() == 2 * ones.size());
  if (padding == "SAME_UPPER" || padding == "SAME_LOWER")
    for (int i = 0; i < rank; ++i) {
      want_windows(call.out[0].shape[2 + i], call.in[at.w].shape[2 + i], strides[i], dilations[i], 0);
      const Axis axis{0, call.in[at.w].shape[2 + i], strides[i], dilations[i], 0, call.out[0].shape[2 + i]};
      const Index whole = std::max<Index>(0, axis.padded() - call.in[at.x].shape[2 + i]);
      pads[i] = padding == "SAME_UPPER" ? whole / 2 : whole - whole / 2;
    }
  return make(at, call, call.attrs.integer("group"), strides, dilations, pads);
}

}  // namespace
}  // namespace integer

std::unique_ptr<Kernel> bind_conv_integer(const Call& call) {
  integer::Operands at;
  int next = 2;
  if (call.attrs.names("given", "x_zero_point")) at.x_zero = next++;
  if (call.attrs.names("given", "w_zero_point")) at.w_zero = next++;
  return integer::make_onnx(at, call);
}

std::unique_ptr<Kernel> bind_qlinear_conv(const Call& call) {
  integer::Operands at;
  at.x_scale = 1;
  at.x_zero = 2;
  at.w = 3;
  at.w_scale = 4;
  at.w_zero = 5;
  at.y_scale = 6;
  at.y_zero = 7;
  if (call.in.size() > 8) at.bias = 8;
  at.kind = integer::Epilogue::Kind::quantized;
  return integer::make_onnx(at, call);
}

std::unique_ptr<Kernel> bind_quantized_conv(const Call& call) {
  call.attrs.ignore("num_filter", "workspace", "no_bias", "cudnn_tune", "cudnn_off", "layout", "kernel", "training");
  integer::Operands at;
  const integer::Index rank = call.in[0].rank() - 2;
  const std::vector<integer::Index> ones(std::max<integer::Index>(1, rank), 1), zeros(ones.size(), 0);
  at.ranges = 2;
  if (call.in.size() == 9) at.bias = at.ranges++;
  at.kind = integer::Epilogue::Kind::rounded;
  const auto groups = call.attrs.integer("num_group");
  const auto strides = call.attrs.ints("stride", ones), dilations = call.attrs.ints("dilate", ones);
  const auto before = call.attrs.ints("pad", zeros);
  // NumPy's sums do not wrap round
  const Tensor& w = call.in[1];
  if (w.shape[0] < 1 || w.size() / w.shape[0] > 65000) return nullptr;
  return integer::make(at, call, groups, strides, dilations, before);
}

std::unique_ptr<Kernel> bind_fused_quantized_conv(const Call& call) {
  call.attrs.ignore("num_filter", "kernel");
  want(call.in.size() > 2 && call.in[1].rank() > 2 && call.in[1].dtype == DType::i8);
  const Tensor& w = call.in[1];
  integer::Operands at;
  at.kind = integer::Epilogue::Kind::followed;
  at.layer = integer::Layer::of(call, w.shape[0]);
  // NumPy's sums do not wrap round
  if (w.shape[0] < 1 || w.size() / w.shape[0] > 65000) return nullptr;
  return integer::make(at, call, call.attrs.integer("num_group"), call.attrs.ints("stride"), call.attrs.ints("dilate"),
                       call.attrs.ints("pad"));
}

}  // namespace gluonnx
