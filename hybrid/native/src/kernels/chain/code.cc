#include "code.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "../../base/half.h"

namespace gluonnx::chain {
namespace {

bool is_named(const Instruction& i, const char* name) { return !std::strcmp(i.word->name, name); }

std::optional<DType> dtype_named(const std::string& name) {
  constexpr std::pair<const char*, DType> NAMES[] = {
      {"float32", DType::f32}, {"float64", DType::f64}, {"float16", DType::f16},
      {"bfloat16", DType::bf16}, {"int8", DType::i8}, {"uint8", DType::u8},
      {"int32", DType::i32}, {"int64", DType::i64}, {"bool", DType::b1},
  };
  for (const auto& [text, dtype] : NAMES)
    if (name == text) return dtype;
  return std::nullopt;
}

// A number as it is written, in what the dtype is computed in; false for one that the dtype does not hold, NumPy's to refuse.
template <class T>
bool hold(T number, std::byte* to) {
  std::memcpy(to, &number, sizeof(T));
  return true;
}
template <class T>
bool hold_whole(const std::string& text, double number, std::byte* to) {
  char* end;
  errno = 0;
  const long long whole = std::strtoll(text.c_str(), &end, 10);
  if (!*end && !errno) return whole >= std::numeric_limits<T>::min() && whole <= std::numeric_limits<T>::max() && hold(static_cast<T>(whole), to);
  constexpr double reach = sizeof(T) == 8 ? 9223372036854775808.0 : 2147483648.0;
  if (!(number >= -reach && number < reach) || number != std::trunc(number)) return false;
  const auto value = static_cast<std::int64_t>(number);
  return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max() && hold(static_cast<T>(value), to);
}
bool hold_number(const std::string& text, DType dtype, std::byte* to) {
  const double number = std::strtod(text.c_str(), nullptr);
  switch (dtype) {
    case DType::f32:
      return hold(std::abs(number) > 3.5e38 ? static_cast<float>(std::copysign(__builtin_inff(), number)) : static_cast<float>(number), to);
    case DType::f64:
      return hold(number, to);
    case DType::f16:
      return hold(float16_value(as_float16(odd_float(number))), to);
    case DType::bf16:
      return hold(bfloat16_value(as_bfloat16(odd_float(number))), to);
    case DType::i8:
      return hold_whole<std::int8_t>(text, number, to);
    case DType::u8:
      return hold_whole<std::uint8_t>(text, number, to);
    case DType::i32:
      return hold_whole<std::int32_t>(text, number, to);
    case DType::i64:
      return hold_whole<std::int64_t>(text, number, to);
    case DType::b1:
      return hold(static_cast<std::uint8_t>(number != 0), to);
    default:
      return false;
  }
}

class Parser {
 public:
  explicit Parser(const std::vector<DType>& inputs) : inputs_(inputs) {}

  bool take(const std::string& word) {
    if (word[0] == '$') {
      int index = std::atoi(word.c_str() + 1);
      if (index < 0 || index >= static_cast<int>(inputs_.size())) return false;
      stack_.push_back({input(index), {}});
      return true;
    }
    if (auto dtype = dtype_named(word)) {
      if (stack_.empty()) return false;
      int operand = settled(stack_.back(), *dtype);
      if (operand < 0) return false;
      stack_.back() = {in_dtype(operand, *dtype), {}};
      return stack_.back().value >= 0;
    }
    int arity = arity_of(word);
    if (!arity) {
      char* end;
      std::strtod(word.c_str(), &end);
      if (*end) return false;
      stack_.push_back({-1, word});
      return true;
    }
    ++code.words;
    if (static_cast<int>(stack_.size()) < arity) return false;
    const auto first = stack_.end() - arity;
    auto typed = std::find_if(first, stack_.end(), [](auto& item) { return item.value >= 0; });
    // numbers among themselves are of the first input's dtype
    const DType dtype = typed == stack_.end() ? inputs_[0] : code.values[typed->value].dtype;
    const Word* found = find_word(word, dtype);
    int operands[3] = {-1, -1, -1};
    for (int i = 0; i < arity; ++i) {
      operands[i] = settled(first[i], dtype);
      if (operands[i] < 0 || code.values[operands[i]].dtype != dtype) return false;
    }
    stack_.erase(first, stack_.end());
    if (!found) return false;
    if (word == "pow" && is_number(operands[1], 2)) {  // much cheaper, and exact to half a unit as well
      found = find_word("square", dtype);
      operands[1] = -1;
    } else if (word == "pow" && is_number(operands[1], 3)) {  // GELU's; to a unit
      const int square[3] = {operands[0], -1, -1};
      found = find_word("mul", dtype);
      operands[1] = apply(find_word("square", dtype), square, dtype);
    }
    stack_.push_back({rounded(apply(found, operands, dtype)), {}});
    return true;
  }

  // The result's value, or -1.
  int finish() { return stack_.size() == 1 ? settled(stack_[0], inputs_[0]) : -1; }

  int apply(const Word* word, const int (&operands)[3], DType dtype) {
    for (const auto& known : code.instructions)
      if (known.word == word && std::equal(operands, operands + 3, known.operands) && code.values[known.result].dtype == dtype)
        return known.result;
    int result = add({Value::result, dtype});
    code.instructions.push_back({word, {operands[0], operands[1], operands[2]}, result});
    return result;
  }

  Code code;

 private:
  // A value, or a number that has no dtype yet.
  struct Item {
    int value;
    std::string text;
  };

  static int arity_of(const std::string& word) {
    for (DType dtype : {DType::f32, DType::i32})
      if (const Word* found = find_word(word, dtype)) return found->arity;
    return 0;
  }
  int add(Value value) {
    code.values.push_back(value);
    return static_cast<int>(code.values.size()) - 1;
  }
  int input(int index) {
    for (std::size_t i = 0; i < code.values.size(); ++i)
      if (code.values[i].kind == Value::input && code.values[i].input_index == index) return static_cast<int>(i);
    return add({Value::input, inputs_[index], index});
  }
  // An item's value; a number without a dtype gets this one. -1 for one that it does not hold.
  int settled(const Item& item, DType dtype) {
    if (item.value >= 0) return item.value;
    Value number{Value::number, dtype};
    if (!hold_number(item.text, dtype, number.constant)) return -1;
    for (std::size_t i = 0; i < code.values.size(); ++i) {  // by their bits: -0 is not 0
      const Value& known = code.values[i];
      if (known.kind == Value::number && known.dtype == dtype && !std::memcmp(known.constant, number.constant, sizeof number.constant))
        return static_cast<int>(i);
    }
    return add(number);
  }
  bool is_number(int value, double wanted) const {
    const Value& v = code.values[value];
    if (v.kind != Value::number) return false;
    if (v.dtype == DType::f64) return *reinterpret_cast<const double*>(v.constant) == wanted;
    return computed_in(v.dtype) == DType::f32 && *reinterpret_cast<const float*>(v.constant) == wanted;
  }
  // The value of a half, rounded to one.
  int rounded(int value) {
    const DType dtype = code.values[value].dtype;
    const auto made = std::find_if(code.instructions.begin(), code.instructions.end(), [&](auto& i) { return i.result == value; });
    if (!is_half(dtype) || made->word->exact) return value;
    const Word* via;
    return apply(find_cast(DType::f32, dtype, &via), {value, -1, -1}, dtype);
  }
  // The value in another dtype, -1 where that cannot be.
  int in_dtype(int value, DType dtype) {
    const DType from = code.values[value].dtype;
    if (from == dtype) return value;
    const Word *via = nullptr, *word = find_cast(from, dtype, &via);
    if (via) value = apply(via, {value, -1, -1}, DType::f32);
    return apply(word ? word : find_word("copy", computed_in(dtype)), {value, -1, -1}, dtype);
  }

  const std::vector<DType>& inputs_;
  std::vector<Item> stack_;
};

int uses(const Code& code, int value) {
  int count = 0;
  for (const auto& i : code.instructions) count += static_cast<int>(std::count(i.operands, i.operands + i.word->arity, value));
  return count;
}

auto maker(Code& code, int value) {
  return std::find_if(code.instructions.begin(), code.instructions.end(), [&](auto& i) { return i.result == value; });
}

// Makes one instruction of `first` and the one that takes its result, when nothing else does.
void fuse(Code& code) {
  for (auto& i : code.instructions) {
    if (!is_named(i, "add")) continue;
    for (int side : {0, 1}) {
      auto product = maker(code, i.operands[side]);
      if (product == code.instructions.end() || !is_named(*product, "mul") || uses(code, product->result) != 1) continue;
      const Word* both = find_word("mul+add", code.values[i.result].dtype);
      if (!both) continue;
      i = {both, {product->operands[0], product->operands[1], i.operands[1 - side]}, i.result};
      code.instructions.erase(product);  // comes before i, which is not looked at again in this pass
      return fuse(code);
    }
  }
  for (auto& i : code.instructions) {
    if (!is_named(i, "relu")) continue;
    auto sum = maker(code, i.operands[0]);
    if (sum == code.instructions.end() || uses(code, sum->result) != 1) continue;
    auto* both = find_word(sum->word->name + std::string("+relu"), code.values[i.result].dtype);
    if (!both) continue;
    i = {both, {sum->operands[0], sum->operands[1], sum->operands[2]}, i.result};
    code.instructions.erase(sum);
    return fuse(code);
  }
}

// Copies between values that are computed in the same go, but for one that gives the result.
void skip_copies(Code& code) {
  for (std::size_t i = 0; i + 1 < code.instructions.size(); ++i) {
    const Instruction copy = code.instructions[i];
    if (!is_named(copy, "copy")) continue;
    for (auto& other : code.instructions) std::replace(other.operands, other.operands + other.word->arity, copy.result, copy.operands[0]);
    code.instructions.erase(code.instructions.begin() + i--);
  }
}

// Who stores halves rounds them, from float32: the last instruction need not.
void leave_rounding_to_the_store(Code& code) {
  const std::size_t count = code.instructions.size();
  if (!is_half(code.dtype) || count < 2) return;
  const Instruction &last = code.instructions[count - 1], &before = code.instructions[count - 2];
  if (computed_in(code.values[before.result].dtype) != DType::f32) return;
  if (last.word->arity == 1 && (is_named(last, "float16") || is_named(last, "bfloat16")) && last.operands[0] == before.result)
    code.instructions.pop_back();
}

}  // namespace

std::optional<Code> parse(const std::string& text, const std::vector<DType>& inputs) {
  if (inputs.empty()) return std::nullopt;
  Parser parser(inputs);
  std::istringstream words(text);
  for (std::string word; words >> word;)
    if (!parser.take(word)) return std::nullopt;
  int result = parser.finish();
  if (result < 0) return std::nullopt;
  Code& code = parser.code;
  code.dtype = code.values[result].dtype;
  // one that is an input, a number, or in the middle of the others' way, is copied
  if (code.instructions.empty() || code.instructions.back().result != result)
    parser.apply(find_word("copy", computed_in(code.dtype)), {result, -1, -1}, code.dtype);
  skip_copies(code);
  leave_rounding_to_the_store(code);
  fuse(code);
  return std::move(code);
}

}  // namespace gluonnx::chain
