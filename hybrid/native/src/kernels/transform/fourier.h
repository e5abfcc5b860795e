// The discrete Fourier transform of any length, in float64.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace gluonnx::transform {

using Index = std::int64_t;

struct Complex {
  double re = 0, im = 0;
};
inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
inline Complex conjugate(Complex a) { return {a.re, -a.im}; }

// sum over j of x[j] exp(-2 pi i j k / length). Lengths of small factors are taken apart, factor by factor (Cooley and Tukey,
// 1965); others become a convolution of a length that is a power of 2 (Bluestein, 1970).
class Fourier {
 public:
  // halved: run_real will be asked for
  explicit Fourier(Index length, bool halved = false);

  Index length() const { return length_; }
  // Complex numbers of room that run wants.
  Index room() const { return room_; }
  // `length` numbers to as many, which lie elsewhere.
  void run(const Complex* from, Complex* to, Complex* room) const;
  // The same of real numbers; those of an even length are halved, as pairs. `pairs` has room for half of them.
  void run_real(const double* from, Complex* to, Complex* pairs, Complex* room) const;

 private:
  void part(const Complex* from, Index apart, Complex* to, Index length, std::size_t level) const;

  Index length_, room_ = 0;
  std::vector<Index> factors_;
  std::vector<Complex> turns_;              // exp(-2 pi i k / length)
  std::shared_ptr<const Fourier> longer_;   // of the convolution
  std::vector<Complex> chirp_, spectrum_;   // exp(-pi i k^2 / length), and the transform of its conjugates
  std::shared_ptr<const Fourier> half_;     // of an even length
  std::vector<Complex> half_turns_;         // exp(-2 pi i k / length) of the first half
};

// The transform of a length, which is made once; of the lengths asked for last.
std::shared_ptr<const Fourier> fourier(Index length);

}  // namespace gluonnx::transform
