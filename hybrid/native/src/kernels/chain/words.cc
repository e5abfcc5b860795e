#include "words.h"

#include <cstdint>
#include <limits>

namespace gluonnx::chain {
namespace {

template <class V>
GX_INLINE V number(int value) {
  return V{} + static_cast<std::remove_cvref_t<decltype(V{}[0])>>(value);
}
template <class V, class M>
GX_INLINE V truth(V like, M mask) {
  return mask ? number<V>(1) : V{};
}

template <class V>
GX_INLINE V relu(V a) {
  return V{} > a ? V{} : a;
}
// NaN when either is: the comparison is false, which leaves b, and what is unequal to itself is kept
template <class V>
GX_INLINE V larger(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}
template <class V>
GX_INLINE V smaller(V a, V b) {
  return (a < b) | (a != a) ? a : b;
}

template <class V>
GX_INLINE V magnitude(V a) {
  if constexpr (std::is_same_v<V, Reg>) return abs(a);
  else if constexpr (std::is_same_v<V, Vector<double>>)
    return reinterpret_cast<V>(reinterpret_cast<Vector<std::int64_t>>(a) & std::numeric_limits<std::int64_t>::max());
  else return a < V{} ? -a : a;
}

// as MXNet writes it: -0.0 counts as positive, NaN as neither
template <class V>
GX_INLINE V copysign(V a, V b) {
  return ((a >= V{}) & (b >= V{})) | ((a < V{}) & (b < V{})) ? a : -a;
}

// the integer part; what is 2**23 or more, or no number, has no other
GX_INLINE Reg truncated(Reg a) {
  Reg whole = with_sign(abs(__builtin_convertvector(__builtin_convertvector(a, RegI), Reg)), a);
  return abs(a) < 8388608.f ? whole : a;
}
GX_INLINE Reg rounded_down(Reg a) {
  Reg t = truncated(a);
  return t > a ? t - 1.f : t;
}
GX_INLINE Reg rounded_up(Reg a) {
  Reg t = truncated(a);
  return t < a ? t + 1.f : t;
}
// halves down, as MXNet's rint
GX_INLINE Reg half_down(Reg a) {
  Reg down = rounded_down(a), up = rounded_up(a);
  return a - down <= up - a ? down : up;
}
// halves away from zero
GX_INLINE Reg half_away(Reg a) {
  Reg size = abs(a), down = truncated(size);
  return with_sign(size - down >= 0.5f ? down + 1.f : down, a);
}

// Rest with the sign of the divisor, as NumPy's; 0 where that is 0, as MXNet's.
float modulo(float a, float b) {
  if (b == 0) return 0;
  float rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.f, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

// whether sin and cos can take all of them
GX_INLINE bool is_near(Reg a) { return largest(abs(a)) < FAR; }

template <class T, int ARITY, auto F>
constexpr Word<T> word(const char* name, float cost) {
  if constexpr (ARITY == 1) return {name, 1, cost, {loop<T, F, 1, 0>, loop<T, F, 1, 1>}};
  else if constexpr (ARITY == 2)
    return {name, 2, cost, {loop<T, F, 2, 0>, loop<T, F, 2, 1>, loop<T, F, 2, 2>, loop<T, F, 2, 3>}};
  else
    return {name,
            3,
            cost,
            {loop<T, F, 3, 0>, loop<T, F, 3, 1>, loop<T, F, 3, 2>, loop<T, F, 3, 3>, loop<T, F, 3, 4>, loop<T, F, 3, 5>,
             loop<T, F, 3, 6>, loop<T, F, 3, 7>}};
}

// By the C library, one element after the other.
template <float (*f)(float)>
GX_INLINE Reg one_by_one(Reg a) {
  for (int i = 0; i < LANES; ++i) a[i] = f(a[i]);
  return a;
}
template <float (*f)(float)>
constexpr Word<float> library(const char* name) {
  return word<float, 1, [](Reg a) { return one_by_one<f>(a); }>(name, 6.f);
}
template <float (*f)(float, float)>
constexpr Word<float> library(const char* name) {
  return word<float, 2, [](Reg a, Reg b) {
    for (int i = 0; i < LANES; ++i) a[i] = f(a[i], b[i]);
    return a;
  }>(name, 8.f);
}

constexpr float CHEAP = 0.05f, MATH = 0.5f;  // nanoseconds per element, about

template <class T>
constexpr Word<T> COMMON[] = {
    word<T, 1, [](auto a) { return a; }>("copy", CHEAP),
    word<T, 1, [](auto a) { return magnitude(a); }>("abs", CHEAP),
    word<T, 1, [](auto a) { return -a; }>("negative", CHEAP),
    word<T, 1, [](auto a) { return a * a; }>("square", CHEAP),
    word<T, 1, [](auto a) { return relu(a); }>("relu", CHEAP),
    word<T, 1, [](auto a) { return truth(a, a > 0) - truth(a, a < 0); }>("sign", CHEAP),
    word<T, 1, [](auto a) { return truth(a, a == 0); }>("not", CHEAP),
    word<T, 2, [](auto a, auto b) { return a + b; }>("add", CHEAP),
    word<T, 2, [](auto a, auto b) { return a - b; }>("sub", CHEAP),
    word<T, 2, [](auto a, auto b) { return a * b; }>("mul", CHEAP),
    word<T, 2, [](auto a, auto b) { return larger(a, b); }>("max", CHEAP),
    word<T, 2, [](auto a, auto b) { return smaller(a, b); }>("min", CHEAP),
    word<T, 2, [](auto a, auto b) { return a < 0 ? a * b : a; }>("leaky", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a == b); }>("eq", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a != b); }>("ne", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a > b); }>("gt", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a >= b); }>("ge", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a < b); }>("lt", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, a <= b); }>("le", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, (a != 0) & (b != 0)); }>("and", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, (a != 0) | (b != 0)); }>("or", CHEAP),
    word<T, 2, [](auto a, auto b) { return truth(a, (a != 0) ^ (b != 0)); }>("xor", CHEAP),
    word<T, 3, [](auto a, auto b, auto c) { return a != 0 ? b : c; }>("where", CHEAP),
    // what compile makes of words that follow one another
    word<T, 2, [](auto a, auto b) { return relu(a + b); }>("add+relu", CHEAP),
    word<T, 3, [](auto a, auto b, auto c) { return a * b + c; }>("mul+add", CHEAP),
    word<T, 3, [](auto a, auto b, auto c) { return relu(a * b + c); }>("mul+add+relu", CHEAP),
};

template <class T>
constexpr Word<T> FLOATING[] = {
    word<T, 1, [](auto a) { return 1 / a; }>("reciprocal", CHEAP),
    word<T, 1, [](auto a) { return a != a ? a : truth(a, a > 0) - truth(a, a < 0); }>("signum", CHEAP),
    word<T, 2, [](auto a, auto b) { return a / b; }>("div", CHEAP),
    word<T, 2, [](auto a, auto b) { return copysign(a, b); }>("copysign", CHEAP),
};

constexpr Word<float> FLOAT32[] = {
    word<float, 1, [](Reg a) { return sqrt(a); }>("sqrt", CHEAP),
    word<float, 1, [](Reg a) { return 1.f / sqrt(a); }>("rsqrt", CHEAP),
    word<float, 1, [](Reg a) { return exp(a); }>("exp", MATH),
    word<float, 1, [](Reg a) { return expm1(a); }>("expm1", MATH),
    word<float, 1, [](Reg a) { return log(a); }>("log", MATH),
    word<float, 1, [](Reg a) { return log1p(a); }>("log1p", MATH),
    word<float, 1, [](Reg a) { return log2(a); }>("log2", MATH),
    word<float, 1, [](Reg a) { return softplus(a); }>("softplus", MATH),
    word<float, 1, [](Reg a) { return sigmoid(a); }>("sigmoid", MATH),
    word<float, 1, [](Reg a) { return tanh(a); }>("tanh", MATH),
    word<float, 1, [](Reg a) { return erf(a); }>("erf", MATH),
    word<float, 1, [](Reg a) { return gelu(a); }>("gelu", MATH),
    word<float, 1, [](Reg a) { return truncated(a); }>("trunc", CHEAP),
    word<float, 1, [](Reg a) { return rounded_down(a); }>("floor", CHEAP),
    word<float, 1, [](Reg a) { return rounded_up(a); }>("ceil", CHEAP),
    word<float, 1, [](Reg a) { return half_down(a); }>("rint", CHEAP),
    word<float, 1, [](Reg a) { return half_away(a); }>("round", CHEAP),
    word<float, 1, [](Reg a) { return is_near(a) ? sin(a) : one_by_one<std::sin>(a); }>("sin", MATH),
    word<float, 1, [](Reg a) { return is_near(a) ? cos(a) : one_by_one<std::cos>(a); }>("cos", MATH),
    word<float, 1, [](Reg a) { return cbrt(a); }>("cbrt", 2 * MATH),
    word<float, 2, [](Reg a, Reg b) { return pow(a, b); }>("pow", 2 * MATH),
    library<std::log10>("log10"),
    library<std::tan>("tan"),
    library<std::asin>("arcsin"),
    library<std::acos>("arccos"),
    library<std::atan>("arctan"),
    library<std::sinh>("sinh"),
    library<std::cosh>("cosh"),
    library<std::asinh>("arcsinh"),
    library<std::acosh>("arccosh"),
    library<std::atanh>("arctanh"),
    library<modulo>("mod"),
    library<std::hypot>("hypot"),
    library<std::atan2>("arctan2"),
};

template <class T, std::size_t N>
const Word<T>* find_in(const Word<T> (&words)[N], const std::string& name) {
  for (const auto& word : words)
    if (name == word.name) return &word;
  return nullptr;
}

}  // namespace

template <class T>
const Word<T>* find_word(const std::string& name) {
  const Word<T>* found = find_in(COMMON<T>, name);
  if constexpr (std::is_floating_point_v<T>)
    if (!found) found = find_in(FLOATING<T>, name);
  if constexpr (std::is_same_v<T, float>)
    if (!found) found = find_in(FLOAT32, name);
  return found;
}

template const Word<float>* find_word<float>(const std::string&);
template const Word<double>* find_word<double>(const std::string&);
template const Word<std::int32_t>* find_word<std::int32_t>(const std::string&);
template const Word<std::int64_t>* find_word<std::int64_t>(const std::string&);

}  // namespace gluonnx::chain
