// Functions of one element that the C library lacks, or defines otherwise at its edges, as hybrid/ops/special.py has them.
#pragma once

#include <type_traits>

namespace gluonnx::chain::special {

double erfinv(double x);
double gamma(double x);
double gammaln(double x);
double digamma(double x);
double trigamma(double x);
double gelu(double x);

// The function of doubles on another type.
template <class T, double (*f)(double)>
T by_double(T x) {
  const double y = f(x);
  if constexpr (std::is_same_v<T, float>) {
    if (y > 3.4028235677973366e38) return __builtin_inff();
    if (y < -3.4028235677973366e38) return -__builtin_inff();
  }
  return static_cast<T>(y);
}

// a * 2**b, where b may have a fraction; what is infinite in between stays so
template <class T>
T ldexp(T a, T b) {
  if constexpr (std::is_same_v<T, float>) return a * __builtin_exp2f(b);
  else return a * __builtin_exp2(b);
}

}  // namespace gluonnx::chain::special
