#include "words.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>

#include "../../base/convert.h"
#include "../../base/half.h"
#include "../../base/math64.h"
#include "special.h"

namespace gluonnx::chain {
namespace {

template <class V>
GX_INLINE V number(int value) {
  return V{} + static_cast<std::decay_t<decltype(V{}[0])>>(value);
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
  return ((a > b) | (a != a)) ? a : b;
}
template <class V>
GX_INLINE V smaller(V a, V b) {
  return ((a < b) | (a != a)) ? a : b;
}

template <class V>
GX_INLINE V magnitude(V a) {
  if constexpr (std::is_same_v<V, Reg> || std::is_same_v<V, RegD>) return abs(a);
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
// halves to even: what is added to a number that large keeps no fraction
template <class V, class T>
GX_INLINE V half_even(V a, T large) {
  V size = abs(a);
  return size < large ? with_sign((size + large) - large, a) : a;
}
// halves away from zero
GX_INLINE Reg half_away(Reg a) {
  Reg size = abs(a), down = truncated(size);
  return with_sign(size - down >= 0.5f ? down + 1.f : down, a);
}

// Rest with the sign of the divisor, as NumPy's; 0 where that is 0, as MXNet's.
template <class T>
T modulo(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_integral_v<T>) {
    if (b == static_cast<T>(-1)) return std::is_signed_v<T> ? 0 : static_cast<T>(a % b);  // the least number by -1 traps
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (b < 0) != (rest < 0) ? static_cast<T>(rest + b) : rest;
  } else {
    const T rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(T{0}, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
  }
}
// Rest with the sign of what is divided; of integers 0 where the divisor is.
template <class T>
T remainder(T a, T b) {
  if constexpr (std::is_integral_v<T>) return b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1)) ? 0 : static_cast<T>(a % b);
  else return std::fmod(a, b);
}
// The same of floats, several at a time where no quotient is large.
GX_INLINE bool are_near(Reg a, Reg b) {
  return largest(((abs(a) < floats::NEAR * abs(b)) & (abs(b) < __builtin_inff())) ? Reg{} : splat_reg(1.f)) == 0;
}
GX_INLINE Reg remainder(Reg a, Reg b) {
  if (are_near(a, b)) return floats::by_doubles(a, b, floats::rest);
  for (int i = 0; i < LANES; ++i) a[i] = remainder<float>(a[i], b[i]);
  return a;
}
GX_INLINE Reg modulo(Reg a, Reg b) {
  if (!are_near(a, b)) {
    for (int i = 0; i < LANES; ++i) a[i] = modulo<float>(a[i], b[i]);
    return a;
  }
  const Reg rest = floats::by_doubles(a, b, floats::rest);
  return rest == 0.f ? with_sign(Reg{}, b) : (b < 0.f) != (rest < 0.f) ? rest + b : rest;
}
// Towards zero; by zero 0, which ends other programs.
template <class T>
T quotient(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(-a);  // the least number's is itself
  return static_cast<T>(a / b);
}
// Bits moved by so many places, as many as there are or fewer than none leaving none but those of the sign.
template <class T>
T shifted_left(T a, T places) {
  using U = std::make_unsigned_t<T>;
  return places < 0 || places >= static_cast<T>(8 * sizeof(T)) ? 0 : static_cast<T>(static_cast<U>(a) << places);
}
template <class T>
T shifted_right(T a, T places) {
  const bool outside = places < 0 || places >= static_cast<T>(8 * sizeof(T));
  return static_cast<T>(a >> (outside ? static_cast<T>(8 * sizeof(T) - 1) : places)) & (outside && a >= 0 ? T{0} : static_cast<T>(-1));
}

// whether sin and cos can take all of them
GX_INLINE bool is_near(Reg a) { return largest(abs(a)) < FAR; }

constexpr bool EXACT = true;
constexpr float CHEAP = 0.05f, MATH = 0.5f;  // nanoseconds per element, about

template <class T>
using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint8_t>>;

template <class T, int ARITY, class F>
constexpr Word word(const char* name, float cost, F, bool exact = false) {
  return {name, ARITY, cost, exact, loop<Bits<T>, ARITY>, registers<T, F, ARITY>};
}

// One element after the other, by the C library and the like.
template <class T, auto f>
constexpr Word single(const char* name, float cost = 6.f) {
  if constexpr (std::is_invocable_v<decltype(f), T>) {
    return word<T, 1>(name, cost, [](Vector<T> a) {
      for (int i = 0; i < WIDTH<T>; ++i) a[i] = f(a[i]);
      return a;
    });
  } else {
    return word<T, 2>(name, cost, [](Vector<T> a, Vector<T> b) {
      for (int i = 0; i < WIDTH<T>; ++i) a[i] = f(a[i], b[i]);
      return a;
    });
  }
}
template <float (*f)(float)>
GX_INLINE Reg one_by_one(Reg a) {
  for (int i = 0; i < LANES; ++i) a[i] = f(a[i]);
  return a;
}

template <class T>
constexpr Word COMMON[] = {
    word<T, 1>("copy", CHEAP, [](auto a) { return a; }, EXACT),
    word<T, 1>("abs", CHEAP, [](auto a) { return magnitude(a); }, EXACT),
    word<T, 1>("negative", CHEAP, [](auto a) { return -a; }, EXACT),
    word<T, 1>("square", CHEAP, [](auto a) { return a * a; }),
    word<T, 1>("relu", CHEAP, [](auto a) { return relu(a); }, EXACT),
    word<T, 1>("sign", CHEAP, [](auto a) { return truth(a, a > 0) - truth(a, a < 0); }, EXACT),
    word<T, 1>("not", CHEAP, [](auto a) { return truth(a, a == 0); }, EXACT),
    word<T, 2>("add", CHEAP, [](auto a, auto b) { return a + b; }),
    word<T, 2>("sub", CHEAP, [](auto a, auto b) { return a - b; }),
    word<T, 2>("mul", CHEAP, [](auto a, auto b) { return a * b; }),
    word<T, 2>("max", CHEAP, [](auto a, auto b) { return larger(a, b); }, EXACT),
    word<T, 2>("min", CHEAP, [](auto a, auto b) { return smaller(a, b); }, EXACT),
    word<T, 2>("leaky", CHEAP, [](auto a, auto b) { return a < 0 ? a * b : a; }),
    word<T, 2>("copysign", CHEAP, [](auto a, auto b) { return copysign(a, b); }, EXACT),
    word<T, 2>("eq", CHEAP, [](auto a, auto b) { return truth(a, a == b); }, EXACT),
    word<T, 2>("ne", CHEAP, [](auto a, auto b) { return truth(a, a != b); }, EXACT),
    word<T, 2>("gt", CHEAP, [](auto a, auto b) { return truth(a, a > b); }, EXACT),
    word<T, 2>("ge", CHEAP, [](auto a, auto b) { return truth(a, a >= b); }, EXACT),
    word<T, 2>("lt", CHEAP, [](auto a, auto b) { return truth(a, a < b); }, EXACT),
    word<T, 2>("le", CHEAP, [](auto a, auto b) { return truth(a, a <= b); }, EXACT),
    word<T, 2>("and", CHEAP, [](auto a, auto b) { return truth(a, (a != 0) & (b != 0)); }, EXACT),
    word<T, 2>("or", CHEAP, [](auto a, auto b) { return truth(a, (a != 0) | (b != 0)); }, EXACT),
    word<T, 2>("xor", CHEAP, [](auto a, auto b) { return truth(a, (a != 0) ^ (b != 0)); }, EXACT),
    word<T, 3>("where", CHEAP, [](auto a, auto b, auto c) { return a != 0 ? b : c; }, EXACT),
    // what compile makes of words that follow one another
    word<T, 2>("add+relu", CHEAP, [](auto a, auto b) { return relu(a + b); }),
    word<T, 3>("mul+add", CHEAP, [](auto a, auto b, auto c) { return a * b + c; }),
    word<T, 3>("mul+add+relu", CHEAP, [](auto a, auto b, auto c) { return relu(a * b + c); }),
};

// Quotients of integers that doubles hold, half a register at a time: as many doubles as one holds, which compilers convert in
// one go (of a whole register GCC 12 makes, unoptimized, an instruction that no AVX-512 machine has).
template <std::size_t... I>
GX_INLINE Vector<std::int32_t> quotients(Vector<std::int32_t> a, Vector<std::int32_t> b, std::index_sequence<I...>) {
  constexpr int HALF = LANES / 2;
  typedef std::int32_t Half __attribute__((vector_size(HALF * 4)));
  typedef double Wide __attribute__((vector_size(HALF * 8)));
  typedef std::int64_t Whole __attribute__((vector_size(HALF * 8)));
  const auto divided = [](Half x, Half y) GX_LAMBDA {
    const Wide q = __builtin_convertvector(x, Wide) / __builtin_convertvector(y, Wide);
    // by way of 64 bits: the least number by -1 wraps round to itself
    return __builtin_convertvector(__builtin_convertvector(q, Whole), Half);
  };
  const Vector<std::int32_t> by = b == 0 ? b + 1 : b;
  const Half low = divided(__builtin_shufflevector(a, a, I...), __builtin_shufflevector(by, by, I...));
  const Half high = divided(__builtin_shufflevector(a, a, (I + HALF)...), __builtin_shufflevector(by, by, (I + HALF)...));
  return b == 0 ? Vector<std::int32_t>{} : __builtin_shufflevector(low, high, I..., (I + HALF)...);
}
GX_INLINE Vector<std::int32_t> quotients(Vector<std::int32_t> a, Vector<std::int32_t> b) {
  return quotients(a, b, std::make_index_sequence<LANES / 2>{});
}

template <class T>
constexpr Word division() {
  if constexpr (std::is_same_v<T, std::int32_t>) return word<T, 2>("div", MATH, [](auto a, auto b) { return quotients(a, b); });
  else return single<T, quotient<T>>("div", 2.f);
}

template <class T>
constexpr Word WHOLE[] = {
    division<T>(),
    single<T, modulo<T>>("mod", 2.f),
    single<T, remainder<T>>("fmod", 2.f),
    word<T, 1>("floor", CHEAP, [](auto a) { return a; }),
    word<T, 1>("ceil", CHEAP, [](auto a) { return a; }),
    word<T, 1>("trunc", CHEAP, [](auto a) { return a; }),
    word<T, 1>("invert", CHEAP, [](auto a) { return ~a; }),
    word<T, 2>("bitand", CHEAP, [](auto a, auto b) { return a & b; }),
    word<T, 2>("bitor", CHEAP, [](auto a, auto b) { return a | b; }),
    word<T, 2>("bitxor", CHEAP, [](auto a, auto b) { return a ^ b; }),
    single<T, shifted_left<T>>("shl", 1.f),
    single<T, shifted_right<T>>("shr", 1.f),
};

template <class T>
constexpr Word FLOATING[] = {
    word<T, 1>("reciprocal", CHEAP, [](auto a) { return 1 / a; }),
    word<T, 1>("signum", CHEAP, [](auto a) { return a != a ? a : truth(a, a > 0) - truth(a, a < 0); }, EXACT),
    word<T, 2>("div", CHEAP, [](auto a, auto b) { return a / b; }),
    word<T, 1>("sqrt", CHEAP, [](auto a) { return sqrt(a); }),
    word<T, 1>("rsqrt", CHEAP, [](auto a) { return 1 / sqrt(a); }),
    word<T, 1>("exp", MATH, [](auto a) { return exp(a); }),
    word<T, 1>("expm1", MATH, [](auto a) { return expm1(a); }),
    word<T, 1>("log", MATH, [](auto a) { return log(a); }),
    word<T, 1>("log1p", MATH, [](auto a) { return log1p(a); }),
    word<T, 1>("softplus", MATH, [](auto a) { return softplus(a); }),
    word<T, 1>("sigmoid", MATH, [](auto a) { return sigmoid(a); }),
    word<T, 1>("tanh", MATH, [](auto a) { return tanh(a); }),
    single<T, special::by_double<T, special::erfinv>>("erfinv", 20.f),
    single<T, special::by_double<T, special::gamma>>("gamma", 40.f),
    single<T, special::by_double<T, special::gammaln>>("gammaln", 40.f),
    single<T, special::by_double<T, special::digamma>>("digamma", 40.f),
    single<T, special::by_double<T, special::trigamma>>("trigamma", 40.f),
    single<T, special::ldexp<T>>("ldexp", 10.f),
};

constexpr Word FLOAT32[] = {
    word<float, 1>("log2", MATH, [](Reg a) { return log2(a); }),
    word<float, 1>("erf", MATH, [](Reg a) { return erf(a); }),
    word<float, 1>("gelu", MATH, [](Reg a) { return gelu(a); }),
    word<float, 1>("trunc", CHEAP, [](Reg a) { return truncated(a); }, EXACT),
    word<float, 1>("floor", CHEAP, [](Reg a) { return rounded_down(a); }, EXACT),
    word<float, 1>("ceil", CHEAP, [](Reg a) { return rounded_up(a); }, EXACT),
    word<float, 1>("rint", CHEAP, [](Reg a) { return half_down(a); }, EXACT),
    word<float, 1>("round", CHEAP, [](Reg a) { return half_away(a); }, EXACT),
    word<float, 1>("around", CHEAP, [](Reg a) { return half_even(a, 8388608.f); }, EXACT),
    word<float, 1>("sin", MATH, [](Reg a) { return is_near(a) ? sin(a) : one_by_one<std::sin>(a); }),
    word<float, 1>("cos", MATH, [](Reg a) { return is_near(a) ? cos(a) : one_by_one<std::cos>(a); }),
    word<float, 1>("cbrt", 2 * MATH, [](Reg a) { return cbrt(a); }),
    word<float, 2>("pow", 2 * MATH, [](Reg a, Reg b) { return pow(a, b); }),
    word<float, 1>("tan", 2 * MATH, [](Reg a) { return is_near(a) ? floats::by_doubles(a, floats::tan) : one_by_one<std::tan>(a); }),
    word<float, 1>("log10", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::log10); }),
    word<float, 1>("arcsin", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arcsin); }),
    word<float, 1>("arccos", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arccos); }),
    word<float, 1>("arctan", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arctan); }),
    word<float, 1>("sinh", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::sinh); }),
    word<float, 1>("cosh", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::cosh); }),
    word<float, 1>("arcsinh", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arcsinh); }),
    word<float, 1>("arccosh", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arccosh); }),
    word<float, 1>("arctanh", 2 * MATH, [](Reg a) { return floats::by_doubles(a, floats::arctanh); }),
    word<float, 2>("hypot", 2 * MATH, [](Reg a, Reg b) { return floats::by_doubles(a, b, floats::hypot); }),
    word<float, 2>("arctan2", 2 * MATH, [](Reg a, Reg b) { return floats::by_doubles(a, b, floats::arctan2); }),
    word<float, 2>("mod", 2 * MATH, [](Reg a, Reg b) { return modulo(a, b); }),
    word<float, 2>("fmod", 2 * MATH, [](Reg a, Reg b) { return remainder(a, b); }),
};

double half_down_double(double a) { return a - std::floor(a) <= std::ceil(a) - a ? std::floor(a) : std::ceil(a); }

constexpr Word FLOAT64[] = {
    single<double, static_cast<double (*)(double)>(std::log10)>("log10"),
    single<double, static_cast<double (*)(double)>(std::tan)>("tan"),
    single<double, static_cast<double (*)(double)>(std::asin)>("arcsin"),
    single<double, static_cast<double (*)(double)>(std::acos)>("arccos"),
    single<double, static_cast<double (*)(double)>(std::atan)>("arctan"),
    single<double, static_cast<double (*)(double)>(std::sinh)>("sinh"),
    single<double, static_cast<double (*)(double)>(std::cosh)>("cosh"),
    single<double, static_cast<double (*)(double)>(std::asinh)>("arcsinh"),
    single<double, static_cast<double (*)(double)>(std::acosh)>("arccosh"),
    single<double, static_cast<double (*)(double)>(std::atanh)>("arctanh"),
    single<double, modulo<double>>("mod"),
    single<double, remainder<double>>("fmod"),
    single<double, static_cast<double (*)(double, double)>(std::hypot)>("hypot"),
    single<double, static_cast<double (*)(double, double)>(std::atan2)>("arctan2"),
    single<double, static_cast<double (*)(double)>(std::log2)>("log2"),
    single<double, static_cast<double (*)(double)>(std::erf)>("erf"),
    single<double, special::gelu>("gelu"),
    single<double, static_cast<double (*)(double)>(std::trunc)>("trunc", 1.f),
    single<double, static_cast<double (*)(double)>(std::floor)>("floor", 1.f),
    single<double, static_cast<double (*)(double)>(std::ceil)>("ceil", 1.f),
    single<double, half_down_double>("rint", 2.f),
    single<double, static_cast<double (*)(double)>(std::round)>("round", 1.f),
    word<double, 1>("around", CHEAP, [](RegD a) { return half_even(a, 4503599627370496.); }),
    single<double, static_cast<double (*)(double)>(std::sin)>("sin"),
    single<double, static_cast<double (*)(double)>(std::cos)>("cos"),
    single<double, static_cast<double (*)(double)>(std::cbrt)>("cbrt"),
    single<double, static_cast<double (*)(double, double)>(std::pow)>("pow", 20.f),
};

// What means something to truth.
constexpr const char* LOGIC[] = {"copy", "not", "max", "min", "eq", "ne", "gt", "ge", "lt", "le", "and", "or", "xor", "where"};

template <class From, class To>
constexpr Word CAST = {"cast", 1, CHEAP, EXACT, between<To, From, convert<To, From>>};

template <class From>
constexpr std::uint8_t truth_of(From x) {
  return x != 0;
}
template <class From>
constexpr Word TRUTH = {
    "bool", 1, CHEAP, EXACT, between<std::uint8_t, From, truth_of<From>>};

constexpr Word TO_FLOAT16 = word<float, 1>("float16", CHEAP, [](Reg a) { return rounded_to_float16(a); }, EXACT);
constexpr Word TO_BFLOAT16 = word<float, 1>("bfloat16", CHEAP, [](Reg a) { return rounded_to_bfloat16(a); }, EXACT);

inline float double_to_float16(double x) { return float16_value(as_float16(odd_float(x))); }
inline float double_to_bfloat16(double x) { return bfloat16_value(as_bfloat16(convert<float>(x))); }
constexpr Word DOUBLE_TO_FLOAT16 = {
    "float16", 1, 4.f, EXACT, between<float, double, double_to_float16>};
constexpr Word DOUBLE_TO_BFLOAT16 = {
    "bfloat16", 1, 4.f, EXACT, between<float, double, double_to_bfloat16>};

// f(a number of the type that a dtype is computed in)
template <class F>
const Word* with_type(DType t, F f) {
  switch (computed_in(t)) {
    case DType::f32:
      return f(float{});
    case DType::f64:
      return f(double{});
    case DType::i8:
      return f(std::int8_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::i64:
      return f(std::int64_t{});
    default:
      return nullptr;
  }
}

template <std::size_t N>
const Word* find_in(const Word (&words)[N], const std::string& name) {
  for (const auto& word : words)
    if (name == word.name) return &word;
  return nullptr;
}

}  // namespace

const Word* find_word(const std::string& name, DType dtype) {
  if (dtype == DType::b1 && std::find(std::begin(LOGIC), std::end(LOGIC), name) == std::end(LOGIC)) return nullptr;
  return with_type(dtype, [&](auto like) {
    using T = decltype(like);
    const Word* found = find_in(COMMON<T>, name);
    if constexpr (std::is_integral_v<T>) return found ? found : find_in(WHOLE<T>, name);
    else {
      if (!found) found = find_in(FLOATING<T>, name);
      if constexpr (std::is_same_v<T, float>) return found ? found : find_in(FLOAT32, name);
      else return found ? found : find_in(FLOAT64, name);
    }
  });
}

const Word* find_cast(DType from, DType to, const Word** via) {
  *via = nullptr;
  const DType source = computed_in(from), target = computed_in(to);
  if (to == DType::b1) return with_type(from, [](auto like) -> const Word* { return &TRUTH<decltype(like)>; });
  if (is_half(to)) {
    if (from == DType::f64) return to == DType::f16 ? &DOUBLE_TO_FLOAT16 : &DOUBLE_TO_BFLOAT16;
    const Word* none;
    if (source != DType::f32) *via = find_cast(from, DType::f32, &none);
    return to == DType::f16 ? &TO_FLOAT16 : &TO_BFLOAT16;
  }
  if (source == target) return nullptr;
  return with_type(from, [&](auto a) {
    return with_type(to, [&](auto b) -> const Word* { return &CAST<decltype(a), decltype(b)>; });
  });
}

}  // namespace gluonnx::chain
