#include "special.h"

#include <cmath>
#include <cstddef>
#include <limits>

namespace gluonnx::chain::special {
namespace {

constexpr double PI = 3.14159265358979323846, INF = std::numeric_limits<double>::infinity();

// coefficients from the highest power down
template <std::size_t N>
double polynomial(const double (&c)[N], double x) {
  double y = 0;
  for (double one : c) y = y * x + one;
  return y;
}
template <std::size_t N>
double ratio(const double (&numerator)[N], const double (&denominator)[N], double x) {
  return polynomial(numerator, x) / polynomial(denominator, x);
}

// The normal quantile: M. J. Wichura, "Algorithm AS 241", Applied Statistics 37 (1988) 477-484
constexpr double CENTRE[2][8] = {
    {2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4, 1.3731693765509461125e4,
     1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0},
    {5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4, 5.3941960214247511077e3,
     6.8718700749205790830e2, 4.2313330701600911252e1, 1.0}};
constexpr double NEAR[2][8] = {
    {7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0},
    {1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0}};
constexpr double FAR[2][8] = {
    {2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0},
    {2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0}};

constexpr double ASYMPTOTIC = 13;  // from here on the series reach doubles

// B(2k) / 2k for k = 8 ... 1, and B(2k): M. Abramowitz, I. Stegun, Handbook of Mathematical Functions, 6.3.18 and 6.4.12
constexpr double DIGAMMA[] = {-3617. / 8160, 1. / 12, -691. / 32760, 1. / 132, -1. / 240, 1. / 252, -1. / 120, 1. / 12};
constexpr double TRIGAMMA[] = {-3617. / 510, 7. / 6, -691. / 2730, 5. / 66, -1. / 30, 1. / 42, -1. / 30, 1. / 6};

}  // namespace

double erfinv(double x) {
  const double half = x / 2;
  if (std::fabs(x) > 1 || x != x) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(x) == 1) return std::copysign(INF, x);
  double y;
  if (std::fabs(half) <= 0.425) {
    y = half * ratio(CENTRE[0], CENTRE[1], 0.180625 - half * half);
  } else {
    const double r = std::sqrt(-std::log((1 - std::fabs(x)) / 2));
    y = std::copysign(r <= 5 ? ratio(NEAR[0], NEAR[1], r - 1.6) : ratio(FAR[0], FAR[1], r - 5), x);
  }
  return y / 1.41421356237309504880;
}

double gamma(double x) { return x < 0 && x == std::floor(x) ? std::numeric_limits<double>::quiet_NaN() : std::tgamma(x); }

double gammaln(double x) {
#if defined(__GLIBC__)
  int sign;  // lgamma has it in a variable that all threads share
  return lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

double digamma(double x) {
  if (x <= 0 && x == std::floor(x)) return std::numeric_limits<double>::max();
  double y = x < 0 ? 1 - x : x, total = 0;
  for (; y < ASYMPTOTIC; ++y) total -= 1 / y;
  const double value = std::log(y) - 0.5 / y - polynomial(DIGAMMA, 1 / (y * y)) / (y * y) + total;
  const double rest = PI * (x - std::nearbyint(x));
  return x < 0 ? value - PI * std::cos(rest) / std::sin(rest) : value;
}

double trigamma(double x) {
  double y = x < 0 ? 1 - x : x, total = 0;
  for (; y < ASYMPTOTIC; ++y) total += 1 / (y * y);
  const double value = 1 / y + 0.5 / (y * y) + polynomial(TRIGAMMA, 1 / (y * y)) / (y * y * y) + total;
  if (!(x < 0)) return value;
  const double sine = PI / std::sin(PI * (x - std::nearbyint(x)));
  return sine * sine - value;
}

double gelu(double x) { return x * (0.5 * std::erfc(x * -0.70710678118654752440)); }

}  // namespace gluonnx::chain::special
