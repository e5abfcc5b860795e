// What kernels rely on of their operands and attributes, checked once, when they are bound. A kernel that was given something
// else declines: NumPy does the step, or says what is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace gluonnx {

// Thrown by what bind functions check; who calls them (engine/library.cc) makes null of it.
struct Declined : std::logic_error {
  Declined() : std::logic_error("a kernel read of its operands what they do not have") {}
};

// apart from what calls it, of which there is much
[[noreturn]] __attribute__((cold, noinline)) inline void decline() { throw Declined{}; }
inline void want(bool fits) {
  if (!fits) decline();
}

// Thrown by the run of a kernel that is not sure (Kernel::sure) at values that it leaves to NumPy.
struct Refused : std::logic_error {
  Refused() : std::logic_error("the operands hold values that the kernel leaves to NumPy") {}
};

[[noreturn]] __attribute__((cold, noinline)) inline void refuse() { throw Refused{}; }
inline void want_value(bool fits) {
  if (!fits) refuse();
}

// Products and sums of sizes, and of attributes that may be anything: one that does not fit declines.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  want(!__builtin_mul_overflow(a, b, &product));
  return product;
}
template <class... More>
std::int64_t times(std::int64_t a, std::int64_t b, More... more) {
  return times(times(a, b), more...);
}
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  want(!__builtin_add_overflow(a, b, &sum));
  return sum;
}

// An axis, counted from either end, from the front.
inline std::int64_t axis_in(std::int64_t axis, std::int64_t rank) {
  want(axis >= -rank && axis < rank);
  return axis < 0 ? axis + rank : axis;
}

// The windows of a pooling or convolution along an axis: how many results they have, how large they are, how far apart they and
// their elements lie, and what is added in front. Small enough for the kernels' arithmetic on them.
inline void want_windows(std::int64_t results, std::int64_t kernel, std::int64_t stride, std::int64_t dilate, std::int64_t pad) {
  constexpr std::int64_t MOST = 1 << 30;
  want(results >= 0 && kernel >= 1 && stride >= 1 && dilate >= 1 && pad >= -MOST && pad <= MOST);
  want(plus(times(results, stride), times(kernel, dilate)) <= MOST);
}

// A vector of which nothing is read that it does not have.
template <class T>
class Checked : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  Checked(const std::vector<T>& other) : std::vector<T>(other) {}
  Checked(std::vector<T>&& other) : std::vector<T>(std::move(other)) {}

  const T& operator[](std::size_t i) const { return want(i < this->size()), std::vector<T>::operator[](i); }
  T& operator[](std::size_t i) { return want(i < this->size()), std::vector<T>::operator[](i); }
  const T& back() const { return want(!this->empty()), std::vector<T>::back(); }
};

}  // namespace gluonnx
