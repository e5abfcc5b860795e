// The operator _fused_separable: a convolution of each channel for itself, and one of 1 x 1 of what it gives. Some rows at a time, the
// second reads what the first has just written, before it leaves the core's cache, and before another core asks for it.
#include "conv.h"

namespace gluonnx {
namespace conv {
namespace {

// Into how many parts the rows of an image are cut, so that what the first convolution gives of a part stays in cache and no
// thread waits for another; 0 when there are no such parts.
Index parts_of(const Shape& first, int threads) {
  constexpr double CACHE = 1 << 19;  // a quarter of the second level: input, weights and output pass there too
  const double bytes = 4.0 * blocks_of(first.filters) * BLOCK * first.pixels(), height = first.out_height;
  const Index least = std::max<Index>(1, static_cast<Index>(bytes / CACHE + 0.999));
  for (Index parts = least; parts <= std::min<Index>(first.out_height, least + 2 * threads); ++parts) {
    const Index rows = (first.out_height + parts - 1) / parts, turns = (first.batch * parts + threads - 1) / threads;
    if (rows * turns * threads <= 1.1 * height * first.batch) return parts;
  }
  return 0;
}

class DepthwisePointwise : public Kernel, public Keeper {
 public:
  DepthwisePointwise(const Shape& first, const Shape& second, const Call& call, int bias, int residual)
      : first_(first), residual_(residual), parts_(parts_of(first, call.threads)) {
    const Attrs& a = call.attrs;
    const Epilogue epilogue = epilogue_of(a);
    const View in = view_of(call.in[0]);
    out_ = view_of(call.out[0]);
    more_ = residual ? view_of(call.in[residual]) : out_;
    rows_ = parts_ ? (first.out_height + parts_ - 1) / parts_ : first.out_height;
    const Index row = first.out_width * BLOCK;
    between_ = {blocks_of(first.filters) * rows_ * row, rows_ * row, row, BLOCK, 0, 0};
    Shape part = second;
    if (parts_) part.batch = 1, part.height = part.out_height = rows_;
    most_ = std::make_unique<Direct>(part, true, between_, out_, more_, epilogue, call.threads);
    if (parts_ && first.out_height % parts_) {
      --part.height, --part.out_height;
      less_ = std::make_unique<Direct>(part, true, between_, out_, more_, epilogue, call.threads, most_->group());
    }
    ahead_ = std::make_unique<Lanewise>(first, in, between_, between_, epilogue_of(a, "first_"), call.threads, parts_);

    own_size_ = aligned(ahead_->thread_size() * sizeof(float)) / sizeof(float);
    thread_size_ = own_size_ + aligned(between_.batch * sizeof(float)) / sizeof(float);
    scratch = parts_ ? call.threads * thread_size_ * sizeof(float) : between_bytes() + std::max(ahead_->scratch(), most_->scratch());
    stored_[0] = Stored(call, 1, 2, ahead_->weight_size(), first, scratch);
    stored_[1] = Stored(call, 3, bias, most_->weight_size(), second, scratch);
    flops = first.flops() + second.flops();
    zeroes = true;
    chunks_ = chunks_for(flops, first.batch * std::max<Index>(1, parts_), call.threads);
    how = (parts_ ? std::to_string(rows_) + " rows, " : "one after the other, ") + ahead_->how() + ", " + most_->how();
  }

  void prepare(const void* const* in, Pool* pool) override {
    stored_[0].prepare(in, pool, *ahead_);
    stored_[1].prepare(in, pool, *most_);
  }
  bool reads(int input) const override { return !stored_[0].packs(input) && !stored_[1].packs(input); }
  bool take(const Kernel& other) override {
    const auto* from = dynamic_cast<const DepthwisePointwise*>(&other);
    if (!from || !ahead_->packs_as(*from->ahead_) || !most_->packs_as(*from->most_)) return false;
    return stored_[0].take(from->stored_[0]) && stored_[1].take(from->stored_[1]);
  }
  std::vector<Kept> kept() override {
    std::vector<Kept> all;
    stored_[0].keep(ahead_->form(), all);
    stored_[1].keep(most_->form(), all);
    return all;
  }

  void run(const Run& run) const override {
    Operands first{run.input<float>(0)}, second{};
    second.out = run.output<float>();
    if (residual_) second.residual = run.input<float>(residual_);
    stored_[0].lend(run, *ahead_, first);
    stored_[1].lend(run, *most_, second);
    if (!parts_) {
      first.out = reinterpret_cast<float*>(run.scratch);
      second.in = first.out;
      ahead_->run(run, first, run.scratch + between_bytes());
      most_->run(run, second, run.scratch + between_bytes());
      return;
    }
    const Index units = first_.batch * parts_, chunks = chunks_ == 1 ? 1 : units;
    run.parallel(chunks, [&](Index chunk, int thread) {
      float* own = reinterpret_cast<float*>(run.scratch) + thread * thread_size_;
      for (Index unit = units * chunk / chunks; unit < units * (chunk + 1) / chunks; ++unit) part(first, second, unit, own);
    });
  }

 private:
  std::size_t between_bytes() const { return aligned(first_.batch * between_.batch * sizeof(float)); }

  void part(const Operands& first, Operands second, Index unit, float* own) const {
    const Index n = unit / parts_, number = unit % parts_;
    const Index y0 = first_.out_height * number / parts_, y1 = first_.out_height * (number + 1) / parts_;
    float* between = own + own_size_;
    for (Index b = 0; b < blocks_of(first_.filters); ++b)
      ahead_->rows(first, n, b, y0, y1, own, nullptr, between + b * between_.plane);
    second.in = between;
    second.out += n * out_.batch + y0 * out_.row;
    if (second.residual) second.residual += n * more_.batch + y0 * more_.row;
    (y1 - y0 == rows_ ? most_ : less_)->alone(second, y0 > 0, y1 < first_.out_height);
  }

  Shape first_;
  int residual_;  // which input, 0 for none
  Index parts_;   // of an image's rows; 0: the one convolution after the other
  Index rows_;    // of the larger parts
  View between_, out_, more_;
  std::unique_ptr<Lanewise> ahead_;
  std::unique_ptr<Direct> most_, less_;  // for parts of rows_ rows, and of one less
  Stored stored_[2];
  Index own_size_ = 0, thread_size_ = 0, chunks_ = 1;
};

}  // namespace
}  // namespace conv

std::unique_ptr<Kernel> bind_fused_separable(const Call& call) {
  using namespace conv;
  const Attrs& a = call.attrs;
  const int bias = a.flag("bias") ? 4 : 0, residual = a.flag("residual") ? 4 + (bias > 0) : 0;
  Shape first = shape_of(call), second;
  first.filters = first.groups = first.channels;
  second.batch = first.batch, second.channels = first.filters, second.filters = a.integer("num_filter");
  second.height = second.out_height = first.out_height, second.width = second.out_width = first.out_width;
  for (int i = 1; i < (bias ? 5 : 4); ++i)
    if (call.in[i].dtype != DType::f32) return nullptr;
  if (!call.in[0].blocked || !call.out[0].blocked || (residual && !call.in[residual].blocked)) return nullptr;
  want_images(call.in[0], first.batch, first.channels, first.height, first.width);
  want_shape(call.in[1], {first.channels, 1, first.kernel_h, first.kernel_w});
  want_size(call.in[2], first.channels);
  want_shape(call.in[3], {second.filters, second.channels, 1, 1});
  if (bias) want_size(call.in[bias], second.filters);
  for (const Tensor* t : {&call.out[0], residual ? &call.in[residual] : &call.out[0]})
    want_images(*t, second.batch, second.filters, second.out_height, second.out_width);
  return std::make_unique<DepthwisePointwise>(first, second, call, bias, residual);
}

}  // namespace gluonnx
