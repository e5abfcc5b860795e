// Positions that are data: indices and lengths, of whatever dtype.
#pragma once

#include "move.h"

namespace gluonnx {

// What becomes of positions outside an axis; refuse: NumPy says what is wrong with them.
enum class Outside { clip, wrap, refuse };

// Reads positions as hybrid/ops/indexing.py does: fractions are cut off, and what is no number or too large is the least one.
class Positions {
 public:
  explicit Positions(DType dtype) : dtype_(dtype) {}

  static bool can(DType dtype);
  void read(const void* from, std::int64_t first, std::int64_t count, std::int64_t* to) const;

  // Whether positions [begin, end) are inside an axis of `size`
  bool all_inside(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size) const;

  // f(number, position) for positions [begin, end), moved inside an axis of `size`; `ahead` is told of those to come
  template <class F, class G>
  void each(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size, Outside outside, F&& f,
            G&& ahead) const {
    constexpr std::int64_t many = 128, distance = 4;
    std::int64_t where[many];
    for (std::int64_t i = begin; i < end; i += many) {
      const std::int64_t count = std::min(many, end - i);
      read_inside(from, i, count, size, outside, where);
      for (std::int64_t j = 0; j < count; ++j) {
        ahead(where[std::min(j + distance, count - 1)]);
        f(i + j, where[j]);
      }
    }
  }
  template <class F>
  void each(const void* from, std::int64_t begin, std::int64_t end, std::int64_t size, Outside outside, F&& f) const {
    each(from, begin, end, size, outside, f, [](std::int64_t) {});
  }

  static std::int64_t inside(std::int64_t where, std::int64_t size, Outside outside) {
    if (outside != Outside::wrap) return std::clamp<std::int64_t>(where, 0, size - 1);
    const std::int64_t rest = where % size;
    return rest < 0 ? rest + size : rest;
  }
  // As read, moved inside an axis.
  void read_inside(const void* from, std::int64_t first, std::int64_t count, std::int64_t size, Outside outside, std::int64_t* to) const;

 private:
  DType dtype_;
};

}  // namespace gluonnx
