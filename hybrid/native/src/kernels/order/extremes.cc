// Where the extremes along an axis are: argmax, argmin. NaN is more extreme than any number.
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

// The bits of a number.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int8_t>>;

// What is searched for: the first of equal ones, or the last.
struct Wanted {
  Along along;
  PutPosition put;
  bool last;
  std::int64_t flip = 0;  // the bits by which numbers differ from those whose greatest is where the extreme is
};

// How numbers of a type are searched.
struct Searches {
  // the place of the extreme of [begin, end)
  std::int64_t (*place)(const Wanted& wanted, const void* x, std::int64_t begin, std::int64_t end);
  // that of the extreme of a row, from the places of those of its parts
  std::int64_t (*of_parts)(const Wanted& wanted, const void* row, const std::int64_t* places, std::int64_t parts);
  // rows, and strips of columns, [begin, end)
  void (*rows)(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end);
  void (*columns)(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end);
};

// The greatest of signed whole numbers; others become such by flipping bits, all of them where the least is wanted. Floats and int64
// have code of their own for either.
template <class T, bool MAX = true>
struct Search {
  static GX_LAMBDA Bits<T> flip_of(const Wanted& wanted) { return static_cast<Bits<T>>(wanted.flip); }
  template <class V>
  static GX_LAMBDA V flipped(V x, Bits<T> flip) {
    if constexpr (sizeof(T) == 8 || std::is_floating_point_v<T>) return x;
    else return static_cast<V>(x ^ flip);
  }

  // Whether x takes the place of what was found before it.
  static bool takes(T x, T best) { return (MAX ? x > best : x < best) || (is_nan(x) && !is_nan(best)); }

  static T extreme(const T* x, std::int64_t n, Bits<T> flip) {
    T best = flipped(x[0], flip);
    std::int64_t i = 0;
    if (n >= 2 * WIDTH<T>) {
      Vector<T> a = flipped(get(x), flip), b = flipped(get(x + WIDTH<T>), flip);
      auto pick = [](Vector<T> had, Vector<T> got) GX_LAMBDA { return ((MAX ? had > got : had < got) | (had != had)) ? had : got; };
      for (i = 2 * WIDTH<T>; i + 2 * WIDTH<T> <= n; i += 2 * WIDTH<T>) {
        a = pick(a, flipped(get(x + i), flip));
        b = pick(b, flipped(get(x + i + WIDTH<T>), flip));
      }
      a = pick(a, b);
      for (std::int64_t j = 0; j < WIDTH<T>; ++j)
        if (takes(a[j], best)) best = a[j];
    }
    for (; i < n; ++i)
      if (const T one = flipped(x[i], flip); takes(one, best)) best = one;
    return best;
  }

  __attribute__((noinline))
  static std::int64_t place(const Wanted& wanted, const void* numbers, std::int64_t begin, std::int64_t end) {
    const T* x = static_cast<const T*>(numbers);
    const Bits<T> flip = flip_of(wanted);
    const bool last = wanted.last;
    if (end - begin > 4 * WIDTH<T>) {
      std::int64_t piece = begin;
      T best = extreme(x + begin, std::min(PIECE, end - begin), flip);
      for (std::int64_t i = begin + PIECE; i < end; i += PIECE) {
        const T found = extreme(x + i, std::min(PIECE, end - i), flip);
        if (takes(found, best) || (last && !takes(best, found))) best = found, piece = i;
      }
      const std::int64_t stop = std::min(end, piece + PIECE);
      if (is_nan(best)) return search(x, piece, stop, last, [](auto v) GX_LAMBDA { return v != v; });
      const T wanted_one = flipped(best, flip);
      return search(x, piece, stop, last, [wanted_one](auto v) GX_LAMBDA { return v == wanted_one; });
    }
    if (last) {  // the first one from behind
      std::int64_t found = end - 1;
      for (std::int64_t i = end - 1; i-- > begin;)
        if (takes(flipped(x[i], flip), flipped(x[found], flip))) found = i;
      return found;
    }
    return begin + first(x + begin, end - begin, flip);
  }

  // The first extreme of a few.
  __attribute__((always_inline)) static std::int64_t first(const T* x, std::int64_t n, Bits<T> flip) {
    std::int64_t found = 0;
    T best = flipped(x[0], flip);
    for (std::int64_t i = 1; i < n; ++i)
      if (takes(flipped(x[i], flip), best)) best = flipped(x[i], flip), found = i;
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

  static std::int64_t of_parts(const Wanted& wanted, const void* row, const std::int64_t* places, std::int64_t parts) {
    const T* x = static_cast<const T*>(row);
    const Bits<T> flip = flip_of(wanted);
    std::int64_t best = wanted.last ? parts - 1 : 0;
    for (std::int64_t i = 1; i < parts; ++i) {
      const std::int64_t other = wanted.last ? parts - 1 - i : i;
      if (takes(flipped(x[places[other]], flip), flipped(x[places[best]], flip))) best = other;
    }
    return places[best];
  }

  static void rows(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end) {
    const std::int64_t n = wanted.along.size;
    const Bits<T> flip = flip_of(wanted);
    if (n <= 4 * WIDTH<T> && !wanted.last)
      for (std::int64_t o = begin; o < end; ++o) wanted.put(to, o, first(static_cast<const T*>(x) + o * n, n, flip));
    else
      for (std::int64_t o = begin; o < end; ++o) wanted.put(to, o, place(wanted, static_cast<const T*>(x) + o * n, 0, n));
  }

  static void columns(const Wanted& wanted, const void* x, void* to, std::int64_t begin, std::int64_t end) {
    using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    const auto [outer, size, inner] = wanted.along;
    const Bits<T> flip = flip_of(wanted);
    const std::int64_t strips = (inner + STRIP - 1) / STRIP;
    T best[STRIP];
    Index place[STRIP];
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t o = i / strips, first = i % strips * STRIP, many = std::min(STRIP, inner - first);
      const T* from = static_cast<const T*>(x) + o * size * inner + first;
      // from behind, the last of equal ones comes first
      const std::int64_t start = wanted.last ? size - 1 : 0, step = wanted.last ? -1 : 1;
      for (std::int64_t j = 0; j < many; ++j) best[j] = flipped(from[start * inner + j], flip);
      std::fill(place, place + many, static_cast<Index>(start));
      for (std::int64_t k = 1, r = start + step; k < size; ++k, r += step) {
        const T* row = from + r * inner;
        for (std::int64_t j = 0; j < many; ++j) {
          const T one = flipped(row[j], flip);
          const bool better = takes(one, best[j]);
          best[j] = better ? one : best[j];
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
  ArgExtreme(const Call& call, const Along& along, bool last, const Searches& searches, std::int64_t flip)
      : wanted_{along, put_position_of(call.out[0].dtype), last, flip}, searches_(searches), element_(size_of(call.in[0].dtype)) {
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
      places[i] = searches_.place(wanted_, x + i / parts_ * row, n * part / parts_, n * (part + 1) / parts_);
    });
    for (std::int64_t o = 0; o < outer; ++o)
      wanted_.put(to, o, searches_.of_parts(wanted_, x + o * row, places + o * parts_, parts_));
  }

 private:
  Wanted wanted_;
  const Searches& searches_;
  std::size_t element_;  // its bytes
  std::int64_t parts_;   // of a row, that threads share
};

std::unique_ptr<Kernel> find(const Call& call, const Along& along, bool max) {
  call.attrs.ignore("keepdims", "given");
  const bool last = call.attrs.integer("select_last_index", 0);
  const std::int64_t turn = max ? 0 : -1;
  const auto make = [&](const Searches& searches, std::int64_t flip) {
    return std::make_unique<ArgExtreme>(call, along, last, searches, flip);
  };
  switch (call.in[0].dtype) {
    case DType::f32:
      return make(max ? Search<float, true>::all : Search<float, false>::all, 0);
    case DType::f64:
      return make(max ? Search<double, true>::all : Search<double, false>::all, 0);
    case DType::i8:
      return make(Search<std::int8_t>::all, turn);
    case DType::u8:
    case DType::b1:
      return make(Search<std::int8_t>::all, turn ^ 0x80);
    case DType::i32:
      return make(Search<std::int32_t>::all, turn);
    case DType::i64:
      return make(max ? Search<std::int64_t, true>::all : Search<std::int64_t, false>::all, 0);
    default:
      return nullptr;
  }
}

}  // namespace

std::unique_ptr<Kernel> bind_argmax(const Call& call) { return find(call, along_axis(call.in[0], call.attrs), true); }
std::unique_ptr<Kernel> bind_argmin(const Call& call) { return find(call, along_axis(call.in[0], call.attrs), false); }
std::unique_ptr<Kernel> bind_argmax_channel(const Call& call) { return find(call, Along(call.in[0], 1), true); }

}  // namespace gluonnx
