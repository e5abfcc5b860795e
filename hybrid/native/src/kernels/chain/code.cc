#include "code.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace gluonnx::chain {
namespace {

template <class T>
class Parser {
 public:
  bool take(const std::string& word, int inputs) {
    if (word[0] == '$') {
      int index = std::atoi(word.c_str() + 1);
      if (index < 0 || index >= inputs) return false;
      stack_.push_back(input(index));
    } else if (auto* found = find_word<T>(word)) {
      ++code.words;
      if (static_cast<int>(stack_.size()) < found->arity) return false;
      int operands[3] = {-1, -1, -1};
      for (int i = found->arity; i-- > 0; stack_.pop_back()) operands[i] = stack_.back();
      if (word == "pow" && operands[1] == constant(2)) {  // much cheaper, and exact to half a unit as well
        found = find_word<T>("square");
        operands[1] = -1;
      }
      stack_.push_back(apply(found, operands));
    } else {
      char* end;
      double number = std::strtod(word.c_str(), &end);
      if (*end) return false;
      if constexpr (std::is_integral_v<T>) {  // one that T does not hold is NumPy's to refuse
        constexpr double reach = sizeof(T) == 8 ? 9223372036854775808.0 : 2147483648.0;
        if (!(number >= -reach && number < reach)) return false;
      }
      stack_.push_back(constant(static_cast<T>(number)));
    }
    return true;
  }

  // The result's value, or -1.
  int finish() const { return stack_.size() == 1 ? stack_[0] : -1; }

  int apply(const Word<T>* word, const int (&operands)[3]) {
    for (const auto& known : code.instructions)
      if (known.word == word && std::equal(operands, operands + 3, known.operands)) return known.result;
    int result = add({Value<T>::result});
    code.instructions.push_back({word, {operands[0], operands[1], operands[2]}, result});
    return result;
  }

  Code<T> code;

 private:
  int add(Value<T> value) {
    code.values.push_back(value);
    return static_cast<int>(code.values.size()) - 1;
  }
  int input(int index) {
    for (std::size_t i = 0; i < code.values.size(); ++i)
      if (code.values[i].kind == Value<T>::input && code.values[i].input_index == index) return static_cast<int>(i);
    return add({Value<T>::input, index});
  }
  int constant(T number) {
    for (std::size_t i = 0; i < code.values.size(); ++i)  // by their bits: -0 is not 0
      if (code.values[i].kind == Value<T>::number && !std::memcmp(&code.values[i].constant, &number, sizeof(T)))
        return static_cast<int>(i);
    return add({Value<T>::number, -1, number});
  }

  std::vector<int> stack_;
};

template <class T>
int uses(const Code<T>& code, int value) {
  int count = 0;
  for (const auto& i : code.instructions) count += static_cast<int>(std::count(i.operands, i.operands + i.word->arity, value));
  return count;
}

// Makes one instruction of `first` and the one that takes its result, when nothing else does.
template <class T>
void fuse(Code<T>& code) {
  auto maker = [&](int value) {
    return std::find_if(code.instructions.begin(), code.instructions.end(), [&](auto& i) { return i.result == value; });
  };
  auto is = [](const Instruction<T>& i, const char* name) { return !std::strcmp(i.word->name, name); };
  for (auto& i : code.instructions) {
    if (!is(i, "add")) continue;
    for (int side : {0, 1}) {
      auto product = maker(i.operands[side]);
      if (product == code.instructions.end() || !is(*product, "mul") || uses(code, product->result) != 1) continue;
      i = {find_word<T>("mul+add"), {product->operands[0], product->operands[1], i.operands[1 - side]}, i.result};
      code.instructions.erase(product);  // comes before i, which is not looked at again in this pass
      return fuse(code);
    }
  }
  for (auto& i : code.instructions) {
    if (!is(i, "relu")) continue;
    auto sum = maker(i.operands[0]);
    if (sum == code.instructions.end() || uses(code, sum->result) != 1) continue;
    auto* both = find_word<T>(sum->word->name + std::string("+relu"));
    if (!both) continue;
    i = {both, {sum->operands[0], sum->operands[1], sum->operands[2]}, i.result};
    code.instructions.erase(sum);
    return fuse(code);
  }
}

}  // namespace

template <class T>
std::optional<Code<T>> parse(const std::string& text, int inputs) {
  Parser<T> parser;
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (!parser.take(word, inputs)) return std::nullopt;
  int result = parser.finish();
  if (result < 0) return std::nullopt;
  // one that is an input, a number, or in the middle of the others' way, is copied
  if (parser.code.instructions.empty() || parser.code.instructions.back().result != result)
    parser.apply(find_word<T>("copy"), {result, -1, -1});
  fuse(parser.code);
  return std::move(parser.code);
}

template std::optional<Code<float>> parse<float>(const std::string&, int);
template std::optional<Code<double>> parse<double>(const std::string&, int);
template std::optional<Code<std::int32_t>> parse<std::int32_t>(const std::string&, int);
template std::optional<Code<std::int64_t>> parse<std::int64_t>(const std::string&, int);

}  // namespace gluonnx::chain
