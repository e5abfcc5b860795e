// Taking by position: take, Embedding, pick, one_hot, and the gradients of these.
#include "constant.h"
#include "index.h"
#include "parts.h"

namespace gluonnx {
namespace {

// Rows of a table: from (outer, size, row) to (outer, count, row).
class Take : public Kernel {
 public:
  // table and indices: which inputs they are
  Take(const Call& call, int table, int indices, std::int64_t outer, std::int64_t size, std::int64_t row, Outside outside)
      : table_(table),
        indices_(indices),
        outer_(outer),
        size_(size),
        count_(call.in[indices].size()),
        row_(row * static_cast<std::int64_t>(size_of(call.in[table].dtype))),
        outside_(outside),
        positions_(call.in[indices].dtype) {
    want(call.out[0].dtype == call.in[table].dtype);
    want_size(call.out[0], times(outer, count_, row));
    sure = outside != Outside::refuse;
    how = "rows";
  }

  void run(const Run& run) const override {
    if (!sure) want_value(positions_.all_inside(run.in[indices_], 0, count_, size_));
    switch (row_) {
      case 1:
        return take<1>(run);
      case 2:
        return take<2>(run);
      case 4:
        return take<4>(run);
      case 8:
        return take<8>(run);
      default:
        return take<0>(run);
    }
  }

 private:
  // ROW: bytes of a row, 0 when that is not one number
  template <std::int64_t ROW>
  void take(const Run& run) const {
    const std::int64_t row = ROW ? ROW : row_;
    run.ranges(outer_ * count_, grain_of(row + 8), [&](std::int64_t begin, std::int64_t end, int) {
      while (begin < end) {
        const std::int64_t o = begin / count_, first = begin % count_, last = std::min(count_, first + end - begin);
        const std::byte* from = run.input<std::byte>(table_) + o * size_ * row;
        std::byte* to = run.output<std::byte>() + o * count_ * row;
        positions_.each(
            run.in[indices_], first, last, size_, outside_,
            [&](std::int64_t i, std::int64_t at) { std::memcpy(to + i * row, from + at * row, static_cast<std::size_t>(row)); },
            [&](std::int64_t at) {
              if (!ROW) __builtin_prefetch(from + at * row);
            });
        begin += last - first;
      }
    });
  }

  int table_, indices_;
  std::int64_t outer_, size_, count_, row_;
  Outside outside_;
  Positions positions_;
};

// Rows of dy added up where they came from. Threads share the columns, so that sums have one order.
template <class T>
class TakeBack : public Kernel {
 public:
  TakeBack(const Call& call, int indices, std::int64_t outer, std::int64_t size, std::int64_t row, Outside outside)
      : indices_(indices),
        outer_(outer),
        size_(size),
        row_(row),
        count_(call.in[indices].size()),
        outside_(outside),
        positions_(call.in[indices].dtype) {
    want(call.out[0].dtype == call.in[0].dtype);
    want_size(call.out[0], times(outer, size, row));
    want_size(call.in[0], times(outer, count_, row));
    how = "rows added";
  }

  void run(const Run& run) const override {
    const std::int64_t strips = (row_ + STRIP - 1) / STRIP;
    const std::int64_t bytes = (size_ + 3 * count_) * std::min(row_, STRIP) * static_cast<std::int64_t>(sizeof(T));
    run.ranges(outer_ * strips, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t o = i / strips, first = i % strips * STRIP, wide = std::min(STRIP, row_ - first);
        const T* from = run.input<T>(0) + o * count_ * row_ + first;
        T* to = run.output<T>() + o * size_ * row_ + first;
        for (std::int64_t r = 0; r < size_; ++r) std::fill(to + r * row_, to + r * row_ + wide, T{});
        positions_.each(run.in[indices_], 0, count_, size_, outside_, [&](std::int64_t n, std::int64_t at) {
          const T* __restrict more = from + n * row_;
          T* __restrict sum = to + at * row_;
          for (std::int64_t c = 0; c < wide; ++c) sum[c] += more[c];
        });
      }
    });
  }

 private:
  static constexpr std::int64_t STRIP = 256;

  int indices_;
  std::int64_t outer_, size_, row_, count_;
  Outside outside_;
  Positions positions_;
};

struct Split {
  std::int64_t outer, size, inner;
  Split(const Tensor& t, std::int64_t along) {
    const std::int64_t axis = axis_in(along, t.rank());
    outer = product(t.shape, 0, axis), size = t.shape[axis], inner = product(t.shape, axis + 1, t.shape.size());
  }
};

Outside outside_of(const Attrs& attrs) {
  const std::string& mode = attrs.text("mode");
  return mode == "wrap" ? Outside::wrap : mode == "raise" ? Outside::refuse : Outside::clip;
}

// One element along an axis for each place of the others; backwards it is put where it was.
class Pick : public Kernel {
 public:
  Pick(const Call& call, const Split& data, int indices, Outside outside, bool back)
      : data_(data), dtype_(call.in[0].dtype), indices_(indices), outside_(outside), back_(back), positions_(call.in[indices].dtype) {
    want(call.out[0].dtype == call.in[0].dtype);
    want_size(call.in[indices], times(data.outer, data.inner));
    want_size(back ? call.in[0] : call.out[0], times(data.outer, data.inner));
    want_size(back ? call.out[0] : call.in[0], times(data.outer, data.size, data.inner));
    how = back ? "put" : "picked";
  }

  void run(const Run& run) const override {
    by_size(dtype_, [&](auto t) { back_ ? pick<decltype(t), true>(run) : pick<decltype(t), false>(run); });
  }

 private:
  template <class T, bool BACK>
  void pick(const Run& run) const {
    const std::int64_t each = data_.size * data_.inner;
    const auto* from = run.input<T>(0);
    auto* to = run.output<T>();
    // of all that belongs to one place of the axes before
    const std::int64_t bytes = (BACK ? each : data_.inner) * static_cast<std::int64_t>(sizeof(T)) + 8 * data_.inner;
    run.ranges(data_.outer, grain_of(bytes), [&](std::int64_t begin, std::int64_t end, int) {
      if (BACK) std::fill(to + begin * each, to + end * each, T{});
      if (data_.inner == 1)
        return positions_.each(run.in[indices_], begin, end, data_.size, outside_, [&](std::int64_t i, std::int64_t at) {
          if (BACK) to[i * each + at] = from[i];
          else to[i] = from[i * each + at];
        });
      for (std::int64_t o = begin; o < end; ++o) {
        const std::int64_t first = o * data_.inner;
        positions_.each(run.in[indices_], first, first + data_.inner, data_.size, outside_,
                        [&](std::int64_t i, std::int64_t at) {
                          const std::int64_t place = o * each + at * data_.inner + i - first;
                          if (BACK) to[place] = from[i];
                          else to[i] = from[place];
                        });
      }
    });
  }

  Split data_;
  DType dtype_;
  int indices_;
  Outside outside_;
  bool back_;
  Positions positions_;
};

template <bool BACK>
std::unique_ptr<Kernel> pick(const Call& call) {
  const Tensor& data = call.in[BACK ? 1 : 0];
  const int indices = BACK ? 2 : 1;
  call.attrs.ignore("keepdims");
  if (BACK && (call.attrs.integer("of") != 0 || call.in[0].dtype != call.out[0].dtype)) return nullptr;
  const Split split(data, call.attrs.integer("axis"));
  if (!Positions::can(call.in[indices].dtype) || (!split.size && call.in[indices].size())) return nullptr;
  const Outside outside = outside_of(call.attrs);
  want(call.in[0].dtype == data.dtype);
  return std::make_unique<Pick>(call, split, indices, outside, BACK);
}

std::unique_ptr<Kernel> take_back(const Call& call, int indices, const Split& split, Outside outside) {
  const DType dtype = call.in[0].dtype;
  if (dtype != call.out[0].dtype || !Positions::can(call.in[indices].dtype)) return nullptr;
  if (!split.size && call.in[indices].size()) return nullptr;
  if (dtype == DType::f32)
    return std::make_unique<TakeBack<float>>(call, indices, split.outer, split.size, split.inner, outside);
  if (dtype == DType::f64)
    return std::make_unique<TakeBack<double>>(call, indices, split.outer, split.size, split.inner, outside);
  return nullptr;
}

class OneHot : public Kernel {
 public:
  OneHot(const Call& call, std::uint64_t on, std::uint64_t off)
      : depth_(call.out[0].shape.back()),
        count_(call.in[0].size()),
        dtype_(call.out[0].dtype),
        on_(on),
        off_(off),
        positions_(call.in[0].dtype) {
    want_size(call.out[0], times(depth_, count_));
    how = "filled";
  }

  void run(const Run& run) const override {
    by_size(dtype_, [&](auto t) { fill(run, static_cast<decltype(t)>(on_), static_cast<decltype(t)>(off_)); });
  }

 private:
  template <class T>
  void fill(const Run& run, T on, T off) const {
    auto* to = run.output<T>();
    run.ranges(count_, grain_of(depth_ * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
      std::fill(to + begin * depth_, to + end * depth_, off);
      std::int64_t where[64];
      for (std::int64_t i = begin; i < end; i += 64) {
        const std::int64_t many = std::min<std::int64_t>(64, end - i);
        positions_.read(run.in[0], i, many, where);
        for (std::int64_t j = 0; j < many; ++j)
          if (where[j] >= 0 && where[j] < depth_) to[(i + j) * depth_ + where[j]] = on;
      }
    });
  }

  std::int64_t depth_, count_;
  DType dtype_;
  std::uint64_t on_, off_;  // bits of them
  Positions positions_;
};

// ONNX's: the positions lie along any axis of the result, some count from behind, and both values come with a run.
class OneHotAlong : public Kernel {
 public:
  explicit OneHotAlong(const Call& call)
      : axis_(call.out[0], call.attrs.integer("axis")), dtype_(call.out[0].dtype), positions_(call.in[0].dtype) {
    want(Positions::can(call.in[0].dtype) && call.in[2].dtype == dtype_);
    want_size(call.in[0], axis_.outer * axis_.inner);
    want_size(call.in[2], 2);
    how = "filled";
  }

  void run(const Run& run) const override {
    by_size(dtype_, [&](auto t) { fill<decltype(t)>(run); });
  }

 private:
  template <class T>
  void fill(const Run& run) const {
    const T off = run.input<T>(2)[0], on = run.input<T>(2)[1];
    auto* to = run.output<T>();
    const std::int64_t depth = axis_.size, inner = axis_.inner, each = depth * inner;
    run.ranges(axis_.outer, grain_of(each * static_cast<std::int64_t>(sizeof(T))), [&](std::int64_t begin, std::int64_t end, int) {
      std::fill(to + begin * each, to + end * each, off);
      std::int64_t where[64];
      for (std::int64_t i = begin * inner; i < end * inner; i += 64) {
        const std::int64_t many = std::min<std::int64_t>(64, end * inner - i);
        positions_.read(run.in[0], i, many, where);
        for (std::int64_t j = 0; j < many; ++j) {
          const std::int64_t place = where[j] < 0 ? where[j] + depth : where[j];
          if (place >= 0 && place < depth) to[(i + j) / inner * each + place * inner + (i + j) % inner] = on;
        }
      }
    });
  }

  Split axis_;
  DType dtype_;
  Positions positions_;
};

}  // namespace

std::unique_ptr<Kernel> bind_take(const Call& call) {
  if (!Positions::can(call.in[1].dtype)) return nullptr;
  const Split split(call.in[0], call.attrs.integer("axis"));
  if (!split.size && call.in[1].size()) return nullptr;
  return std::make_unique<Take>(call, 0, 1, split.outer, split.size, split.inner, outside_of(call.attrs));
}

// Features: numbers of the last axis.
std::unique_ptr<Kernel> bind_feature_extractor(const Call& call) {
  call.attrs.ignore("given");
  if (!Positions::can(call.in[1].dtype)) return nullptr;
  const Split split(call.in[0], -1);
  return std::make_unique<Take>(call, 0, 1, split.outer, split.size, 1, Outside::refuse);
}

std::unique_ptr<Kernel> bind_take_back(const Call& call) {
  if (call.attrs.integer("of") != 0) return nullptr;
  const Split split(call.in[1], call.attrs.integer("axis"));
  return take_back(call, 2, split, outside_of(call.attrs));
}

std::unique_ptr<Kernel> bind_embedding(const Call& call) {
  call.attrs.ignore("input_dim", "output_dim", "dtype", "sparse_grad");
  const Split split(call.in[1], 0);
  if (!Positions::can(call.in[0].dtype) || (!split.size && call.in[0].size())) return nullptr;
  return std::make_unique<Take>(call, 1, 0, 1, split.size, split.inner, Outside::clip);
}

std::unique_ptr<Kernel> bind_embedding_back(const Call& call) {
  call.attrs.ignore("input_dim", "output_dim", "dtype", "sparse_grad");
  if (call.attrs.integer("of") != 1) return nullptr;
  return take_back(call, 1, Split(call.in[2], 0), Outside::clip);
}

std::unique_ptr<Kernel> bind_pick(const Call& call) { return pick<false>(call); }
std::unique_ptr<Kernel> bind_pick_back(const Call& call) { return pick<true>(call); }

std::unique_ptr<Kernel> bind_batch_take(const Call& call) {
  const Split split(call.in[0], 1);
  if (!Positions::can(call.in[1].dtype) || (!split.size && call.in[1].size())) return nullptr;
  return std::make_unique<Pick>(call, split, 1, Outside::clip, false);
}

std::unique_ptr<Kernel> bind_onnx_one_hot(const Call& call) {
  call.attrs.ignore("given");
  return std::make_unique<OneHotAlong>(call);
}

std::unique_ptr<Kernel> bind_one_hot(const Call& call) {
  call.attrs.ignore("depth", "dtype");
  const double on = call.attrs.real("on_value"), off = call.attrs.real("off_value");
  if (!Positions::can(call.in[0].dtype)) return nullptr;
  const auto there = bits_of(on, call.out[0].dtype), elsewhere = bits_of(off, call.out[0].dtype);
  if (!there || !elsewhere) return nullptr;  // what an integer cannot hold is NumPy's to convert
  return std::make_unique<OneHot>(call, *there, *elsewhere);
}

}  // namespace gluonnx
