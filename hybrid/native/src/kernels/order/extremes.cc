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

// What is searched for: the first of equal ones, or the last.
struct Wanted {
  Along along;
  PutPosition put;
  bool last;
};

// How numbers of a type are searched.
struct Searches {
  // the place of the extreme of [begin, end)
  std::int64_t (*place)(const void* x, std::int64_t begin, std::int64_t end, bool last);
  // that of the extreme of a row, from the places of those of its parts
  std::int64_t (*of_parts)(const void* row, const std::int64_t* places, std::int64_t parts, bool last);
  // rows, and strips of columns, [begin, end)
  void (*rows)(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end);
  void (*columns)(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end);
};

template <class T, bool MAX>
struct Search {
  // Whether x takes the place of what was found before it.
  static bool takes(T x, T best) { return (MAX ? x > best : x < best) || (is_nan(x) && !is_nan(best)); }

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
        if (takes(a[j], best)) best = a[j];
    }
    for (; i < n; ++i)
      if (takes(x[i], best)) best = x[i];
    return best;
  }

  static std::int64_t place(const void* numbers, std::int64_t begin, std::int64_t end, bool last) {
    const T* x = static_cast<const T*>(numbers);
    if (end - begin > 4 * WIDTH<T>) {
      std::int64_t piece = begin;
      T best = extreme(x + begin, std::min(PIECE, end - begin));
      for (std::int64_t i = begin + PIECE; i < end; i += PIECE) {
        const T found = extreme(x + i, std::min(PIECE, end - i));
        if (takes(found, best) || (last && !takes(best, found))) best = found, piece = i;
      }
      const std::int64_t stop = std::min(end, piece + PIECE);
      if (is_nan(best)) return search(x, piece, stop, last, [](auto v) GX_LAMBDA { return v != v; });
      return search(x, piece, stop, last, [best](auto v) GX_LAMBDA { return v == best; });
    }
    if (last) {  // the first one from behind
      std::int64_t found = end - 1;
      for (std::int64_t i = end - 1; i-- > begin;)
        if (takes(x[i], x[found])) found = i;
      return found;
    }
    return begin + first(x + begin, end - begin);
  }

  // The first extreme of a few.
  __attribute__((always_inline)) static std::int64_t first(const T* x, std::int64_t n) {
    std::int64_t found = 0;
    T best = x[0];
    for (std::int64_t i = 1; i < n; ++i)
      if (takes(x[i], best)) best = x[i], found = i;
    return found;
  }

  // The first, or last, of [begin, end) for which f holds; there is one.
  template <class F>
  static std::int64_t search(const T* x, std::int64_t begin, std::int64_t end, bool last, F f) {
    constexpr std::int64_t BLOCK = 4 * WIDTH<T>;
    auto in_block = [&](const T* p) GX_LAMBDA {
      return any(f(get(p)) | f(get(p + WIDTH<T>)) | f(get(p + 2 * WIDTH<T>)) | f(get(p + 3 * WIDTH<T>)));
    };
    if (last) {
      while (end - begin >= BLOCK && !in_block(x + end - BLOCK)) end -= BLOCK;
      while (!f(x[end - 1])) --end;
      return end - 1;
    }
    while (end - begin >= BLOCK && !in_block(x + begin)) begin += BLOCK;
    while (!f(x[begin])) ++begin;
    return begin;
  }

  static std::int64_t of_parts(const void* row, const std::int64_t* places, std::int64_t parts, bool last) {
    const T* x = static_cast<const T*>(row);
    std::int64_t best = last ? parts - 1 : 0;
    for (std::int64_t i = 1; i < parts; ++i) {
      const std::int64_t other = last ? parts - 1 - i : i;
      if (takes(x[places[other]], x[places[best]])) best = other;
    }
    return places[best];
  }

  static void rows(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = wanted.along.size;
    if (n <= 4 * WIDTH<T> && !wanted.last)
      for (std::int64_t o = begin; o < end; ++o) wanted.put(to, o, first(static_cast<const T*>(x) + o * n, n));
    else
      for (std::int64_t o = begin; o < end; ++o) wanted.put(to, o, place(static_cast<const T*>(x) + o * n, 0, n, wanted.last));
  }

  static void columns(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end) {
    using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    const auto [outer, size, inner] = wanted.along;
    const std::int64_t strips = (inner + STRIP - 1) / STRIP;
    T best[STRIP];
    Index place[STRIP];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t o = i / strips, first = i % strips * STRIP, many = std::min(STRIP, inner - first);
      const T* from = static_cast<const T*>(x) + o * size * inner + first;
      // from behind, the last of equal ones comes first
      const std::int64_t start = wanted.last ? size - 1 : 0, step = wanted.last ? -1 : 1;
      std::copy(from + start * inner, from + start * inner + many, best);
      std::fill(place, place + many, static_cast<Index>(start));
      for (std::int64_t k = 1, r = start + step; k < size; ++k, r += step) {
        const T* row = from + r * inner;
        for (std::int64_t j = 0; j < many; ++j) {
          const bool better = takes(row[j], best[j]);
          best[j] = better ? row[j] : best[j];
          place[j] = better ? static_cast<Index>(r) : place[j];
        }
      }
      for (std::int64_t j = 0; j < many; ++j) wanted.put(to, o * inner + first + j, place[j]);
    }
  }

  static constexpr Searches all = {place, of_parts, rows, columns};
};

class ArgExtreme : public Kernel {
 public:
  ArgExtreme(const Call& call, const Along& along, bool last, const Searches& searches)
      : wanted_{along, put_position_of(call.out[0].dtype), last}, searches_(searches), element_(size_of(call.in[0].dtype)) {
    want(along.size > 0 && along.size < std::int64_t{1} << 31);
    want_size(call.out[0], along.outer * along.inner);
    parts_ = along.inner == 1 ? std::max<std::int64_t>(1, along.size / PART) : 1;
    if (parts_ > 1) scratch = sizeof(std::int64_t) * along.outer * parts_;
    how = along.inner == 1 ? "rows" : "columns";
  }

  void run(const Run& run) const override {
    const std::byte* x = run.input<std::byte>(0);
    void* to = run.out[0];
    const auto [outer, n, inner] = wanted_.along;
    if (!inner) return;  // another axis has no elements
    if (inner > 1) {
      const std::int64_t strips = (inner + STRIP - 1) / STRIP, width = std::min(inner, STRIP);
      return run.ranges(outer * strips, PART / (n * width),
                        [&](std::int64_t begin, std::int64_t end, int) { searches_.columns(wanted_, x, to, begin, end); });
    }
    if (parts_ == 1)
      return run.ranges(outer, PART / n,
                        [&](std::int64_t begin, std::int64_t end, int) { searches_.rows(wanted_, x, to, begin, end); });
    auto* places = reinterpret_cast<std::int64_t*>(run.scratch);
    const std::int64_t row = n * static_cast<std::int64_t>(element_);
    run.parallel(outer * parts_, [&, n = n](std::int64_t i, int) {
      const std::int64_t part = i % parts_;
      places[i] = searches_.place(x + i / parts_ * row, n * part / parts_, n * (part + 1) / parts_, wanted_.last);
    });
    for (std::int64_t o = 0; o < outer; ++o)
      wanted_.put(to, o, searches_.of_parts(x + o * row, places + o * parts_, parts_, wanted_.last));
  }

 private:
  Wanted wanted_;
  const Searches& searches_;
  std::size_t element_;  // its bytes
  std::int64_t parts_;   // of a row, that threads share
};

template <bool MAX>
std::unique_ptr<Kernel> find(const Call& call, const Along& along) {
  call.attrs.ignore("keepdims", "given");
  const bool last = call.attrs.integer("select_last_index", 0);
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<ArgExtreme>(call, along, last, Search<decltype(t), MAX>::all);
  });
}

}  // namespace

std::unique_ptr<Kernel> bind_argmax(const Call& call) { return find<true>(call, along_axis(call.in[0], call.attrs)); }
std::unique_ptr<Kernel> bind_argmin(const Call& call) { return find<false>(call, along_axis(call.in[0], call.attrs)); }
std::unique_ptr<Kernel> bind_argmax_channel(const Call& call) { return find<true>(call, Along(call.in[0], 1)); }

}  // namespace gluonnx
