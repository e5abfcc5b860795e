// Where numbers stand among keys: _fused_places.
#include <vector>

#include "positions.h"

namespace gluonnx {
namespace {

// Numbers are compared as 64 bits: float32 as float64, whole numbers as the largest ones.
using KeyBits = std::uint64_t;

struct Key {
  KeyBits value;
  std::int64_t place;
};
struct Table {
  std::vector<Key> keys;   // ascending, no two equal
  std::int64_t none = -1;  // the place of NaN
};

template <class T>
KeyBits bits_of(T x) {
  return ascending_word(static_cast<std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>(x));
}

// The keys as they are, and NaN.
template <class T>
void read_keys(const void* keys, std::int64_t count, Table& to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T x = static_cast<const T*>(keys)[i];
    if (x != x) to.none = i;
    else to.keys.push_back({bits_of(x), i});
  }
}

// Where numbers [begin, end) stand, -1 for nowhere.
template <class T>
void look_for(const Table& table, const void* data, std::int64_t* out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const T x = static_cast<const T*>(data)[i];
    if (x != x) {
      out[i] = table.none;
      continue;
    }
    const KeyBits wanted = bits_of(x);
    const auto at = std::lower_bound(table.keys.begin(), table.keys.end(), wanted, [](const Key& key, KeyBits value) { return key.value < value; });
    out[i] = at != table.keys.end() && at->value == wanted ? at->place : -1;
  }
}

using Read = decltype(read_keys<float>);
using LookFor = decltype(look_for<float>);

class Places : public Kernel {
 public:
  Places(const Call& call, Read* read, LookFor* look_for) : read_(read), look_for_(look_for) {
    want(call.in.size() == 2 && call.out.size() == 1 && call.in[1].dtype == call.in[0].dtype && call.out[0].dtype == DType::i64);
    count_ = call.in[0].size(), keys_ = call.in[1].size();
    want_size(call.out[0], count_);
    how = "by bisection";
  }

  void prepare(const void* const* in, Pool*) override {
    packed_ = in[1] != nullptr;
    if (packed_) table_ = pack(in[1]);
  }
  bool reads(int input) const override { return input == 0 || !packed_; }

  void run(const Run& run) const override {
    if (packed_) return look_up(run, table_);
    look_up(run, pack(run.in[1]));
  }

 protected:
  bool take(const Kernel& other) override {
    const auto& from = static_cast<const Places&>(other);
    if (!from.packed_ || from.keys_ != keys_) return false;
    table_ = from.table_, packed_ = true;
    return true;
  }

 private:
  Table pack(const void* keys) const {
    Table made;
    read_(keys, keys_, made);
    // of equal ones the last counts, which comes first here
    std::sort(made.keys.begin(), made.keys.end(),
              [](const Key& a, const Key& b) { return a.value < b.value || (a.value == b.value && a.place > b.place); });
    made.keys.erase(std::unique(made.keys.begin(), made.keys.end(), [](const Key& a, const Key& b) { return a.value == b.value; }),
                    made.keys.end());
    return made;
  }

  void look_up(const Run& run, const Table& table) const {
    run.ranges(count_, 1024, [&](std::int64_t begin, std::int64_t end, int) {
      look_for_(table, run.in[0], run.output<std::int64_t>(), begin, end);
    });
  }

  Read* read_;
  LookFor* look_for_;
  std::int64_t count_, keys_;
  bool packed_ = false;
  Table table_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_places(const Call& call) {
  switch (call.in[0].dtype) {
    case DType::f32: return std::make_unique<Places>(call, read_keys<float>, look_for<float>);
    case DType::f64: return std::make_unique<Places>(call, read_keys<double>, look_for<double>);
    case DType::i32: return std::make_unique<Places>(call, read_keys<std::int32_t>, look_for<std::int32_t>);
    case DType::i64: return std::make_unique<Places>(call, read_keys<std::int64_t>, look_for<std::int64_t>);
    default: return nullptr;
  }
}

}  // namespace gluonnx
