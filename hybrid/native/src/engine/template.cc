#include "template.h"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <set>
#include <stdexcept>

#include "memory.h"

namespace gluonnx {
namespace {

constexpr std::int64_t LARGEST = std::int64_t{1} << 62;
constexpr std::size_t MANY = 2000;  // storages, from which on not each is held against each

void wanted(bool there) {
  if (!there) throw std::invalid_argument("a template names an expression, an atom or a storage that there is not");
}

// Rounded towards negative infinity, as Python's.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

Template::Template(std::vector<Atom> atoms, std::vector<Expression> expressions, std::vector<Guard> guards,
                   std::vector<Operand> operands, std::vector<Storage> storages, std::vector<Action> actions, int inputs,
                   int outputs, int constants, int threads, bool precise, bool keep, bool guard)
    : atoms_(std::move(atoms)),
      expressions_(std::move(expressions)),
      guards_(std::move(guards)),
      operands_(std::move(operands)),
      storages_(std::move(storages)),
      actions_(std::move(actions)),
      inputs_(inputs),
      outputs_(outputs),
      constants_(constants),
      threads_(threads),
      precise_(precise),
      keep_(keep),
      guard_(guard) {
  const int count = static_cast<int>(expressions_.size());
  auto known = [&](int e) { wanted(e >= 0 && e < count); };
  auto bounded = [&](int e, int atoms) {
    known(e);
    for (const auto& term : expressions_[e].terms)
      for (int a : term.atoms) wanted(a >= 0 && a < atoms);
  };
  for (int e = 0; e < count; ++e) bounded(e, static_cast<int>(atoms_.size()));
  for (int a = 0; a < static_cast<int>(atoms_.size()); ++a) {
    if (atoms_[a].kind == Atom::symbol) wanted(atoms_[a].left >= 0);
    else bounded(atoms_[a].left, a), bounded(atoms_[a].right, a);
  }
  for (const Guard& g : guards_) known(g.left), known(g.right);
  auto extent = [&](const Extent& e) { wanted(e.expression >= -1 && e.expression < count); };
  for (const Operand& o : operands_) {
    for (const Extent& e : o.shape) extent(e);
    extent(o.batch_stride);
    wanted(o.skipped >= 0 && (o.kind != Place::arena || (o.number >= 0 && o.number < static_cast<int>(storages_.size()))));
  }
  for (const Action& a : actions_)
    for (const Varying& v : a.varying) known(v.expression);
}

bool Template::sum(const Expression& expression, const std::vector<std::int64_t>& atoms, std::int64_t& value) const {
  value = 0;
  for (const auto& term : expression.terms) {
    std::int64_t product = term.factor;
    for (int a : term.atoms)
      if (__builtin_mul_overflow(product, atoms[a], &product)) return false;
    if (__builtin_add_overflow(value, product, &value)) return false;
  }
  return value > -LARGEST && value < LARGEST;
}

bool Template::atom(const Atom& atom, const std::vector<std::int64_t>& symbols, const std::vector<std::int64_t>& atoms,
                    std::int64_t& value) const {
  if (atom.kind == Atom::symbol) {
    if (static_cast<std::size_t>(atom.left) >= symbols.size()) return false;
    value = symbols[atom.left];
    return value >= 0 && value < LARGEST;
  }
  std::int64_t left, right;
  if (!sum(expressions_[atom.left], atoms, left) || !sum(expressions_[atom.right], atoms, right) || !right) return false;
  const std::int64_t quotient = floor_divide(left, right);
  value = atom.kind == Atom::quotient ? quotient : left - quotient * right;
  return true;
}

std::vector<std::int64_t> Template::evaluate(const std::vector<std::int64_t>& symbols) const {
  std::vector<std::int64_t> atoms(atoms_.size());
  for (std::size_t i = 0; i < atoms_.size(); ++i)
    if (!atom(atoms_[i], symbols, atoms, atoms[i])) return {};
  std::vector<std::int64_t> values(expressions_.size() + 1);  // one more, so that it is never empty where all is well
  for (std::size_t i = 0; i < expressions_.size(); ++i)
    if (!sum(expressions_[i], atoms, values[i])) return {};
  for (const Guard& g : guards_) {
    const std::int64_t a = values[g.left], b = values[g.right];
    const bool holds[] = {a == b, a != b, a < b, a <= b};
    if (!holds[g.relation]) return {};
  }
  return values;
}

// Offsets of storages in an arena, no two that are in use at the same time over one another. Largest first, each into the lowest gap that is free
// for its whole life (the greedy-by-size planner of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", 2020); where there are very many, in the order in which they are used, each into the smallest gap that it fits into.
std::size_t Template::place(const std::vector<std::size_t>& sizes, std::vector<std::int64_t>& offsets) const {
  const std::size_t count = sizes.size();
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < count; ++i)
    if (sizes[i]) order.push_back(i);
  std::size_t arena = 0;
  if (order.size() <= MANY) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
    std::vector<std::size_t> placed;  // by offset
    for (std::size_t i : order) {
      std::size_t offset = 0;
      const std::size_t size = aligned(sizes[i]);
      for (std::size_t j : placed) {
        if (storages_[j].first > storages_[i].last || storages_[j].last < storages_[i].first) continue;
        const auto start = static_cast<std::size_t>(offsets[j]);
        if (offset + size <= start) break;
        offset = std::max(offset, start + aligned(sizes[j]));
      }
      offsets[i] = static_cast<std::int64_t>(offset);
      placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                     [&](std::size_t a, std::size_t b) { return offsets[a] < offsets[b]; }),
                    i);
      arena = std::max(arena, offset + size);
    }
    return arena;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return storages_[a].first < storages_[b].first; });
  std::map<std::size_t, std::size_t> gaps;              // by offset: size
  std::set<std::pair<std::size_t, std::size_t>> fitting;  // (size, offset)
  std::multimap<int, std::size_t> alive;                // by last step
  auto open = [&](std::size_t at, std::size_t size) {
    auto next = gaps.lower_bound(at);
    if (next != gaps.end() && at + size == next->first) {
      size += next->second;
      fitting.erase({next->second, next->first});
      next = gaps.erase(next);
    }
    if (next != gaps.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == at) {
        at = before->first, size += before->second;
        fitting.erase({before->second, before->first});
        gaps.erase(before);
      }
    }
    gaps[at] = size;
    fitting.insert({size, at});
  };
  auto close = [&](std::size_t at) {
    auto found = gaps.find(at);
    fitting.erase({found->second, at});
    const std::size_t size = found->second;
    gaps.erase(found);
    return size;
  };
  for (std::size_t i : order) {
    while (!alive.empty() && alive.begin()->first < storages_[i].first) {
      const std::size_t j = alive.begin()->second;
      alive.erase(alive.begin());
      open(static_cast<std::size_t>(offsets[j]), aligned(sizes[j]));
    }
    const std::size_t size = aligned(sizes[i]);
    auto fit = fitting.lower_bound({size, 0});
    std::size_t at, room;
    if (fit != fitting.end()) {
      at = fit->second;
      room = close(at);
    } else {  // at the end, over the gap there if there is one
      at = arena, room = size;
      if (!gaps.empty()) {
        auto last = std::prev(gaps.end());
        if (last->first + last->second == arena) {
          at = last->first;
          close(at);
        }
      }
      arena = at + size;
    }
    if (room > size) open(at + size, room - size);
    offsets[i] = static_cast<std::int64_t>(at);
    alive.insert({storages_[i].last, i});
  }
  return arena;
}

std::unique_ptr<Program> Template::program(const std::vector<std::int64_t>& values, std::size_t limit) const {
  auto number = [&](const Extent& e) { return e.expression < 0 ? e.value : values.at(e.expression); };
  std::vector<Tensor> tensors(operands_.size());
  std::vector<std::size_t> sizes(storages_.size(), 0);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    Tensor& t = tensors[i];
    t.dtype = o.dtype;
    std::vector<std::int64_t> shape;
    for (const Extent& e : o.shape) shape.push_back(number(e));
    t.shape = std::move(shape);
    t.blocked = o.blocked;
    t.halo_h = o.halo_h, t.halo_w = o.halo_w;
    t.batch_stride = number(o.batch_stride);
    std::size_t bytes = size_of(t.dtype);  // of what the storage holds from its start
    bool fits = true;
    auto times = [&](std::int64_t n) { fits &= n >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::size_t>(n), &bytes); };
    if (o.blocked) times(t.shape[0]), times(t.batch_stride);
    else for (auto d : t.shape) times(d);
    if (!fits) throw std::bad_alloc();
    if (o.kind == Place::arena) sizes[o.number] = std::max(sizes[o.number], bytes);
  }
  std::size_t total = 0;
  for (std::size_t size : sizes)
    if (size > static_cast<std::size_t>(LARGEST) || __builtin_add_overflow(total, size + ALIGNMENT, &total)) throw std::bad_alloc();
  std::vector<std::int64_t> offsets(storages_.size(), 0);
  const std::size_t arena = place(sizes, offsets);
  if (arena > limit) throw std::bad_alloc();
  std::vector<Place> places(operands_.size());
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const Operand& o = operands_[i];
    places[i] = {o.kind, o.number};
    if (o.kind != Place::arena) continue;
    places[i].at = offsets[o.number];
    if (o.blocked) places[i].at += o.skipped * tensors[i].block_stride() * static_cast<std::int64_t>(size_of(o.dtype));
  }
  std::vector<Step> steps;
  for (const Action& a : actions_) {
    steps.push_back(a.step);
    for (const Varying& v : a.varying) steps.back().attrs.set(v.attribute, v.at, values.at(v.expression));
  }
  return std::make_unique<Program>(std::move(tensors), std::move(places), std::move(steps), arena, inputs_, outputs_, constants_,
                                   threads_, precise_, keep_, guard_);
}

}  // namespace gluonnx
