// An operator's attributes, as Python's side knows them: read by name, and none may be left unread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gluonnx {

// What reads them is compiled once, not in each of a hundred files that do.
class Attrs {
 public:
  // None, bool and int, float, text, tuple of ints
  using Value = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>>;

  explicit Attrs(std::map<std::string, Value> values);
  // tuples and numbers of an operator that another one is done by
  Attrs(std::initializer_list<std::pair<std::string_view, std::vector<std::int64_t>>> tuples,
        std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers);
  Attrs(const Attrs&);
  ~Attrs();

  bool has(std::string_view name) const;  // present and not None
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  const std::string& text(std::string_view name) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  const std::vector<std::int64_t>& ints(std::string_view name) const;
  // an empty tuple and None count as absent, as in MXNet's stride=()
  std::vector<std::int64_t> ints(std::string_view name, const std::vector<std::int64_t>& otherwise) const;
  // a tuple of words, which comes as one text with spaces between them (and as a tuple when it is empty)
  bool names(std::string_view name, std::string_view word) const;
  // all of them
  std::vector<std::string> words(std::string_view name) const;
  // Another value for a number, or for the one at a place of a tuple.
  void set(const std::string& name, int at, std::int64_t value);
  // attributes that change nothing here (workspace, cudnn_tune)
  template <class... Names>
  void ignore(const Names&... names) const {
    ignore_all({std::string_view(names)...});
  }
  std::vector<std::string> unread() const;

 private:
  void ignore_all(std::initializer_list<std::string_view> names) const;
  const Value* find(std::string_view name) const;  // null where it is not there
  const Value& at(std::string_view name) const;
  template <class T>
  const T& of(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
  mutable std::set<std::string, std::less<>> read_;
};

}  // namespace gluonnx
