// Sums of products of 8-bit numbers as int32 that wraps round: what products and convolutions of integers consist of.
//
// Numbers that follow one another along K share a 32-bit element, a "step", because processors add up that many products at a
// time: four bytes, where the machine has VNNI or Arm's dot product, else two 16-bit numbers. A tile is a strip of a few rows of the left operand,
// steps that are spread over registers, times a panel of WIDTH columns of the right one.
//
// Without VNNI, bytes are still multiplied four at a time where one operand is packed once for many runs: its steps are "fitted",
// that is small enough for the sums of two products, or of those of two steps, to fit in 16 bits; what is beyond is left to further
// steps, the "rest".
//
// VNNI multiplies unsigned by signed bytes, Arm's dot product signed ones. An operand of another kind is shifted by 128, and its
// zero point with it. Zero points are accounted for afterwards: with stored numbers l and r whose zero points are y and z,
//   sum (l - y)(r - z) = sum l r - y sum r - z (sum l - K y).
// 16-bit numbers have their zero points taken away when they are packed.
//
// Which form is used is decided when a kernel is bound; tests can have them bound without bytes (gluonnx_use_vnni).
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "../../base/floats.h"
#include "../../base/kernel.h"
#include "../../base/math.h"

namespace gluonnx::integer {

using Index = std::int64_t;

constexpr int REGISTERS_OF_ROW = 2;
constexpr int WIDTH = REGISTERS_OF_ROW * LANES;  // columns of a panel
#if defined(__AVX512F__)
constexpr int HEIGHT = 12;  // rows of a strip, at most
#elif defined(__AVX2__)
constexpr int HEIGHT = 6;
#elif defined(__aarch64__)
constexpr int HEIGHT = 8;
#else
constexpr int HEIGHT = 4;
#endif

// Of fitted steps, whose products want two registers more.
constexpr int FITTED_HEIGHT = HEIGHT == 6 ? 5 : HEIGHT;

enum class Form { pairs, bytes, fitted, fitted_twice };
constexpr int numbers_of(Form form) { return form == Form::pairs ? 2 : 4; }  // of a step
Form best_form();
// The forms to pack an operand in, the fastest first, of which all but the last are for weights, that leave little rest.
std::vector<Form> forms_of(bool weights);
constexpr bool is_fitted(Form form) { return form == Form::fitted || form == Form::fitted_twice; }
const char* name(Form form);  // of the instructions, for profiles

// Of two operands of bytes one is stored signed; whether the other is too.
#if defined(__aarch64__)
constexpr bool OTHER_SIGNED = true;
#else
constexpr bool OTHER_SIGNED = false;
#endif

// Where the machine has matrix registers (AMX), strips of TALL rows and as many columns as a panel has are computed in these, if
// the steps fill them. A thread that computes such tiles has a MatrixRegisters meanwhile.
constexpr int TALL = 32;
constexpr int STEPS = 16;  // of a matrix register
bool has_matrix_registers();
class MatrixRegisters {
 public:
  explicit MatrixRegisters(bool used);
  ~MatrixRegisters();
  MatrixRegisters(const MatrixRegisters&) = delete;
  MatrixRegisters& operator=(const MatrixRegisters&) = delete;

 private:
  [[maybe_unused]] bool used_;
};
constexpr Index divided_up(Index a, Index b) { return (a + b - 1) / b; }
constexpr Index rounded_up(Index a, Index b) { return divided_up(a, b) * b; }
// Strips that rows are cut into: tall ones first, then some of one row more than the others.
class Strips {
 public:
  const Index tall;

  Strips(Index rows, Form form, bool matrix)
      : tall(matrix ? rows / TALL : 0), low_(divided_up(rows - tall * TALL, is_fitted(form) ? FITTED_HEIGHT : HEIGHT)) {
    height_ = low_ ? (rows - tall * TALL) / low_ : 0;
    higher_ = low_ ? (rows - tall * TALL) % low_ : 0;
  }
  Index count() const { return tall + low_; }
  Index first(Index strip) const {  // row of a strip; of count() the number of rows
    const Index low = strip - tall;
    return low <= 0 ? strip * TALL : tall * TALL + low * height_ + std::min(low, higher_);
  }

 private:
  Index low_, height_, higher_;
};
inline Index steps_of(Form form, Index numbers) { return divided_up(numbers, numbers_of(form)); }

inline int number(const void* data, bool is_signed, Index i) {
  return is_signed ? static_cast<const std::int8_t*>(data)[i] : static_cast<const std::uint8_t*>(data)[i];
}
inline bool is_byte(DType t) { return t == DType::u8 || t == DType::i8; }
inline bool is_one(const Tensor& t, DType dtype) { return t.size() == 1 && t.dtype == dtype; }

// A zero point as it is given: none, one, or one for each row or column.
struct ZeroPoint {
  const void* data = nullptr;
  Index count = 0;
  bool is_signed = false;

  int at(Index i) const { return count ? number(data, is_signed, count == 1 ? 0 : i) : 0; }
};

// How numbers of an operand are stored.
struct Encoding {
  Form form;
  bool is_signed, stored_signed;  // the latter of bytes

  int shift() const { return is_signed == stored_signed ? 0 : stored_signed ? -128 : 128; }
  int zero(int zero) const { return form == Form::pairs ? 0 : zero + shift(); }  // of what is stored
  int stored(int x, int zero) const { return form == Form::pairs ? x - zero : x + shift(); }
  // one of the numbers of a step, at its place
  std::uint32_t placed(int stored, int i) const {
    return form == Form::pairs ? (stored & 0xffffu) << (16 * i) : (stored & 0xffu) << (8 * i);
  }
  // k numbers that follow one another in memory, zeros up to a whole step; gives their sum if they are bytes
  std::int32_t pack(const void* from, Index k, int zero, std::int32_t* to) const;
  // to[i], for i below n: a step of the i-th numbers of `count` arrays. Where there are more than WIDTH, each WIDTH steps lie
  // `apart`.
  void interleave(const std::uint8_t* const arrays[4], int count, int zero, Index n, std::int32_t* to,
                  Index apart = WIDTH) const;
};

// What is left of fitted steps. Those of a panel have WIDTH columns each, those of a strip HEIGHT rows.
struct Rest {
  std::vector<std::int32_t> places, steps;  // which steps have one, and what

  // Fits `steps` steps of `count` columns or rows, of which a panel or strip has `whole`; these lie `apart`, steps `along`.
  void fit(Form form, std::int32_t* from, Index steps, Index along, Index count, Index apart, Index whole);
};
// So large a part of all steps may be rest: with more, the next form is faster.
constexpr double MOST_REST = 0.2;

// An activation of numbers that are counted in steps: the two that do not stretch with them (clip, gelu) are told the unit.
struct Act {
  enum class Kind { none, relu, leaky, clip, abs, gelu };

  Kind kind = Kind::none;
  float slope = 0, low = 0, high = 0;
};

// What becomes of sums. Parameters are those of columns, or of rows; those of columns are there up to a multiple of WIDTH.
struct Epilogue {
  // sums as they are; rounded to bytes; rounded to float32 on the way; in float32 with all that may follow
  enum class Kind { sums, quantized, rounded, followed };

  Kind kind = Kind::sums;
  bool by_row = false;
  const std::int32_t* bias = nullptr;  // added to sums
  const float* scale = nullptr;        // of quantized: round(sum * scale) + zero, as bytes; of followed, if it is not null
  int zero = 0;
  bool is_signed = false;
  const float* addend = nullptr;  // of rounded: sum + addend in float32, as int32 (nothing is added when it is null)

  // of followed: late(act((sum + addend) * scale) + other * other_scale) + after, with what there is of these
  Act act, late;
  float unit = 1;  // steps of the numbers before act
  const void* other = nullptr;  // bytes that lie as the result does
  bool other_signed = false;
  float other_scale = 1;
  const float* after = nullptr;
  DType type = DType::i8;  // of the result: bytes, int32 or float32
  float most = 0;          // the greatest whole number it may be

  void* out = nullptr;
  Index ld = 0;

  // `count` sums of a row, which may be read up to a multiple of LANES
  void operator()(const std::int32_t* sums, Index row, Index column, Index count) const;
};

// A tile of work.
struct Tile {
  Form form;
  bool left_signed;  // of bytes: that the left operand's are the signed ones
  Index steps;
  const std::int32_t* left;  // of the first row, rows ld apart
  Index ld;
  const std::int32_t* right;  // a panel: for each step WIDTH columns
  Index row, column;          // where it is in the result
  int rows, columns;
  const Rest* rest = nullptr;  // of the signed operand, if its steps are fitted
  bool matrix = false;  // in matrix registers: TALL rows, and whole registers of steps
  // null where these have no effect: by row of the result, and by column of the panel
  const std::int32_t *row_zero = nullptr, *row_term = nullptr;       // y, sum l - K y
  const std::int32_t *column_sum = nullptr, *column_zero = nullptr;  // sum r, z
};
void compute(const Tile& tile, const Epilogue& epilogue);
// A row and so many panels, which follow one another, of columns that there are: memory that is read in several places at once gives
// more. rest: of each panel, or null.
constexpr int ABREAST = 4;
constexpr Index BEYOND_CACHES = 1 << 20;  // bytes
void compute_abreast(Tile tile, const Rest* rest, const Epilogue& epilogue);
// Sums of the columns of a panel of bytes; left_signed as in Tile.
void column_sums(Form form, const std::int32_t* right, Index steps, bool left_signed, std::int32_t* to);
// to[i] = sum over steps of left[step] times right[places[step] + i], up to a multiple of LANES; bytes of left are signed.
void slide(Form form, Index steps, const std::int32_t* left, const std::int32_t* right, const Index* places, Index count,
           std::int32_t* to);

// Memory that is divided among arrays, each aligned to 64 bytes; with none, only counted.
class Divided {
 public:
  explicit Divided(std::byte* memory) : memory_(memory) {}
  template <class T>
  T* take(Index count) {
    T* at = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += rounded_up(count * sizeof(T), 64);
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* memory_;
  Index used_ = 0;
};

// Memory for packed weights, aligned to 64 bytes.
class PackedWeights {
 public:
  std::byte* resize(std::size_t size) {
    memory_.resize(static_cast<std::int64_t>((size + sizeof(float) - 1) / sizeof(float)));
    return data();
  }
  std::byte* data() const { return reinterpret_cast<std::byte*>(memory_.data()); }

 private:
  Floats memory_;
};

// Weights as kernels bound to other sizes use them too.
struct Packed {
  Form form;
  PackedWeights memory;
  std::vector<Rest> rest;  // of each panel or strip, if steps are fitted

  const Rest* rest_of(Index i) const { return rest.empty() ? nullptr : &rest[i]; }
  // whether there is so little rest that no other form is faster
  bool pays(Index steps_of_all) const {
    std::size_t count = 0;
    for (const Rest& r : rest) count += r.places.size();
    return static_cast<double>(count) <= MOST_REST * static_cast<double>(steps_of_all);
  }
};

// -- MXNet's ranges: what reaches furthest from 0, and the range of sums of products --------------------------------------

// the greater magnitude of two numbers, NaN if one is
inline float reach(const float* low, const float* high) {
  const float a = __builtin_fabsf(*low), b = __builtin_fabsf(*high);
  return a != a || b != b ? a + b : a > b ? a : b;
}

// That so many ranges of a call, which begin with this input (-1: there are none), and that of its result are there.
inline void want_ranges(const Call& call, int first, int count = 2) {
  if (first < 0) return;
  for (int i = first; i < first + 2 * count; ++i) want(call.in[i].dtype == DType::f32 && call.in[i].size() > 0);
  for (int i : {1, 2}) want(call.out[i].dtype == DType::f32), want_size(call.out[i], 1);
}

}  // namespace gluonnx::integer
