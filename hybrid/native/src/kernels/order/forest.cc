// Rows that go down decision trees: _fused_forest.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../../base/numbers.h"

namespace gluonnx {
namespace {

enum Mode : std::uint8_t { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF };

struct Node {
  std::int32_t feature, yes, no;  // of a leaf: its summands, from yes to no
  float value;
  std::uint8_t mode;
  bool missing;
};

struct Summand {
  std::int32_t target;
  float weight;
};

class Forest : public Kernel {
 public:
  explicit Forest(const Call& call) : count_(call.attrs.integer("count")) {
    const std::string& aggregate = call.attrs.text("aggregate");
    least_ = aggregate == "MIN", greatest_ = aggregate == "MAX", mean_ = aggregate == "AVERAGE";
    const DType dtypes[] = {DType::f32, DType::i64, DType::u8,  DType::f32, DType::b1,
                            DType::i64, DType::i64, DType::i64, DType::i64, DType::f32};
    want(call.in.size() == std::size(dtypes) && call.out.size() == 2);
    for (std::size_t i = 0; i < call.in.size(); ++i) want(call.in[i].dtype == dtypes[i]);
    want(call.in[0].rank() == 2 && call.in[8].rank() == 2 && count_ >= 0);
    rows_ = call.in[0].shape[0], features_ = call.in[0].shape[1];
    nodes_ = call.in[1].size(), roots_ = call.in[7].size(), width_ = call.in[8].shape[1];
    for (int i : {2, 3, 4, 5, 6}) want_size(call.in[i], nodes_);
    want_size(call.in[8], times(nodes_, width_));
    want_size(call.in[9], times(nodes_, width_));
    want(nodes_ <= std::numeric_limits<std::int32_t>::max() && times(nodes_, width_) <= std::numeric_limits<std::int32_t>::max());
    want(count_ <= std::numeric_limits<std::int32_t>::max() && features_ <= std::numeric_limits<std::int32_t>::max());
    want(call.out[0].dtype == DType::f32 && call.out[1].dtype == DType::b1);
    for (const Tensor& out : call.out) want_size(out, times(rows_, count_));
    for (std::size_t i = 1; i < call.in.size(); ++i) sure = sure && call.in[i].constant;
    how = "row by row";
  }

  void prepare(const void* const* in, Pool*) override {
    packed_ = std::all_of(in + 1, in + 10, [](const void* p) { return p != nullptr; });
    if (packed_) trees_ = pack(in);
  }
  bool reads(int input) const override { return input == 0 || !packed_; }

  void run(const Run& run) const override {
    if (packed_) return walk(run, trees_);
    walk(run, pack(run.in));
  }

 protected:
  bool take(const Kernel& other) override {
    const auto& from = static_cast<const Forest&>(other);
    if (!from.packed_ || from.nodes_ != nodes_ || from.features_ != features_) return false;
    trees_ = from.trees_, packed_ = true;
    return true;
  }

 private:
  struct Trees {
    std::vector<Node> nodes;
    std::vector<Summand> summands;
    std::vector<std::int32_t> roots;
  };

  void hold(bool fits) const {
    if (!fits && sure) throw std::invalid_argument("trees have branches, features or results that there are not");
    want_value(fits);
  }

  Trees pack(const void* const* in) const {
    const auto *feature = static_cast<const std::int64_t*>(in[1]), *yes = static_cast<const std::int64_t*>(in[5]),
               *no = static_cast<const std::int64_t*>(in[6]), *roots = static_cast<const std::int64_t*>(in[7]),
               *targets = static_cast<const std::int64_t*>(in[8]);
    const auto *mode = static_cast<const std::uint8_t*>(in[2]), *missing = static_cast<const std::uint8_t*>(in[4]);
    const auto *value = static_cast<const float*>(in[3]), *weights = static_cast<const float*>(in[9]);
    Trees made;
    made.nodes.reserve(static_cast<std::size_t>(nodes_));
    for (std::int64_t i = 0; i < nodes_; ++i) {
      Node node{0, 0, 0, value[i], mode[i], missing[i] != 0};
      if (mode[i] == LEAF) {
        node.yes = static_cast<std::int32_t>(made.summands.size());
        for (std::int64_t p = i * width_; p < (i + 1) * width_; ++p) {
          hold(targets[p] < count_);
          if (targets[p] >= 0) made.summands.push_back({static_cast<std::int32_t>(targets[p]), weights[p]});
        }
        node.no = static_cast<std::int32_t>(made.summands.size());
      } else {
        hold(mode[i] < MEMBER && feature[i] >= 0 && feature[i] < features_);
        hold(yes[i] >= 0 && yes[i] < nodes_ && no[i] >= 0 && no[i] < nodes_);
        node.feature = static_cast<std::int32_t>(feature[i]);
        node.yes = static_cast<std::int32_t>(yes[i]), node.no = static_cast<std::int32_t>(no[i]);
      }
      made.nodes.push_back(node);
    }
    for (std::int64_t t = 0; t < roots_; ++t) {
      hold(roots[t] >= 0 && roots[t] < nodes_);
      made.roots.push_back(static_cast<std::int32_t>(roots[t]));
    }
    hold(ends(made));
    return made;
  }

  // No node is below itself: each is left for good once all below it have been.
  static bool ends(const Trees& trees) {
    enum : std::uint8_t { UNSEEN, ABOVE, LEFT };
    std::vector<std::uint8_t> state(trees.nodes.size(), UNSEEN);
    std::vector<std::int32_t> path;
    for (std::int32_t root : trees.roots) {
      if (state[root] == UNSEEN) path.push_back(root);
      while (!path.empty()) {
        const std::int32_t at = path.back();
        const Node& node = trees.nodes[at];
        if (state[at] != UNSEEN || node.mode == LEAF) {
          state[at] = LEFT, path.pop_back();
          continue;
        }
        state[at] = ABOVE;
        for (std::int32_t below : {node.yes, node.no}) {
          if (state[below] == ABOVE) return false;
          if (state[below] == UNSEEN) path.push_back(below);
        }
      }
    }
    return true;
  }

  static bool passes(const Node& node, float x) {
    bool passed = false;
    switch (node.mode) {
      case LEQ: passed = x <= node.value; break;
      case LT: passed = x < node.value; break;
      case GTE: passed = x >= node.value; break;
      case GT: passed = x > node.value; break;
      case EQ: passed = x == node.value; break;
      default: passed = x != node.value;
    }
    return passed || (node.missing && std::isnan(x));
  }

  void walk(const Run& run, const Trees& trees) const {
    const float* data = run.input<float>(0);
    float* scores = run.output<float>(0);
    bool* given = run.output<bool>(1);
    const float divisor = static_cast<float>(std::max<std::int64_t>(roots_, 1));
    const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, 8 * roots_));
    run.ranges(rows_, grain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* x = data + row * features_;
        float* to = scores + row * count_;
        bool* seen = given + row * count_;
        std::fill(to, to + count_, 0.0f);
        std::fill(seen, seen + count_, false);
        for (std::int32_t root : trees.roots) {  // one after the other, as a sum of floats depends on the order
          const Node* node = &trees.nodes[root];
          while (node->mode != LEAF) node = &trees.nodes[passes(*node, x[node->feature]) ? node->yes : node->no];
          for (std::int32_t s = node->yes; s < node->no; ++s) {
            const auto [target, weight] = trees.summands[s];
            to[target] = add(to[target], weight, seen[target]);
            seen[target] = true;
          }
        }
        if (mean_)
          for (std::int64_t c = 0; c < count_; ++c) to[c] /= divisor;
      }
    });
  }

  float add(float before, float weight, bool seen) const {
    if (!least_ && !greatest_) return before + weight;
    if (!seen) return weight;
    if (std::isnan(before) || std::isnan(weight)) return before + weight;
    return least_ ? std::min(before, weight) : std::max(before, weight);
  }

  std::int64_t count_, rows_, features_, nodes_, roots_, width_;
  bool least_, greatest_, mean_, packed_ = false;
  Trees trees_;
};

}  // namespace

std::unique_ptr<Kernel> bind_fused_forest(const Call& call) { return std::make_unique<Forest>(call); }

}  // namespace gluonnx
