#include "attrs.h"

#include <algorithm>
#include <stdexcept>

namespace gluonnx {

Attrs::Attrs(std::map<std::string, Value> values)
    : values_(std::make_move_iterator(values.begin()), std::make_move_iterator(values.end())) {}
Attrs::Attrs(std::initializer_list<std::pair<std::string_view, std::vector<std::int64_t>>> tuples,
             std::initializer_list<std::pair<std::string_view, std::int64_t>> numbers) {
  for (const auto& [name, tuple] : tuples) values_.emplace(name, tuple);
  for (const auto& [name, number] : numbers) values_.emplace(name, number);
}
Attrs::Attrs(const Attrs&) = default;
Attrs::~Attrs() = default;

bool Attrs::has(std::string_view name) const {
  const Value* found = find(name);
  return found && found->index() != 0;
}

std::int64_t Attrs::integer(std::string_view name) const { return of<std::int64_t>(name); }
std::int64_t Attrs::integer(std::string_view name, std::int64_t otherwise) const {
  return has(name) ? integer(name) : (ignore(name), otherwise);
}

double Attrs::real(std::string_view name) const {
  return at(name).index() == 1 ? static_cast<double>(of<std::int64_t>(name)) : of<double>(name);
}
double Attrs::real(std::string_view name, double otherwise) const { return has(name) ? real(name) : (ignore(name), otherwise); }

const std::string& Attrs::text(std::string_view name) const { return of<std::string>(name); }
std::string Attrs::text(std::string_view name, std::string_view otherwise) const {
  if (has(name)) return text(name);
  ignore(name);
  return std::string(otherwise);
}

const std::vector<std::int64_t>& Attrs::ints(std::string_view name) const { return of<std::vector<std::int64_t>>(name); }
std::vector<std::int64_t> Attrs::ints(std::string_view name, const std::vector<std::int64_t>& otherwise) const {
  if (!has(name)) return ignore(name), otherwise;
  const auto& found = ints(name);
  return found.empty() ? otherwise : found;
}

bool Attrs::names(std::string_view name, std::string_view word) const {
  const auto all = words(name);
  return std::find(all.begin(), all.end(), word) != all.end();
}
std::vector<std::string> Attrs::words(std::string_view name) const {
  const auto* found = std::get_if<std::string>(&at(name));
  std::vector<std::string> all;
  for (std::size_t begin = 0; found && begin < found->size();) {
    const std::size_t end = std::min(found->find(' ', begin), found->size());
    if (end > begin) all.push_back(found->substr(begin, end - begin));
    begin = end + 1;
  }
  return all;
}

void Attrs::set(const std::string& name, int at, std::int64_t value) {
  Value& there = values_.at(name);
  if (at < 0) there = value;
  else std::get<std::vector<std::int64_t>>(there).at(at) = value;
}

std::vector<std::string> Attrs::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : values_)
    if (!read_.count(name)) names.push_back(name);
  return names;
}

void Attrs::ignore_all(std::initializer_list<std::string_view> names) const {
  for (std::string_view name : names) read_.emplace(name);
}

const Attrs::Value* Attrs::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

const Attrs::Value& Attrs::at(std::string_view name) const {
  const Value* found = find(name);
  if (!found) throw std::logic_error("the kernel asks for attribute " + std::string(name) + ", which is not there");
  read_.emplace(name);
  return *found;
}

template <class T>
const T& Attrs::of(std::string_view name) const {
  if (const T* found = std::get_if<T>(&at(name))) return *found;
  throw std::logic_error("the kernel asks for attribute " + std::string(name) + " as a value of another kind than it has");
}

}  // namespace gluonnx
