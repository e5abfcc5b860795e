// Attention in one kernel: scores of some queries with all keys they see, in cache, their softmax, its product with the values.
//
// A unit is a head of keys and values with all queries that read it. Where these are many, keys and values are packed into panels,
// once, and queries go by in blocks whose scores the second cache holds. Where they are one block, as in decoding, keys, then
// values pass once, some at a time, and of a handful of queries nothing is packed at all.
#include "../gemm/dots.h"
#include "../gemm/pack.h"
#include "../../base/half.h"
#include "shares.h"
#include "tile.h"

namespace gluonnx {
namespace attention {
namespace {

constexpr Index LEAST = 8, MOST = 48;  // queries of a block
constexpr Index SCORES = 64 * 1024;    // of a block, about
constexpr Index STREAMED = 64;         // keys that are taken at a time where all queries are one block

Index panels_of(Index n) { return (n + 15) / 16; }
Index rounded(Index n) { return panels_of(n) * 16; }

// Where the rows of an operand lie, in elements: one for each batch, head and place.
struct View {
  Index begin = 0, batch = 0, head = 0, place = 0;
  Index at(Index b, Index h, Index i) const { return begin + b * batch + h * head + i * place; }
};

struct Sizes {
  Index batch, heads, groups, queries, keys, depth, width;
  Index shared() const { return heads / groups; }  // heads of queries that share a head of keys
};

// A mask as it broadcasts: how far apart its numbers are along each axis, 0 where they are the same.
struct MaskView {
  int input = -1;
  Index batch = 0, head = 0, place = 0, key = 0;
  Index at(Index b, Index h, Index i) const { return b * batch + h * head + i * place; }
};

// A range of keys.
struct Range {
  Index begin, end;
  Index size() const { return std::max<Index>(0, end - begin); }
};

struct Plan {
  Sizes sizes;
  DType type, kept, added_type;  // of queries and results, of keys and values, of what is added
  View query, key, value, result;
  MaskView keep, added;
  Masks masks;
  Blind blind;
  bool has_before, has_after;
  Index before, after, offset;

  // The keys that a query sees.
  Range seen(Index place) const {
    const Index own = place + offset, all = sizes.keys;
    return {has_before ? std::clamp<Index>(own - before, 0, all) : 0, has_after ? std::clamp<Index>(own + after + 1, 0, all) : all};
  }
  // Those that any of some queries sees.
  Range seen(Index first, Index last) const { return {seen(first).begin, seen(last).end}; }
};

// Memory of one thread, in floats.
struct Room {
  Index keys, values, queries, scores, results, mask, chunk;  // sizes
  Index all() const { return keys + values + queries + scores + results + mask + chunk; }
};

class Fused : public Kernel {
 public:
  Fused(const Plan& plan, int threads) : p_(plan) {
    const Sizes& s = p_.sizes;
    const Index rows = s.shared() * s.queries;
    const Index wide = rounded(std::max<Index>(1, s.keys));
    block_ = std::clamp<Index>(SCORES / wide, LEAST, MOST);
    few_ = rows <= block_;
    // heads that share keys are the rows of a block where each has one query
    own_ = s.queries == 1 ? s.shared() : s.queries;
    block_ = std::max<Index>(1, std::min(own_, block_));
    const Index most = few_ ? rows : block_;
    const bool half = is_half(p_.type);
    room_ = {few_ ? 0 : times(wide, s.depth),
             few_ ? 0 : times(rounded(s.width), std::max<Index>(1, s.keys)),
             half || few_ ? times(most, s.depth) : 0,
             times(most, wide),
             times(most, rounded(s.width)),
             is_half(p_.added_type) && p_.added.input >= 0 ? wide : 0,
             few_ || is_half(p_.kept) ? times(STREAMED, plus(plus(std::max(s.depth, rounded(s.width)), 16), s.depth)) : 0};
    for (Index* size : {&room_.keys, &room_.values, &room_.queries, &room_.scores, &room_.results, &room_.mask, &room_.chunk})
      *size = (*size + 15) / 16 * 16;
    units_ = rows ? times(s.batch, s.groups) : 0;
    const Index blocks = few_ ? 1 : (own_ + block_ - 1) / block_ * sets();
    const bool whole = few_ || threads == 1 || units_ >= 2 * threads;
    splits_ = whole ? 1 : std::clamp<Index>(2 * threads / std::max<Index>(1, units_), 1, blocks);
    scratch = static_cast<std::size_t>(times(room_.all(), 4, threads));
    flops = 2.0 * s.batch * s.heads * s.queries * s.keys * (s.depth + s.width + 8);
    how = few_ ? "streamed" : "packed";
  }

  void run(const Run& run) const override {
    const Index count = units_ * splits_;
    if (!count) return;
    const double each = 1 + flops / count / 50e9 * 1e9;  // ns
    run.ranges(count, static_cast<Index>(10e3 / each) + 1, [&](Index begin, Index end, int thread) {
      float* room = reinterpret_cast<float*>(run.scratch) + thread * room_.all();
      for (Index i = begin; i < end; ++i) {
        const Index unit = i / splits_, b = unit / p_.sizes.groups, group = unit % p_.sizes.groups;
        if (few_) stream(run, b, group, room);
        else pass(run, b, group, i % splits_, room);
      }
    });
  }

 private:
  // `count` rows of so many numbers, as floats: where they lie, or in `room` where they are narrower.
  __attribute__((noinline, noclone)) gemm::Operand rows(const Run& run, int input, Index at, Index step, Index count, Index width, float* room) const {
    const DType type = input == 0 ? p_.type : p_.kept;
    if (!is_half(type)) return {run.input<float>(input) + at, step, false};
    const std::uint16_t* from = run.input<std::uint16_t>(input) + at;
    for (Index i = 0; i < count; ++i) widen_halves(type, room + i * width, from + i * step, width);
    return {room, width, false};
  }

  // Scores of a query, of the keys it sees, as shares (the others of `all` 0). Gives the factor.
  __attribute__((noinline)) float share(const Run& run, float* scores, Range all, Index b, Index h, Index i, float* room) const {
    const Range own = p_.seen(i);
    const Index begin = std::max(own.begin, all.begin), end = std::max(begin, std::min(own.end, all.end));
    Masks m = p_.masks;
    if (p_.keep.input >= 0) m.keep = run.input<std::uint8_t>(p_.keep.input) + p_.keep.at(b, h, i) + begin * p_.keep.key;
    if (p_.added.input >= 0) {
      const Index at = p_.added.at(b, h, i) + begin * p_.added.key;
      if (is_half(p_.added_type)) {
        widen_halves(p_.added_type, room, run.input<std::uint16_t>(p_.added.input) + at, m.added_one ? 1 : end - begin);
        m.added = room;
      } else {
        m.added = run.input<float>(p_.added.input) + at;
      }
    }
    if (begin == end) m.keep = nullptr, m.added = nullptr;
    std::fill(scores, scores + (begin - all.begin), 0.f);
    if (end < all.end) std::fill(scores + (end - all.begin), scores + all.size(), 0.f);
    return shares(scores + (begin - all.begin), end - begin, m, p_.blind);
  }

  __attribute__((noinline)) void finish(const Run& run, const float* sums, float factor, Index b, Index h, Index i) const {
    const Index at = p_.result.at(b, h, i), n = p_.sizes.width;
    const bool zero = factor == 0 || !p_.sizes.keys;
    if (is_half(p_.type)) {
      float part[256];
      for (Index j = 0; j < n; j += 256) {
        const Index count = std::min<Index>(256, n - j);
        for (Index k = 0; k < count; ++k) part[k] = zero ? 0.f : sums[j + k] * factor;
        narrow_halves(p_.type, run.output<std::uint16_t>() + at + j, part, count);
      }
      return;
    }
    float* to = run.output<float>() + at;
    if (zero) return static_cast<void>(std::fill(to, to + n, 0.f));
    each_vector(n, [&](Index j, auto count) { put(to + j, get(sums + j, count) * factor, count); });
  }

  // The head and place of a row: rows are the queries of one head, or the only ones of several.
  Index head_of(Index group, Index set, Index row) const {
    return group * p_.sizes.shared() + (p_.sizes.queries == 1 ? row : set);
  }
  Index place_of(Index row) const { return p_.sizes.queries == 1 ? 0 : row; }
  Index sets() const { return p_.sizes.queries == 1 ? 1 : p_.sizes.shared(); }

  void pass(const Run& run, Index b, Index group, Index split, float* room) const {
    const Sizes& s = p_.sizes;
    float* keys = room;
    float* values = keys + room_.keys;
    float* queries = values + room_.values;
    float* scores = queries + room_.queries;
    float* results = scores + room_.scores;
    float* mask = results + room_.results;
    float* chunk = mask + room_.mask;
    const Index blocks = (own_ + block_ - 1) / block_, all = blocks * sets();
    const Index first = all * split / splits_, last = all * (split + 1) / splits_;
    if (first == last) return;
    const Range whole = sets() == 1 ? p_.seen(place_of(first * own_ / blocks), place_of(last * own_ / blocks - 1))
                                    : p_.seen(0, s.queries - 1);
    const Range packed{whole.begin / 16 * 16, whole.end};
    pack(run, b, group, packed, keys, values, chunk);
    const Index wide = rounded(packed.size()), width = rounded(s.width);
    const Index step = s.queries == 1 ? p_.query.head : p_.query.place;
    for (Index i = first; i < last; ++i) {
      const Index set = i / blocks, from = i % blocks * own_ / blocks, to = (i % blocks + 1) * own_ / blocks, count = to - from;
      const Range seen = p_.seen(place_of(from), place_of(to - 1));
      const Range near{std::max(seen.begin / 16 * 16, packed.begin), std::max(seen.end, seen.begin / 16 * 16)};
      const Index skipped = near.begin - packed.begin;
      const Index begin = p_.query.at(b, head_of(group, set, from), place_of(from));
      const gemm::Operand q = rows(run, 0, begin, step, count, s.depth, queries);
      const Panels k{keys + skipped * s.depth, 16, 16 * s.depth}, v{values + skipped * 16, 16, 16 * packed.size()};
      multiply(count, s.depth, q.data, q.ld, k, panels_of(near.size()), scores, wide, false);
      float factors[MOST];
      for (Index r = 0; r < count; ++r)
        factors[r] = share(run, scores + r * wide, near, b, head_of(group, set, from + r), place_of(from + r), mask);
      multiply(count, near.size(), scores, wide, v, width / 16, results, width, false);
      for (Index r = 0; r < count; ++r)
        finish(run, results + r * width, factors[r], b, head_of(group, set, from + r), place_of(from + r));
    }
  }

  __attribute__((noinline)) void pack_keys(const gemm::Operand& transposed, Index count, float* to) const {
    const Index depth = p_.sizes.depth;
    for (Index j = 0; j < count; j += 16)
      gemm::pack_panel(transposed, 0, depth, j, std::min<Index>(16, count - j), 16, to + j * depth, 16);
  }

  // Keys in panels of 16 keys, (depth, 16) each; values in panels of 16 features, (keys, 16) each.
  void pack(const Run& run, Index b, Index group, Range range, float* keys, float* values, float* chunk) const {
    const Sizes& s = p_.sizes;
    for (Index begin = 0; begin < range.size(); begin += STREAMED) {
      const Index count = std::min(STREAMED, range.size() - begin), at = range.begin + begin;
      gemm::Operand k = rows(run, 1, p_.key.at(b, group, at), p_.key.place, count, s.depth, chunk);
      k.transposed = true;
      pack_keys(k, count, keys + begin * s.depth);
      const gemm::Operand v = rows(run, 2, p_.value.at(b, group, at), p_.value.place, count, s.width, chunk);
      for (Index j = 0; j < s.width; j += 16)
        gemm::pack_panel(v, 0, count, j, std::min<Index>(16, s.width - j), 16, values + j * range.size() + begin * 16, 16);
    }
  }

  void stream(const Run& run, Index b, Index group, float* room) const {
    const Sizes& s = p_.sizes;
    float* queries = room;
    float* scores = queries + room_.queries;
    float* results = scores + room_.scores;
    float* mask = results + room_.results;
    float* chunk = mask + room_.mask;
    float* tail = chunk + STREAMED * std::max(s.depth, rounded(s.width));
    float* panels = tail + STREAMED * 16;
    const Index count = s.shared() * s.queries;
    auto head = [&](Index r) { return group * s.shared() + r / s.queries; };
    auto place = [&](Index r) { return r % s.queries; };
    for (Index r = 0; r < count; ++r) {
      float* to = queries + r * s.depth;
      const gemm::Operand q = rows(run, 0, p_.query.at(b, head(r), place(r)), 0, 1, s.depth, to);
      if (q.data != to) std::copy(q.data, q.data + s.depth, to);
    }
    const Range range = p_.seen(0, s.queries - 1);
    const Index wide = rounded(std::max<Index>(1, range.size())), width = rounded(s.width);
    for (Index begin = 0; begin < range.size(); begin += STREAMED) {
      const Index keys = std::min(STREAMED, range.size() - begin);
      gemm::Product p;
      p.b = rows(run, 1, p_.key.at(b, group, range.begin + begin), p_.key.place, keys, s.depth, chunk);
      p.b.transposed = true;
      p.ldc = wide;
      if (count <= gemm::FEW_ROWS) {
        p.sizes = {count, keys, s.depth};
        p.a = {queries, s.depth, false};
        p.c = scores + begin;
        gemm::dots(p, 0, keys);
        continue;
      }
      pack_keys(p.b, keys, panels);
      multiply(count, s.depth, queries, s.depth, {panels, 16, 16 * s.depth}, panels_of(keys), scores + begin, wide, false);
    }
    float factors[MOST];
    for (Index r = 0; r < count; ++r) factors[r] = share(run, scores + r * wide, range, b, head(r), place(r), mask);
    std::fill(results, results + count * width, 0.f);
    const Index whole = s.width / 16, rest = s.width % 16;
    for (Index begin = 0; begin < range.size(); begin += STREAMED) {
      const Index keys = std::min(STREAMED, range.size() - begin);
      const gemm::Operand v = rows(run, 2, p_.value.at(b, group, range.begin + begin), p_.value.place, keys, s.width, chunk);
      multiply(count, keys, scores + begin, wide, {v.data, v.ld, 16}, whole, results, width, true);
      if (rest) {
        gemm::pack_panel(v, 0, keys, whole * 16, rest, 16, tail, 16);
        multiply(count, keys, scores + begin, wide, {tail, 16, 0}, 1, results + whole * 16, width, true);
      }
    }
    for (Index r = 0; r < count; ++r) finish(run, results + r * width, factors[r], b, head(r), place(r));
  }

  Plan p_;
  bool few_;
  Index own_;    // queries that are the rows of one head, or of all that share keys
  Index block_;  // queries of a block
  Index units_, splits_;
  Room room_;
};

// How the rows of a tensor lie, whose axes are the batch, the head, the place and the feature in this order; what these sizes are.
View view_of(const Tensor& t, const std::vector<std::int64_t>& axes, Index (&sizes)[4]) {
  const Index rank = static_cast<Index>(axes.size());
  want((rank == 4 || rank == 5) && t.rank() == rank && !t.blocked);
  Index steps[5], step = 1;
  for (Index i = rank; i-- > 0; step = times(step, t.shape[i])) steps[i] = step;
  bool found[5] = {};
  for (int i = 0; i < 4; ++i) {
    want(axes[i] >= 0 && axes[i] < rank && !found[axes[i]]);
    found[axes[i]] = true;
    sizes[i] = t.shape[axes[i]];
  }
  want(axes[3] == rank - 1);  // the features of a row lie side by side
  View v{0, steps[axes[0]], steps[axes[1]], steps[axes[2]]};
  if (rank == 5) {
    int rest = 0;
    while (found[rest]) ++rest;
    want(axes[4] >= 0 && axes[4] < t.shape[rest]);
    v.begin = axes[4] * steps[rest];
  }
  return v;
}

MaskView mask_of(const Call& call, int input, const Sizes& s) {
  const Tensor& t = call.in[input];
  const Index wanted[4] = {s.batch, s.heads, s.queries, s.keys};
  want(t.rank() == 4 && !t.blocked);
  Index steps[4], step = 1;
  for (int i = 3; i >= 0; --i) {
    want(t.shape[i] == 1 || t.shape[i] == wanted[i]);
    steps[i] = t.shape[i] == 1 ? 0 : step;
    step = times(step, t.shape[i]);
  }
  return {input, steps[0], steps[1], steps[2], steps[3]};
}

}  // namespace
}  // namespace attention

std::unique_ptr<Kernel> bind_fused_attention(const Call& call) {
  using namespace attention;
  const Attrs& attrs = call.attrs;
  const Tensor& out = call.out[0];
  Plan p{};
  p.type = call.in[0].dtype;
  Index q[4], k[4], v[4], y[4];
  p.query = view_of(call.in[0], attrs.ints("query_axes"), q);
  p.key = view_of(call.in[1], attrs.ints("key_axes"), k);
  p.value = view_of(call.in[2], attrs.ints("value_axes"), v);
  want(attrs.ints("result_axes").size() == 4);
  p.result = view_of(out, attrs.ints("result_axes"), y);
  p.kept = call.in[1].dtype;
  want(out.dtype == p.type && call.in[2].dtype == p.kept);
  want(p.kept == p.type || (p.type == DType::f32 && is_half(p.kept)));
  want(p.type == DType::f32 || is_half(p.type));
  want(k[0] == q[0] && v[0] == q[0] && y[0] == q[0] && y[1] == q[1] && v[1] == k[1] && y[2] == q[2] && v[2] == k[2]);
  want(k[3] == q[3] && y[3] == v[3] && k[1] > 0 && q[1] % k[1] == 0);
  p.sizes = {q[0], q[1], k[1], q[2], k[2], q[3], v[3]};
  p.masks.scale = static_cast<float>(attrs.real("scale"));
  p.masks.softcap = static_cast<float>(attrs.real("softcap"));
  p.masks.fill = static_cast<float>(attrs.real("fill"));
  int next = 3;
  if (attrs.flag("keep")) {
    want(call.in[next].dtype == DType::b1);
    p.keep = mask_of(call, next++, p.sizes);
    p.masks.keep_one = p.keep.key == 0;
  }
  if (attrs.flag("added")) {
    p.added_type = call.in[next].dtype;
    want(p.added_type == p.type || p.added_type == DType::f32);
    p.added = mask_of(call, next++, p.sizes);
    p.masks.added_one = p.added.key == 0;
  }
  want(static_cast<int>(call.in.size()) == next);
  constexpr Index FAR = Index{1} << 60;
  const std::string& blind = attrs.text("blind");
  want(blind == "nan" || blind == "zeros" || blind == "finite");
  p.blind = blind == "nan" ? Blind::nan : blind == "zeros" ? Blind::zeros : Blind::finite;
  p.has_before = attrs.has("before");
  p.has_after = attrs.has("after");
  p.before = std::min(attrs.integer("before", 0), FAR);
  p.after = std::min(attrs.integer("after", 0), FAR);
  p.offset = std::clamp(attrs.integer("offset"), -FAR, FAR);
  return std::make_unique<Fused>(p, call.threads);
}

}  // namespace gluonnx
