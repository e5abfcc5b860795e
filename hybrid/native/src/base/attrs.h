// An operator's attributes, as Python's side knows them: read by name, and none may be left unread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace gluonnx {

class Attrs {
 public:
  // None, bool and int, float, text, tuple of ints
  using Value = std::variant<std::monostate, std::int64_t, double, std::string, std::vector<std::int64_t>>;

  explicit Attrs(std::map<std::string, Value> values) : values_(std::move(values)) {}

  bool has(const std::string& name) const {  // present and not None
    auto found = values_.find(name);
    return found != values_.end() && found->second.index() != 0;
  }
  std::int64_t integer(const std::string& name) const { return of<std::int64_t>(name); }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) const {
    return has(name) ? integer(name) : (ignore(name), otherwise);
  }
  double real(const std::string& name) const {
    return at(name).index() == 1 ? static_cast<double>(of<std::int64_t>(name)) : of<double>(name);
  }
  double real(const std::string& name, double otherwise) const { return has(name) ? real(name) : (ignore(name), otherwise); }
  bool flag(const std::string& name) const { return integer(name) != 0; }
  const std::string& text(const std::string& name) const { return of<std::string>(name); }
  std::string text(const std::string& name, const std::string& otherwise) const {
    return has(name) ? text(name) : (ignore(name), otherwise);
  }
  const std::vector<std::int64_t>& ints(const std::string& name) const {
    return of<std::vector<std::int64_t>>(name);
  }
  // an empty tuple and None count as absent, as in MXNet's stride=()
  std::vector<std::int64_t> ints(const std::string& name, std::vector<std::int64_t> otherwise) const {
    if (!has(name)) return ignore(name), otherwise;
    const auto& found = ints(name);
    return found.empty() ? otherwise : found;
  }
  // a tuple of words, which comes as one text with spaces between them (and as a tuple when it is empty)
  bool names(const std::string& name, const std::string& word) const {
    const auto* found = std::get_if<std::string>(&at(name));
    return found && (" " + *found + " ").find(" " + word + " ") != std::string::npos;
  }
  // all of them
  std::vector<std::string> words(const std::string& name) const {
    const auto* found = std::get_if<std::string>(&at(name));
    std::vector<std::string> all;
    for (std::size_t begin = 0; found && begin < found->size();) {
      const std::size_t end = std::min(found->find(' ', begin), found->size());
      if (end > begin) all.push_back(found->substr(begin, end - begin));
      begin = end + 1;
    }
    return all;
  }
  // Another value for a number, or for the one at a place of a tuple.
  void set(const std::string& name, int at, std::int64_t value) {
    Value& there = values_.at(name);
    if (at < 0) there = value;
    else std::get<std::vector<std::int64_t>>(there).at(at) = value;
  }
  // attributes that change nothing here (workspace, cudnn_tune)
  void ignore(const std::string& name) const { read_.insert(name); }
  template <class... Names>
  void ignore(const std::string& name, const Names&... rest) const {
    ignore(name);
    ignore(rest...);
  }

  std::vector<std::string> unread() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : values_)
      if (!read_.count(name)) names.push_back(name);
    return names;
  }

 private:
  const Value& at(const std::string& name) const {
    auto found = values_.find(name);
    if (found == values_.end()) throw std::logic_error("the kernel asks for attribute " + name + ", which is not there");
    read_.insert(name);
    return found->second;
  }

  template <class T>
  const T& of(const std::string& name) const {
    if (const T* found = std::get_if<T>(&at(name))) return *found;
    throw std::logic_error("the kernel asks for attribute " + name + " as a value of another kind than it has");
  }

  std::map<std::string, Value> values_;
  mutable std::set<std::string> read_;
};

}  // namespace gluonnx
