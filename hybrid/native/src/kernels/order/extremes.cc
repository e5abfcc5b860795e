// Where the extremes along an axis are: argmax, argmin. NaN is more extreme than any number.
#include "../../base/numbers.h"
#include "../../base/lanes.h"
#include "positions.h"

namespace gluonnx {
namespace {

constexpr std::int64_t PIECE = 2048;   // elements that are searched for the place of their extreme
constexpr std::int64_t PART = 1 << 16;  // elements of a row that are worth a thread
constexpr std::int64_t STRIP = 128;     // columns at a time

template <class T>
GX_INLINE bool is_nan(T x) {
  return x != x;
}

template <class T, bool MAX>
struct Order {
  // Whether x takes the place of what was found before it, or behind it with LAST.
  template <bool LAST>
  static bool takes(T x, T best) {
    const bool beyond = MAX ? x > best : x < best;
    return LAST ? beyond || x == best || is_nan(x) : beyond || (is_nan(x) && !is_nan(best));
  }

  static T extreme(const T* x, std::int64_t n) {
    T best = x[0];
    std::int64_t i = 0;
    if (n >= 2 * WIDTH<T>) {
      Vector<T> a = get(x), b = get(x + WIDTH<T>);
      auto pick = [](Vector<T> had, Vector<T> got) GX_LAMBDA { return ((MAX ? had > got : had < got) | (had != had)) ? had : got; };
      for (i = 2 * WIDTH<T>; i + 2 * WIDTH<T> <= n; i += 2 * WIDTH<T>) {
        a = pick(a, get(x + i));
        b = pick(b, get(x + i + WIDTH<T>));
      }
      a = pick(a, b);
      for (std::int64_t j = 0; j < WIDTH<T>; ++j)
        if (takes<false>(a[j], best)) best = a[j];
    }
    for (; i < n; ++i)
      if (takes<false>(x[i], best)) best = x[i];
    return best;
  }
};

template <class T, bool MAX, bool LAST>
class ArgExtreme : public Kernel {
 public:
  ArgExtreme(const Call& call, const Along& along) : along_(along), put_(put_position_of(call.out[0].dtype)) {
    want(along.size > 0 && along.size < std::int64_t{1} << 31);
    want_size(call.out[0], along.outer * along.inner);
    parts_ = along.inner == 1 ? std::max<std::int64_t>(1, along.size / PART) : 1;
    if (parts_ > 1) scratch = sizeof(std::int64_t) * along.outer * parts_;
    how = along.inner == 1 ? "rows" : "columns";
  }

  void run(const Run& run) const override {
    const T* x = run.input<T>(0);
    void* to = run.out[0];
    if (!along_.inner) return;  // another axis has no elements
    if (along_.inner > 1) return columns(run, x, to);
    const std::int64_t n = along_.size;
    if (parts_ == 1)
      return run.ranges(along_.outer, PART / n, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t o = begin; o < end; ++o) put_(to, o, place(x + o * n, 0, n));
      });
    auto* places = reinterpret_cast<std::int64_t*>(run.scratch);
    run.parallel(along_.outer * parts_, [&](std::int64_t i, int) {
      const std::int64_t part = i % parts_;
      places[i] = place(x + i / parts_ * n, n * part / parts_, n * (part + 1) / parts_);
    });
    for (std::int64_t o = 0; o < along_.outer; ++o) {
      std::int64_t best = places[o * parts_];
      for (std::int64_t i = 1; i < parts_; ++i)
        if (by::template takes<LAST>(x[o * n + places[o * parts_ + i]], x[o * n + best])) best = places[o * parts_ + i];
      put_(to, o, best);
    }
  }

 private:
  using by = Order<T, MAX>;
  using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

  static std::int64_t place(const T* x, std::int64_t begin, std::int64_t end) {
    std::int64_t piece = begin;
    T best = x[begin];
    if (end - begin > 4 * WIDTH<T>) {
      best = by::extreme(x + begin, std::min(PIECE, end - begin));
      for (std::int64_t i = begin + PIECE; i < end; i += PIECE) {
        const T found = by::extreme(x + i, std::min(PIECE, end - i));
        if (by::template takes<LAST>(found, best)) best = found, piece = i;
      }
      const std::int64_t last = std::min(end, piece + PIECE);
      if (is_nan(best)) return search(x, piece, last, [](auto v) GX_LAMBDA { return v != v; });
      return search(x, piece, last, [best](auto v) GX_LAMBDA { return v == best; });
    }
    std::int64_t found = piece;
    for (std::int64_t i = piece + 1; i < end; ++i)
      if (by::template takes<LAST>(x[i], best)) best = x[i], found = i;
    return found;
  }

  // The first, or last, of [begin, end) for which f holds; there is one.
  template <class F>
  static std::int64_t search(const T* x, std::int64_t begin, std::int64_t end, F f) {
    constexpr std::int64_t BLOCK = 4 * WIDTH<T>;
    auto in_block = [&](const T* p) GX_LAMBDA {
      return any(f(get(p)) | f(get(p + WIDTH<T>)) | f(get(p + 2 * WIDTH<T>)) | f(get(p + 3 * WIDTH<T>)));
    };
    if (LAST) {
      while (end - begin >= BLOCK && !in_block(x + end - BLOCK)) end -= BLOCK;
      while (!f(x[end - 1])) --end;
      return end - 1;
    }
    while (end - begin >= BLOCK && !in_block(x + begin)) begin += BLOCK;
    while (!f(x[begin])) ++begin;
    return begin;
  }

  void columns(const Run& run, const T* x, void* to) const {
    const std::int64_t strips = (along_.inner + STRIP - 1) / STRIP, width = std::min(along_.inner, STRIP);
    run.ranges(along_.outer * strips, PART / (along_.size * width), [&](std::int64_t begin, std::int64_t end, int) {
      T best[STRIP];
      Index place[STRIP];
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t o = i / strips, first = i % strips * STRIP, many = std::min(STRIP, along_.inner - first);
        const T* from = x + o * along_.size * along_.inner + first;
        std::copy(from, from + many, best);
        std::fill(place, place + many, Index{0});
        for (std::int64_t r = 1; r < along_.size; ++r) {
          const T* row = from + r * along_.inner;
          for (std::int64_t j = 0; j < many; ++j) {
            const bool better = by::template takes<LAST>(row[j], best[j]);
            best[j] = better ? row[j] : best[j];
            place[j] = better ? static_cast<Index>(r) : place[j];
          }
        }
        for (std::int64_t j = 0; j < many; ++j) put_(to, o * along_.inner + first + j, place[j]);
      }
    });
  }

  Along along_;
  PutPosition put_;
  std::int64_t parts_;  // of a row, that threads share
};

template <bool MAX>
std::unique_ptr<Kernel> find(const Call& call, const Along& along) {
  call.attrs.ignore("keepdims", "given");
  const bool last = call.attrs.integer("select_last_index", 0);
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if (last) return std::make_unique<ArgExtreme<T, MAX, true>>(call, along);
    return std::make_unique<ArgExtreme<T, MAX, false>>(call, along);
  });
}

}  // namespace

std::unique_ptr<Kernel> bind_argmax(const Call& call) { return find<true>(call, along_axis(call.in[0], call.attrs)); }
std::unique_ptr<Kernel> bind_argmin(const Call& call) { return find<false>(call, along_axis(call.in[0], call.attrs)); }
std::unique_ptr<Kernel> bind_argmax_channel(const Call& call) { return find<true>(call, Along(call.in[0], 1)); }

}  // namespace gluonnx
