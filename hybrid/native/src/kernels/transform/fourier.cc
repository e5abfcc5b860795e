#include "fourier.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

namespace gluonnx::transform {
namespace {

constexpr Index SMALL = 31;  // the largest factor that is summed up as it is
constexpr double PI = 3.14159265358979323846264338327950288;

// exp(-2 pi i k / n), 0 <= k < n, exact at quarters: angles are taken in the first eighth of the circle.
Complex turn(Index k, Index n) {
  if (8 * k > n) {
    if (2 * k > n) return conjugate(turn(n - k, n));
    if (4 * k > n) {
      const Complex t = turn(n - 2 * k, 2 * n);  // half a turn less the angle
      return {-t.re, t.im};
    }
    const Complex t = turn(n - 4 * k, 4 * n);  // a quarter less the angle
    return {-t.im, -t.re};
  }
  const double angle = 2 * PI * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

}  // namespace

Fourier::Fourier(Index length, bool halved) : length_(length) {
  if (halved && length % 2 == 0) {
    half_ = std::make_shared<Fourier>(length / 2);
    for (Index k = 0; k < length / 2; ++k) half_turns_.push_back(turn(k, length));
    room_ = half_->room();
  }
  Index left = length;
  while (left % 4 == 0) factors_.push_back(4), left /= 4;
  for (Index f = 2; f <= SMALL && left > 1; ++f)
    while (left % f == 0) factors_.push_back(f), left /= f;
  if (left == 1) {
    for (Index k = 0; k < length; ++k) turns_.push_back(turn(k, length));
    return;
  }
  Index wide = 1;
  while (wide < 2 * length - 1) wide *= 2;
  longer_ = std::make_shared<Fourier>(wide);
  for (Index k = 0; k < length; ++k) {
    // k^2 modulo 2 length, without overflow
    const auto square = static_cast<Index>(static_cast<unsigned __int128>(k) * static_cast<unsigned __int128>(k) %
                                           static_cast<unsigned __int128>(2 * length));
    chirp_.push_back(turn(square, 2 * length));
  }
  std::vector<Complex> around(wide), few(static_cast<std::size_t>(longer_->room()));
  spectrum_.resize(wide);
  for (Index k = 0; k < length; ++k) around[k] = around[(wide - k) % wide] = conjugate(chirp_[k]);
  longer_->run(around.data(), spectrum_.data(), few.data());
  room_ = std::max(room_, 2 * wide + longer_->room());
}

void Fourier::run(const Complex* from, Complex* to, Complex* room) const {
  if (!longer_) return part(from, 1, to, length_, 0);
  const Index wide = longer_->length();
  Complex *x = room, *y = room + wide, *few = y + wide;
  for (Index k = 0; k < wide; ++k) x[k] = k < length_ ? from[k] * chirp_[k] : Complex{};
  longer_->run(x, y, few);
  for (Index k = 0; k < wide; ++k) x[k] = conjugate(y[k] * spectrum_[k]);  // the transform back is that of conjugates
  longer_->run(x, y, few);
  const double scale = 1 / static_cast<double>(wide);
  for (Index k = 0; k < length_; ++k) {
    const Complex z = conjugate(y[k]) * chirp_[k];
    to[k] = {z.re * scale, z.im * scale};
  }
}

void Fourier::run_real(const double* from, Complex* to, Complex* pairs, Complex* room) const {
  if (!half_) {
    for (Index k = 0; k < length_; ++k) pairs[k] = {from[k], 0};
    return run(pairs, to, room);
  }
  const Index half = length_ / 2;
  for (Index k = 0; k < half; ++k) pairs[k] = {from[2 * k], from[2 * k + 1]};
  half_->run(pairs, to, room);
  // even and odd places: of a sum of both, one times i, the transforms are apart as its symmetric parts
  std::copy(to, to + half, pairs);
  for (Index k = 0; k < half; ++k) {
    const Complex z = pairs[k], w = conjugate(pairs[k ? half - k : 0]);
    const Complex even{(z.re + w.re) / 2, (z.im + w.im) / 2}, odd{(z.im - w.im) / 2, (w.re - z.re) / 2};
    const Complex turned = odd * half_turns_[k];
    to[k] = even + turned;
    to[half + k] = even - turned;
  }
}

// The transform of every apart-th number, by those of the parts of it that are `factor` times as far apart.
void Fourier::part(const Complex* from, Index apart, Complex* to, Index length, std::size_t level) const {
  if (length == 1) return static_cast<void>(*to = *from);
  const Index factor = factors_[level], inner = length / factor, step = length_ / length;
  for (Index q = 0; q < factor; ++q)
    if (inner == 1) to[q] = from[q * apart];
    else part(from + q * apart, apart * factor, to + q * inner, inner, level + 1);
  if (factor == 2) {
    for (Index k = 0; k < inner; ++k) {
      const Complex a = to[k], b = to[inner + k] * turns_[k * step];
      to[k] = a + b, to[inner + k] = a - b;
    }
    return;
  }
  if (factor == 4) {
    for (Index k = 0; k < inner; ++k) {
      const Complex a = to[k], b = to[inner + k] * turns_[k * step], c = to[2 * inner + k] * turns_[2 * k * step],
                    d = to[3 * inner + k] * turns_[3 * k * step];
      const Complex even = a + c, odd = a - c, both = b + d, between = b - d;
      const Complex turned{between.im, -between.re};  // times -i
      to[k] = even + both, to[inner + k] = odd + turned;
      to[2 * inner + k] = even - both, to[3 * inner + k] = odd - turned;
    }
    return;
  }
  Complex parts[SMALL];
  const Index circle = length_ / factor;
  for (Index k = 0; k < inner; ++k) {
    for (Index q = 0; q < factor; ++q) parts[q] = to[q * inner + k] * turns_[q * k * step];
    for (Index r = 0; r < factor; ++r) {
      Complex sum = parts[0];
      for (Index q = 1; q < factor; ++q) sum = sum + parts[q] * turns_[q * r % factor * circle];
      to[r * inner + k] = sum;
    }
  }
}

std::shared_ptr<const Fourier> fourier(Index length) {
  constexpr std::size_t MOST = 64;
  static std::mutex mutex;
  static std::map<Index, std::shared_ptr<const Fourier>> made;
  const std::lock_guard lock(mutex);
  if (made.size() >= MOST) made.clear();
  auto& found = made[length];
  if (!found) found = std::make_shared<const Fourier>(length, true);
  return found;
}

}  // namespace gluonnx::transform
