// Numbers in order: sort, argsort, topk.
//
// A number and its position become one unsigned integer, which is less than another where the number comes first, or the position
// of equal numbers; so no two are equal, and whatever sorts them is stable. NaN comes behind every number when it is ascending,
// and before every number else, but among SHORT numbers where hybrid/ops/ordering.py says.
#include <bit>
#include <limits>

#include "../../base/numbers.h"
#include "../../base/lanes.h"
#include "positions.h"

namespace gluonnx {
namespace {

constexpr std::int64_t SHORT = 16;
constexpr std::int64_t LONG = 1 << 6;    // from here on digits are sorted instead of numbers
constexpr std::int64_t WORTH = 1 << 12;  // numbers that are worth a thread

template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
using Item = std::conditional_t<sizeof(T) == 8, unsigned __int128, std::uint64_t>;

// An unsigned integer that is less where the number is.
template <class T>
Word<T> ascending_word(T x) {
  using W = Word<T>;
  constexpr W sign = W{1} << (8 * sizeof(W) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x) return ~W{0};
    const W bits = std::bit_cast<W>(x + T{0});  // -0 equals 0
    return bits & sign ? ~bits : bits | sign;
  } else {
    return static_cast<W>(static_cast<std::make_signed_t<W>>(x)) ^ sign;
  }
}

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
void sort_digits(I* items, I* other, std::int64_t n) {
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

template <class T>
class Sort : public Kernel {
 public:
  Sort(const Call& call, const Along& along, const Ranking& wanted) : along_(along), wanted_(wanted) {
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
    scratch = sizeof(Item<T>) * room_ * (rows > 1 ? call.threads : 1);
    how = few_ ? "selected" : n < LONG ? "sorted" : "digits";
  }

  void run(const Run& run) const override {
    const std::int64_t rows = along_.outer * along_.inner, n = along_.size;
    run.ranges(rows, WORTH / std::max<std::int64_t>(1, n), [&](std::int64_t begin, std::int64_t end, int thread) {
      Item<T>* items = reinterpret_cast<Item<T>*>(run.scratch) + room_ * thread;
      for (std::int64_t i = begin; i < end; ++i) row(run, i / along_.inner, i % along_.inner, items);
    });
  }

 private:
  void row(const Run& run, std::int64_t outer, std::int64_t inner, Item<T>* items) const {
    const std::int64_t n = along_.size, k = wanted_.count, step = along_.inner;
    const T* x = run.input<T>(0) + outer * n * step + inner;
    if (few_) select(x, items);
    else order(x, items);
    const std::int64_t first = outer * k * step + inner;
    if (wanted_.values >= 0) {
      T* to = run.output<T>(wanted_.values) + first;
      for (std::int64_t i = 0; i < k; ++i) to[i * step] = x[position_of(items[i]) * step];
    }
    if (wanted_.positions >= 0)
      for (std::int64_t i = 0; i < k; ++i) put_(run.out[wanted_.positions], first + i * step, position_of(items[i]));
    if (wanted_.mask >= 0) {
      T* to = run.output<T>(wanted_.mask) + outer * n * step + inner;
      for (std::int64_t i = 0; i < n; ++i) to[i * step] = T{0};
      for (std::int64_t i = 0; i < k; ++i) to[position_of(items[i]) * step] = T{1};
    }
  }

  void order(const T* x, Item<T>* items) const {
    const std::int64_t n = along_.size, step = along_.inner;
    bool nan = false;
    for (std::int64_t i = 0; i < n; ++i) {
      nan |= x[i * step] != x[i * step];
      items[i] = item_of(x[i * step], i, wanted_.ascending);
    }
    if (nan && n <= SHORT) insert(x, items);
    else if (n >= LONG) sort_digits(items, items + n, n);
    else if (wanted_.count * 2 < n) std::partial_sort(items, items + wanted_.count, items + n);
    else std::sort(items, items + n);
  }

  // The order that std::sort leaves of so few numbers, of which NaN comes before no other.
  void insert(const T* x, Item<T>* items) const {
    const std::int64_t step = along_.inner;
    auto before = [&](std::int64_t a, std::int64_t b) {
      return wanted_.ascending ? x[a * step] < x[b * step] : x[a * step] > x[b * step];
    };
    for (std::int64_t i = 0; i < along_.size; ++i) {
      std::int64_t place = i;
      if (i && before(i, position_of(items[0]))) place = 0;
      else
        while (place > 0 && before(i, position_of(items[place - 1]))) --place;
      std::copy_backward(items + place, items + i, items + i + 1);
      items[place] = static_cast<Item<T>>(i);
    }
  }

  void select(const T* x, Item<T>* items) const {
    const std::int64_t n = along_.size, k = wanted_.count, step = along_.inner, most = 2 * k + SHORT;
    if (!k) return;
    std::int64_t kept = 0;
    Item<T> bound = ~Item<T>{0};  // what is not less is not among the first k
    for (std::int64_t i = 0; i < n; ++i) {
      if (step == 1 && i % AHEAD == 0 && i >= most)
        while (i + AHEAD <= n && all_behind(x + i, x[position_of(bound)])) i += AHEAD;
      if (i == n) break;
      const Item<T> item = item_of(x[i * step], i, wanted_.ascending);
      if (item >= bound) continue;
      items[kept++] = item;
      if (kept < most) continue;
      std::nth_element(items, items + k - 1, items + kept);
      kept = k;
      bound = items[k - 1];
    }
    std::nth_element(items, items + k - 1, items + kept);
    std::sort(items, items + k);
  }

  static constexpr std::int64_t AHEAD = 4 * WIDTH<T>;

  // Whether none of so many numbers comes before another, or takes more than a look to tell.
  bool all_behind(const T* x, T other) const {
    auto each = [&](auto behind) GX_LAMBDA {
      return !any((behind(get(x)) & behind(get(x + WIDTH<T>)) & behind(get(x + 2 * WIDTH<T>)) & behind(get(x + 3 * WIDTH<T>))) == 0);
    };
    if (wanted_.ascending) return each([&](Vector<T> v) GX_LAMBDA { return v > other; });
    return each([&](Vector<T> v) GX_LAMBDA { return v < other; });
  }

  Along along_;
  Ranking wanted_;
  PutPosition put_ = nullptr;
  bool few_;
  std::int64_t room_;  // items of a thread
};

std::unique_ptr<Kernel> sort(const Call& call, const Along& along, const Ranking& wanted) {
  return by_number(call.in[0].dtype,
                   [&](auto t) -> std::unique_ptr<Kernel> { return std::make_unique<Sort<decltype(t)>>(call, along, wanted); });
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
