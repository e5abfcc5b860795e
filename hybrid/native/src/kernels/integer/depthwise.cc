#include "bytes.h"
#include "convolution.h"

namespace gluonnx::integer {
namespace {

class Depthwise : public Convolution {
 public:
  Depthwise(const Geometry& geometry, const Operands& operands, const Call& call)
      : Convolution(geometry, operands, call), form_(best_form()), each_(numbers_of(form_)), threads_(call.threads) {
    left_ = {form_, w_signed_, true};
    right_ = {form_, x_signed_, OTHER_SIGNED};
    row_steps_ = steps_of(form_, g_.axis[2].kernel);
    phase_ = g_.phase();
    line_ = rounded_up(g_.axis[0].padded() * g_.axis[1].padded() * phase_, WIDTH);
    for (Index d = 0; d < g_.axis[0].kernel; ++d)
      for (Index h = 0; h < g_.axis[1].kernel; ++h)
        for (Index k = 0; k < row_steps_; ++k)
          places_.push_back(k * line_ + (d * g_.axis[0].dilation * g_.axis[1].padded() + h * g_.axis[1].dilation) * phase_);
    for (Index k = 0; k < row_steps_; ++k)
      for (int i = 0; i < 4; ++i) {
        const Index x = std::min(k * each_ + std::min(i, each_ - 1), g_.axis[2].kernel - 1) * g_.axis[2].dilation;
        taps_.push_back(x % g_.axis[2].stride * (g_.plane() / g_.axis[2].stride) + x / g_.axis[2].stride);
      }
    // rows of windows that follow one another are one piece, with what lies between them, of a size that stays at hand
    together_ = g_.axis[1].stride == 1 ? std::clamp<Index>(2048 / phase_, 1, std::max<Index>(1, g_.axis[1].steps)) : 1;
    piece_ = rounded_up((together_ - 1) * phase_ + g_.axis[2].steps, LANES);
    Divided counted(nullptr);
    divide(counted);
    scratch = counted.used();
    how = std::string("depthwise ") + name(form_);
  }

  void prepare(const void* const* in, Pool*) override {
    if (!given(in)) return;
    Divided counted(nullptr);
    divide_left(counted);
    Divided kept(kept_.resize(counted.used()));
    pack(in, divide_left(kept));
  }

  void run(const Run& run) const override {
    give_range(run);
    if (!g_.batch || !g_.filters || !g_.places()) return;
    Divided memory(run.scratch), kept(kept_.data());
    const Memory made = divide(memory);
    const Left left = constant_ ? divide_left(kept) : made.left;
    if (!constant_) pack(run.in, left);
    bool shifted = false;
    for (Index f = 0; f < g_.filters && !shifted; ++f) shifted = left.zeros[f];
    const int zero = x_zero(run.in);
    Epilogue epilogue = epilogue_of(run, made.rows);
    set_bias(run, epilogue, right_.zero(zero), left.terms, made.bias);
    const Index steps = static_cast<Index>(places_.size()), width = g_.axis[2].steps, high = g_.axis[1].steps;
    const double each = 1 + g_.share() * g_.places() * (3 + steps) / 16.;  // nanoseconds, about
    run.ranges(g_.batch * g_.channels, 1 + static_cast<Index>(8e3 / each), [&](Index begin, Index end, int thread) {
      std::int32_t *plane = made.planes + thread * plane_size(), *sums = made.sums + thread * 2 * piece_, *all = sums + piece_;
      std::uint8_t* straight = made.straight + thread * straight_size();
      for (Index i = begin; i < end; ++i) {
        fill(run.input<std::uint8_t>(at_.x) + i * g_.image(), zero, straight, plane);
        const Epilogue there = moved(epilogue, i / g_.channels);
        for (Index f = i % g_.channels * g_.share(); f < (i % g_.channels + 1) * g_.share(); ++f)
          for (Index d = 0; d < g_.axis[0].steps; ++d)
            for (Index h = 0; h < high; h += together_) {
              const Index rows = d * g_.axis[0].stride * g_.axis[1].padded() + h * g_.axis[1].stride;
              const std::int32_t* from = plane + rows * phase_;
              slide(form_, steps, left.weights + f * steps, from, places_.data(), piece_, sums);
              if (shifted && left.zeros[f]) {
                slide(form_, steps, left.ones, from, places_.data(), piece_, all);
                for (Index j = 0; j < piece_; ++j) sums[j] -= left.zeros[f] * all[j];
              }
              for (Index r = 0; r < std::min(together_, high - h); ++r)
                there(sums + r * phase_, f, (d * high + h + r) * width, width);
            }
      }
    });
  }

 private:
  struct Left {
    std::int32_t *weights, *ones, *zeros, *terms;
  };
  struct Memory {
    std::int32_t *planes, *sums, *bias;
    float* rows;
    std::uint8_t* straight;
    Left left{};
  };
  // with what a piece reads beyond the last row
  Index plane_size() const { return rounded_up(row_steps_ * line_ + piece_, 16); }
  Index straight_size() const { return rounded_up(2 * g_.plane() + g_.row() + 4 * WIDTH, 64); }
  Left divide_left(Divided& memory) const {
    const Index steps = static_cast<Index>(places_.size());
    return {memory.take<std::int32_t>(g_.filters * steps), memory.take<std::int32_t>(steps), memory.take<std::int32_t>(g_.filters),
            memory.take<std::int32_t>(g_.filters)};
  }
  Memory divide(Divided& memory) const {
    Memory made{memory.take<std::int32_t>(threads_ * plane_size()), memory.take<std::int32_t>(threads_ * 2 * piece_ + LANES),
                memory.take<std::int32_t>(g_.filters), memory.take<float>(2 * g_.filters),
                memory.take<std::uint8_t>(threads_ * straight_size())};
    if (!constant_) made.left = divide_left(memory);
    return made;
  }

  // Weights as steps.
  void pack(const void* const* in, const Left& to) const {
    const Index steps = static_cast<Index>(places_.size()), taps = g_.taps(), wide = g_.axis[2].kernel;
    const ZeroPoint given = w_zero(in);
    std::fill(to.weights, to.weights + g_.filters * steps, 0);
    std::fill(to.ones, to.ones + steps, 0);
    std::fill(to.terms, to.terms + g_.filters, 0);
    for (Index t = 0; t < taps; ++t) {
      const Index step = t / wide * row_steps_ + t % wide / each_;
      const int part = static_cast<int>(t % wide % each_);
      to.ones[step] |= static_cast<std::int32_t>(left_.placed(1, part));
      for (Index f = 0; f < g_.filters; ++f) {
        const int x = left_.stored(number(in[at_.w], w_signed_, f * taps + t), given.at(f));
        to.weights[f * steps + step] |= static_cast<std::int32_t>(left_.placed(x, part));
        to.terms[f] += x;
      }
    }
    for (Index f = 0; f < g_.filters; ++f) {
      to.zeros[f] = left_.zero(given.at(f));
      to.terms[f] -= static_cast<std::int32_t>(taps) * to.zeros[f];
    }
  }

  // For each step the pixels of its taps, window by window and row by row of the padded plane; beyond the last window of a row
  // there is anything. straight: memory for two padded planes. Each of the three passes goes over all rows: loads that follow right
  // upon stores of another size would wait for these.
  void fill(const std::uint8_t* x, int zero, std::uint8_t* straight, std::int32_t* to) const {
    const Axis &deep = g_.axis[0], &high = g_.axis[1], &wide = g_.axis[2];
    const Index stride = wide.stride, row = g_.row(), rows = deep.padded() * high.padded();
    const Index begin = std::min(wide.before, row), end = std::max(begin, std::min(wide.before + wide.size, row));
    std::memset(straight, zero, g_.plane());
    for (Index z = 0; z < deep.size; ++z)
      for (Index y = 0; y < high.size; ++y) {
        const Index d = z + deep.before, h = y + high.before;
        if (d < deep.padded() && h < high.padded())
          std::memcpy(straight + (d * high.padded() + h) * row + begin, x + (z * high.size + y) * wide.size, end - begin);
      }
    std::uint8_t* phases = stride > 1 ? straight + g_.plane() : straight;
    if (stride == 2) halve(straight, rows * phase_, phases);
    else if (stride > 1)
      for (Index p = 0; p < stride; ++p)
        for (Index i = 0; i < rows * phase_; ++i) phases[p * rows * phase_ + i] = straight[p + i * stride];
    for (Index k = 0; k < row_steps_; ++k, to += line_) {
      const Index* at = taps_.data() + 4 * k;
      const std::uint8_t* const from[] = {phases + at[0], phases + at[1], phases + at[2], phases + at[3]};
      const int count = static_cast<int>(std::min<Index>(each_, wide.kernel - k * each_));
      right_.interleave(from, count, zero, rows * phase_, to);
    }
  }
  // Pairs of bytes as one row of their firsts and one of the others.
  static void halve(const std::uint8_t* from, Index count, std::uint8_t* to) {
    typedef std::uint16_t Two __attribute__((vector_size(LANES * 2), aligned(1), may_alias));
    for (Index i = 0; i < count; i += LANES) {
      const RegI both = __builtin_convertvector(*reinterpret_cast<const Two*>(from + 2 * i), RegI);
      put_bytes(to + i, both, count - i);
      put_bytes(to + count + i, both >> 8, count - i);
    }
  }
  Form form_;
  int each_, threads_;
  Encoding left_{}, right_{};
  Index row_steps_, line_, phase_, together_, piece_;
  PackedWeights kept_;
  std::vector<Index> places_, taps_;  // where lines of steps and, for four taps of each step, pixels are
};

}  // namespace

std::unique_ptr<Kernel> make_depthwise(const Geometry& geometry, const Operands& operands, const Call& call) {
  return std::make_unique<Depthwise>(geometry, operands, call);
}

}  // namespace gluonnx::integer
