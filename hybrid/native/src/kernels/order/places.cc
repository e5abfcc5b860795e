// Where numbers stand among keys: _fused_places.
#include <cmath>
#include <vector>

#include "../../base/kernel.h"

namespace gluonnx {
namespace {

template <class T>
class Places : public Kernel {
 public:
  explicit Places(const Call& call) {
    want(call.in.size() == 2 && call.out.size() == 1 && call.in[1].dtype == call.in[0].dtype && call.out[0].dtype == DType::i64);
    count_ = call.in[0].size(), keys_ = call.in[1].size();
    want_size(call.out[0], count_);
    how = "by bisection";
  }

  void prepare(const void* const* in, Pool*) override {
    packed_ = in[1] != nullptr;
    if (packed_) table_ = pack(static_cast<const T*>(in[1]));
  }
  bool reads(int input) const override { return input == 0 || !packed_; }

  void run(const Run& run) const override {
    if (packed_) return find(run, table_);
    find(run, pack(run.input<T>(1)));
  }

 protected:
  bool take(const Kernel& other) override {
    const auto& from = static_cast<const Places&>(other);
    if (!from.packed_ || from.keys_ != keys_) return false;
    table_ = from.table_, packed_ = true;
    return true;
  }

 private:
  struct Key {
    T value;
    std::int64_t place;
  };
  struct Table {
    std::vector<Key> keys;   // ascending, no two equal
    std::int64_t none = -1;  // the place of NaN
  };

  static bool is_nan(T value) { return value != value; }

  Table pack(const T* keys) const {
    Table made;
    for (std::int64_t i = 0; i < keys_; ++i) {
      if (is_nan(keys[i])) made.none = i;
      else made.keys.push_back({keys[i], i});
    }
    // of equal ones the last counts, which comes first here
    std::sort(made.keys.begin(), made.keys.end(),
              [](const Key& a, const Key& b) { return a.value < b.value || (a.value == b.value && a.place > b.place); });
    made.keys.erase(std::unique(made.keys.begin(), made.keys.end(), [](const Key& a, const Key& b) { return a.value == b.value; }),
                    made.keys.end());
    return made;
  }

  void find(const Run& run, const Table& table) const {
    const T* data = run.input<T>(0);
    auto* out = run.output<std::int64_t>();
    run.ranges(count_, 1024, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        const T x = data[i];
        if (is_nan(x)) {
          out[i] = table.none;
          continue;
        }
        const auto at = std::lower_bound(table.keys.begin(), table.keys.end(), x,
                                         [](const Key& key, T wanted) { return key.value < wanted; });
        out[i] = at != table.keys.end() && at->value == x ? at->place : -1;
      }
    });
  }

  std::int64_t count_, keys_;
  bool packed_ = false;
  Table table_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_places(const Call& call) {
  switch (call.in[0].dtype) {
    case DType::f32: return std::make_unique<Places<float>>(call);
    case DType::f64: return std::make_unique<Places<double>>(call);
    case DType::i32: return std::make_unique<Places<std::int32_t>>(call);
    case DType::i64: return std::make_unique<Places<std::int64_t>>(call);
    default: return nullptr;
  }
}

}  // namespace gluonnx
