// Work in order: sort, argsort, topk.
//
// A number and its position become one unsigned integer, which is less than another where the number comes first, or the position
// of equal numbers; so no two are equal, and whatever sorts them is stable. NaN comes behind every number when it is ascending,
// and before every number else, but among SHORT numbers where hybrid/ops/ordering.py says.
#include "../../base/numbers.h"
#include "../../base/lanes.h"
#include "positions.h"

namespace gluonnx {
namespace {

constexpr std::int64_t SHORT = 16;
constexpr std::int64_t LONG = 1 << 6;    // from here on digits are sorted instead of numbers
constexpr std::int64_t WORTH = 1 << 12;  // numbers that are worth a thread

template <class T>
using Item = std::conditional_t<sizeof(T) == 8, unsigned __int128, std::uint64_t>;

template <class T>
Item<T> item_of(T x, std::int64_t position, bool ascending) {
  const Word<T> word = ascending_word(x);
  return static_cast<Item<T>>(ascending ? word : static_cast<Word<T>>(~word)) << 32 | static_cast<std::uint32_t>(position);
}

template <class I>
std::int64_t position_of(I item) {
  return static_cast<std::int64_t>(static_cast<std::uint32_t>(item));
}

// Sorts by the bytes above the position, the last of them first; the items arrive in the order of their positions.
template <class I>
__attribute__((noinline)) void sort_digits(I* items, I* other, std::int64_t n) {
  constexpr int DIGITS = sizeof(I) / 2 > 4 ? 8 : 4;
  std::uint32_t counts[DIGITS][256] = {};
  for (std::int64_t i = 0; i < n; ++i)
    for (int d = 0; d < DIGITS; ++d) ++counts[d][static_cast<std::uint8_t>(items[i] >> (32 + 8 * d))];
  I *from = items, *to = other;
  for (int d = 0; d < DIGITS; ++d) {
    const int shift = 32 + 8 * d;
    if (counts[d][static_cast<std::uint8_t>(from[0] >> shift)] == n) continue;
    std::uint32_t place = 0;
    for (std::uint32_t& count : counts[d]) {
      const std::uint32_t many = count;
      count = place;
      place += many;
    }
    for (std::int64_t i = 0; i < n; ++i) to[counts[d][static_cast<std::uint8_t>(from[i] >> shift)]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + n, items);
}

// What of an ordering is wanted, as which output; -1 for none.
struct Ranking {
  std::int64_t count;
  bool ascending;
  int values = -1, positions = -1, mask = -1;
};

// Work `step` apart.
struct Row {
  const void* x;
  std::int64_t n, step;
  bool ascending;
};

// What is done by the type of numbers, whose items are I.
template <class I>
struct Work {
  std::size_t size;   // bytes of one
  std::uint64_t one;  // the bits of 1
  // makes all items, in the order of their positions; whether there is a NaN
  bool (*all)(const Row& row, I* items);
  // Sorts so few numbers with NaN.
  void (*insert)(const Row& row, I* items);
  // Adds the items from the at-th number on that are less than the bound, until there are `most`; where it came to.
  std::int64_t (*collect)(const Row& row, std::int64_t at, I bound, I* items, std::int64_t* kept, std::int64_t most);
};

template <class T>
struct Typed {
  using I = Item<T>;

  static bool all(const Row& row, I* items) {
    const T* x = static_cast<const T*>(row.x);
    const std::int64_t n = row.n, step = row.step;
    const bool ascending = row.ascending;
    bool nan = false;
    for (std::int64_t i = 0; i < n; ++i) {
      nan |= x[i * step] != x[i * step];
      items[i] = item_of(x[i * step], i, ascending);
    }
    return nan;
  }

  // The order that std::sort leaves of so few numbers, of which NaN comes before no other.
  static void insert(const Row& row, I* items) {
    const T* x = static_cast<const T*>(row.x);
    auto before = [&](std::int64_t a, std::int64_t b) {
      return row.ascending ? x[a * row.step] < x[b * row.step] : x[a * row.step] > x[b * row.step];
    };
    for (std::int64_t i = 0; i < row.n; ++i) {
      std::int64_t place = i;
      if (i && before(i, position_of(items[0]))) place = 0;
      else
        while (place > 0 && before(i, position_of(items[place - 1]))) --place;
      std::copy_backward(items + place, items + i, items + i + 1);
      items[place] = static_cast<I>(i);
    }
  }

  static std::int64_t collect(const Row& row, std::int64_t at, I bound, I* items, std::int64_t* kept, std::int64_t most) {
    const T* x = static_cast<const T*>(row.x);
    const std::int64_t n = row.n, step = row.step;
    const bool ascending = row.ascending;
    std::int64_t count = *kept, i = at;
    for (; i < n && count < most; ++i) {
      if (step == 1 && i % AHEAD == 0 && i >= most)
        while (i + AHEAD <= n && all_behind(x + i, x[position_of(bound)], ascending)) i += AHEAD;
      if (i == n) break;
      const I item = item_of(x[i * step], i, ascending);
      if (item < bound) items[count++] = item;
    }
    *kept = count;
    return i;
  }

  static constexpr std::int64_t AHEAD = 4 * WIDTH<T>;

  // Whether none of so many numbers comes before another, or takes more than a look to tell.
  static bool all_behind(const T* x, T other, bool ascending) {
    auto each = [&](auto behind) GX_LAMBDA {
      return !any((behind(get(x)) & behind(get(x + WIDTH<T>)) & behind(get(x + 2 * WIDTH<T>)) & behind(get(x + 3 * WIDTH<T>))) == 0);
    };
    if (ascending) return each([&](Vector<T> v) GX_LAMBDA { return v > other; });
    return each([&](Vector<T> v) GX_LAMBDA { return v < other; });
  }

  static Work<I> work() {
    if constexpr (std::is_floating_point_v<T>) return {sizeof(T), bit_cast<Word<T>>(T{1}), all, insert, collect};
    else return {sizeof(T), 1, all, nullptr, collect};
  }
};

template <class I>
class Sort : public Kernel {
 public:
  Sort(const Call& call, const Along& along, const Ranking& wanted, const Work<I>& work)
      : along_(along), wanted_(wanted), work_(work) {
    const std::int64_t n = along.size, k = wanted.count, rows = along.outer * along.inner;
    want(k >= 0 && k <= n && n < std::int64_t{1} << 32);
    for (int i : {wanted.values, wanted.mask}) want(i < 0 || call.out[i].dtype == call.in[0].dtype);
    for (int i : {wanted.values, wanted.positions}) want(i < 0 || call.out[i].size() == rows * k);
    if (wanted.mask >= 0) want_size(call.out[wanted.mask], rows * n);
    if (wanted.positions >= 0) put_ = put_position_of(call.out[wanted.positions].dtype);
    // some of many: those that may be among them are kept, twice as many at most
    few_ = n > 4 * SHORT && k <= n / 8;
    room_ = few_ ? 2 * k + SHORT : n < LONG ? n : 2 * n;
    room_ = (room_ + 7) / 8 * 8;
    scratch = sizeof(I) * room_ * (rows > 1 ? call.threads : 1);
    how = few_ ? "selected" : n < LONG ? "sorted" : "digits";
  }

  void run(const Run& run) const override {
    const std::int64_t rows = along_.outer * along_.inner, n = along_.size;
    run.ranges(rows, WORTH / std::max<std::int64_t>(1, n), [&](std::int64_t begin, std::int64_t end, int thread) {
      I* items = reinterpret_cast<I*>(run.scratch) + room_ * thread;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t outer = i / along_.inner, inner = i % along_.inner;
        const Row row{run.input<std::byte>(0) + (outer * n * along_.inner + inner) * static_cast<std::int64_t>(work_.size), n,
                      along_.inner, wanted_.ascending};
        if (few_) select(row, items);
        else order(row, items);
        if (sizeof(I) > 8) put<std::uint64_t>(run, row, items, outer, inner);
        else if (work_.size == 4) put<std::uint32_t>(run, row, items, outer, inner);
        else put<std::uint8_t>(run, row, items, outer, inner);
      }
    });
  }

 private:
  // U: an unsigned integer as large as a number
  template <class U>
  void put(const Run& run, const Row& row, const I* items, std::int64_t outer, std::int64_t inner) const {
    const std::int64_t n = row.n, k = wanted_.count, step = row.step, first = outer * k * step + inner;
    if (wanted_.values >= 0) {
      const U* x = static_cast<const U*>(row.x);
      U* to = run.output<U>(wanted_.values) + first;
      for (std::int64_t i = 0; i < k; ++i) to[i * step] = x[position_of(items[i]) * step];
    }
    if (wanted_.positions >= 0)
      for (std::int64_t i = 0; i < k; ++i) put_(run.out[wanted_.positions], first + i * step, position_of(items[i]));
    if (wanted_.mask >= 0) {
      U* to = run.output<U>(wanted_.mask) + outer * n * step + inner;
      for (std::int64_t i = 0; i < n; ++i) to[i * step] = 0;
      for (std::int64_t i = 0; i < k; ++i) to[position_of(items[i]) * step] = static_cast<U>(work_.one);
    }
  }

  void order(const Row& row, I* items) const {
    const std::int64_t n = row.n;
    const bool nan = work_.all(row, items);
    if (nan && n <= SHORT) work_.insert(row, items);
    else if (n >= LONG) sort_digits(items, items + n, n);
    else if (wanted_.count * 2 < n) std::partial_sort(items, items + wanted_.count, items + n);
    else std::sort(items, items + n);
  }

  __attribute__((noinline))
  void select(const Row& row, I* items) const {
    const std::int64_t k = wanted_.count, most = 2 * k + SHORT;
    if (!k) return;
    std::int64_t kept = 0;
    I bound = ~I{0};  // what is not less is not among the first k
    for (std::int64_t at = 0;;) {
      at = work_.collect(row, at, bound, items, &kept, most);
      if (kept < most) break;
      std::nth_element(items, items + k - 1, items + kept);
      kept = k;
      bound = items[k - 1];
    }
    std::nth_element(items, items + k - 1, items + kept);
    std::sort(items, items + k);
  }

  Along along_;
  Ranking wanted_;
  Work<I> work_;
  PutPosition put_ = nullptr;
  bool few_;
  std::int64_t room_;  // items of a thread
};

std::unique_ptr<Kernel> sort(const Call& call, const Along& along, const Ranking& wanted) {
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    return std::make_unique<Sort<Item<decltype(t)>>>(call, along, wanted, Typed<decltype(t)>::work());
  });
}

}  // namespace

std::unique_ptr<Kernel> bind_argsort(const Call& call) {
  call.attrs.ignore("dtype");
  const Along along = along_axis(call.in[0], call.attrs);
  return sort(call, along, {along.size, call.attrs.flag("is_ascend"), -1, 0});
}

std::unique_ptr<Kernel> bind_sort(const Call& call) {
  const Along along = along_axis(call.in[0], call.attrs);
  return sort(call, along, {along.size, call.attrs.flag("is_ascend"), 0, 1});
}

std::unique_ptr<Kernel> bind_topk(const Call& call) {
  call.attrs.ignore("dtype");
  const Along along = along_axis(call.in[0], call.attrs);
  const std::int64_t k = call.attrs.integer("k");
  Ranking wanted{k > 0 ? k : along.size, call.attrs.flag("is_ascend")};
  const std::string& kind = call.attrs.text("ret_typ");
  if (kind == "indices") wanted.positions = 0;
  else if (kind == "mask") wanted.mask = 0;
  else wanted.values = 0, wanted.positions = 1;
  return sort(call, along, wanted);
}

// The count is in the shape of the results, which was inferred from it.
std::unique_ptr<Kernel> bind_onnx_topk(const Call& call) {
  call.attrs.ignore("sorted", "given");
  const Along along = along_axis(call.in[0], call.attrs);
  want(call.in[0].rank() > 0);
  const std::int64_t count = call.out[0].shape[axis_in(call.attrs.integer("axis"), call.in[0].rank())];
  return sort(call, along, {count, !call.attrs.flag("largest"), 0, 1});
}

}  // namespace gluonnx
