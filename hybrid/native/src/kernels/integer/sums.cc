#include "sums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bytes.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#elif defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gluonnx::integer {
namespace {

using Micro = void (*)(Index steps, const std::int32_t* left, Index ld, const std::int32_t* right, std::int32_t* sums);
using Heights = std::make_index_sequence<HEIGHT>;
using FittedHeights [[maybe_unused]] = std::make_index_sequence<FITTED_HEIGHT>;

typedef RegI Loose __attribute__((aligned(4), may_alias));
GX_INLINE RegI get(const std::int32_t* p) { return *reinterpret_cast<const Loose*>(p); }
GX_INLINE Reg get(const float* p) { return *reinterpret_cast<const RegU*>(p); }
GX_INLINE Reg splat(float x) { return x - Reg{}; }

namespace pairs {
// sum + the products of the halves
template <bool>
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
#if defined(__AVX512BW__)
  return sum + reinterpret_cast<RegI>(_mm512_madd_epi16(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return sum + reinterpret_cast<RegI>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#elif defined(__SSE2__)
  return sum + reinterpret_cast<RegI>(_mm_madd_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}
#include "tile.inc"
constexpr auto OF = tiles<false>(Heights{});
}  // namespace pairs

#if defined(__SSSE3__)
#define GX_FITTED
namespace fitted {
typedef std::int16_t Halves __attribute__((vector_size(4 * LANES)));
// the sums of pairs of products of bytes, of which a's are the signed ones with LEFT, else b's
template <bool LEFT>
GX_INLINE Halves halves(RegI a, RegI b) {
  const RegI plus = LEFT ? b : a, signs = LEFT ? a : b;
#if defined(__AVX512BW__)
  return reinterpret_cast<Halves>(_mm512_maddubs_epi16(reinterpret_cast<__m512i>(plus), reinterpret_cast<__m512i>(signs)));
#elif defined(__AVX2__)
  return reinterpret_cast<Halves>(_mm256_maddubs_epi16(reinterpret_cast<__m256i>(plus), reinterpret_cast<__m256i>(signs)));
#else
  return reinterpret_cast<Halves>(_mm_maddubs_epi16(reinterpret_cast<__m128i>(plus), reinterpret_cast<__m128i>(signs)));
#endif
}
GX_INLINE RegI summed(Halves v) {
#if defined(__AVX512BW__)
  return reinterpret_cast<RegI>(_mm512_madd_epi16(reinterpret_cast<__m512i>(v), _mm512_set1_epi16(1)));
#elif defined(__AVX2__)
  return reinterpret_cast<RegI>(_mm256_madd_epi16(reinterpret_cast<__m256i>(v), _mm256_set1_epi16(1)));
#else
  return reinterpret_cast<RegI>(_mm_madd_epi16(reinterpret_cast<__m128i>(v), _mm_set1_epi16(1)));
#endif
}
template <bool LEFT>
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
  return sum + summed(halves<LEFT>(a, b));
}
namespace once {
#include "tile.inc"
constexpr auto OF_LEFT = tiles<true>(FittedHeights{}), OF_RIGHT = tiles<false>(FittedHeights{});
}  // namespace once
namespace twice {
#define GX_TWO
// sum + those of two steps
template <bool LEFT>
GX_INLINE RegI two(RegI sum, RegI a, RegI b, RegI c, RegI d) {
  return sum + summed(halves<LEFT>(a, b) + halves<LEFT>(c, d));
}
#include "tile.inc"
#undef GX_TWO
constexpr auto OF_LEFT = tiles<true>(FittedHeights{}), OF_RIGHT = tiles<false>(FittedHeights{});
}  // namespace twice

// Adds the products of what is left of steps.
template <int R, bool LEFT>
void more(const Tile& t, std::int32_t* sums) {
  constexpr int C = REGISTERS_OF_ROW;
  RegI sum[R][C];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) sum[r][j] = get(sums + r * WIDTH + j * LANES);
  const std::int32_t* steps = t.rest->steps.data();
  for (const std::int32_t place : t.rest->places) {
    const std::int32_t *left = LEFT ? steps : t.left + place, *right = LEFT ? t.right + place * WIDTH : steps;
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (int j = 0; j < C; ++j)
        sum[r][j] = dot<LEFT>(sum[r][j], RegI{} + left[LEFT ? r : r * t.ld], get(right + j * LANES));
    steps += LEFT ? HEIGHT : WIDTH;
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int j = 0; j < C; ++j) *reinterpret_cast<RegI*>(sums + r * WIDTH + j * LANES) = sum[r][j];
}
template <bool LEFT, std::size_t... R>
constexpr std::array<void (*)(const Tile&, std::int32_t*), sizeof...(R)> mores(std::index_sequence<R...>) {
  return {more<R + 1, LEFT>...};
}
constexpr auto MORE_LEFT = mores<true>(FittedHeights{}), MORE_RIGHT = mores<false>(FittedHeights{});
}  // namespace fitted
#endif

// VNNI is no part of the levels: only these functions may contain it, and only machines that have it get there.
#if defined(__AVX2__) && defined(__GNUC__) && !defined(__clang__)
#define GX_VNNI
#pragma GCC push_options
#if defined(__AVX512BW__)
#pragma GCC target("avx512vnni")
#else
#pragma GCC target("avxvnni")
#endif
namespace vnni {
// sum + the products of the bytes, of which a's are the signed ones with LEFT, else b's
template <bool LEFT>
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
  const RegI plus = LEFT ? b : a, signs = LEFT ? a : b;
#if defined(__AVX512BW__)
  return reinterpret_cast<RegI>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(plus), reinterpret_cast<__m512i>(signs)));
#else
  return reinterpret_cast<RegI>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum), reinterpret_cast<__m256i>(plus),
                                                        reinterpret_cast<__m256i>(signs)));
#endif
}
#include "tile.inc"
constexpr auto OF_LEFT = tiles<true>(Heights{}), OF_RIGHT = tiles<false>(Heights{});
}  // namespace vnni
#pragma GCC pop_options
#endif

// Nor is Arm's dot product a part of aarch64, but where the compiler is told so (Apple's is: all its machines have it).
#if defined(__ARM_FEATURE_DOTPROD)
#define GX_DOT
#elif defined(__aarch64__) && defined(__linux__) && !defined(__clang__)
#define GX_DOT
#define GX_DOT_HERE
#pragma GCC push_options
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif
#if defined(GX_DOT)
namespace arm {
// sum + the products of the bytes, all of which are signed
template <bool>
GX_INLINE RegI dot(RegI sum, RegI a, RegI b) {
  return reinterpret_cast<RegI>(
      vdotq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int8x16_t>(a), reinterpret_cast<int8x16_t>(b)));
}
#include "tile.inc"
constexpr auto OF = tiles<false>(Heights{});
}  // namespace arm
#if defined(GX_DOT_HERE)
#pragma GCC pop_options
#endif
#endif

// AMX is no part of the levels either, and the system lends its registers to those who ask.
#if defined(__AVX512BW__) && defined(__linux__) && defined(GX_VNNI)
#define GX_AMX
#pragma GCC push_options
#pragma GCC target("amx-tile,amx-int8")
namespace amx {
constexpr long PERMIT = 0x1023, TILE_DATA = 18;  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)

bool lent() {
  static const bool granted = __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
                              syscall(SYS_arch_prctl, PERMIT, TILE_DATA) == 0;
  return granted;
}

// Eight registers of 16 rows and 64 bytes; in memory that the compiler does not take for unused, as the instruction's name for it
// says too little of what it reads.
struct alignas(64) Config {
  std::uint8_t palette = 1, start = 0, zero[14] = {};
  std::uint16_t width[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
const Config config;

void configure() {
  asm volatile("" : : "m"(config));
  _tile_loadconfig(&config);
}
void release() { _tile_release(); }

// Four registers of sums: two of 16 rows by two of 16 columns.
template <bool LEFT>
void tall(Index steps, const std::int32_t* left, Index ld, const std::int32_t* right, std::int32_t* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const std::int32_t* lower = left + 16 * ld;
  for (Index k = 0; k < steps; k += STEPS, left += STEPS, lower += STEPS, right += STEPS * WIDTH) {
    _tile_loadd(4, left, ld * 4);
    _tile_loadd(6, right, WIDTH * 4);
    _tile_loadd(7, right + 16, WIDTH * 4);
    _tile_loadd(5, lower, ld * 4);
    if constexpr (LEFT) {
      _tile_dpbsud(0, 4, 6);
      _tile_dpbsud(1, 4, 7);
      _tile_dpbsud(2, 5, 6);
      _tile_dpbsud(3, 5, 7);
    } else {
      _tile_dpbusd(0, 4, 6);
      _tile_dpbusd(1, 4, 7);
      _tile_dpbusd(2, 5, 6);
      _tile_dpbusd(3, 5, 7);
    }
  }
  _tile_stored(0, sums, WIDTH * 4);
  _tile_stored(1, sums + 16, WIDTH * 4);
  _tile_stored(2, sums + 16 * WIDTH, WIDTH * 4);
  _tile_stored(3, sums + 16 * WIDTH + 16, WIDTH * 4);
}
}  // namespace amx
#pragma GCC pop_options
#endif

Micro micro(Form form, bool left_signed, int rows) {
#if defined(GX_FITTED)
  if (form == Form::fitted) return (left_signed ? fitted::once::OF_LEFT : fitted::once::OF_RIGHT)[rows - 1];
  if (form == Form::fitted_twice) return (left_signed ? fitted::twice::OF_LEFT : fitted::twice::OF_RIGHT)[rows - 1];
#endif
#if defined(GX_VNNI)
  if (form == Form::bytes) return (left_signed ? vnni::OF_LEFT : vnni::OF_RIGHT)[rows - 1];
#elif defined(GX_DOT)
  if (form == Form::bytes) return arm::OF[rows - 1];
#endif
  return pairs::OF[rows - 1];
}

using Row = void (*)(Index steps, const std::int32_t* left, const std::int32_t* right, std::int32_t* sums);
Row abreast(Form form) {
#if defined(GX_FITTED)
  if (form == Form::fitted) return fitted::once::abreast<ABREAST, false>;
  if (form == Form::fitted_twice) return fitted::twice::abreast<ABREAST, false>;
#endif
#if defined(GX_VNNI)
  if (form == Form::bytes) return vnni::abreast<ABREAST, false>;
#elif defined(GX_DOT)
  if (form == Form::bytes) return arm::abreast<ABREAST, false>;
#endif
  return pairs::abreast<ABREAST, false>;
}

GX_INLINE void put_first(std::int32_t* to, RegI v, Index count) {
  if (count >= LANES) *reinterpret_cast<Loose*>(to) = v;
  else put_some(to, v, count);
}

template <class From, class To>
std::int32_t shifted(const From* __restrict from, Index k, int by, To* __restrict to) {
  std::int32_t sum = 0;
  for (Index i = 0; i < k; ++i) {
    to[i] = static_cast<To>(from[i] + by);
    sum += to[i];
  }
  return sum;
}

// by signedness of what is there and of what is stored
template <class From>
std::int32_t packed(const From* from, Index k, const Encoding& e, int zero, std::int32_t* to) {
  if (e.form == Form::pairs) return shifted(from, k, -zero, reinterpret_cast<std::int16_t*>(to)), 0;
  if (e.stored_signed) return shifted(from, k, e.shift(), reinterpret_cast<std::int8_t*>(to));
  return shifted(from, k, e.shift(), reinterpret_cast<std::uint8_t*>(to));
}

// in double precision, as NumPy's rule has it; in line it would fill the loops that it is hardly ever part of
__attribute__((noinline)) Reg gelu(Reg v) {
  for (int i = 0; i < LANES; ++i) {
    const double x = v[i];
    v[i] = static_cast<float>(x * (0.5 * (1 + std::erf(x * 0.70710678118654757))));
  }
  return v;
}

GX_INLINE Reg acted(const Act& act, Reg v, float unit) {
  switch (act.kind) {
    case Act::Kind::relu: return at_least(v, Reg{});
    case Act::Kind::leaky: return v <= Reg{} ? v * act.slope : v;
    case Act::Kind::abs: return abs(v);
    case Act::Kind::clip: return at_most(at_least(v / unit, splat_reg(act.low)), splat_reg(act.high)) * unit;
    case Act::Kind::gelu: return gelu(v / unit) * unit;
    default: return v;
  }
}

// `count` or LANES sums, whichever is less, in float32; see Epilogue
GX_INLINE void followed(const Epilogue& f, RegI sum, Index row, Index column, Index count, Index to) {
  auto there = [&](const float* p) __attribute__((always_inline)) { return f.by_row ? splat_reg(p[row]) : get(p + column); };
  Reg v = __builtin_convertvector(sum, Reg);
  if (f.addend) v += there(f.addend);
  if (f.scale) v *= there(f.scale);
  if (f.act.kind != Act::Kind::none) v = acted(f.act, v, f.unit);
  if (f.other) v += f.other_scale * floats(f.other, f.other_signed, to, count);
  if (f.late.kind != Act::Kind::none) v = acted(f.late, v, f.unit);
  if (f.after) v += there(f.after);
  if (f.type == DType::f32) {
    float* out = static_cast<float*>(f.out) + to;
    return count >= LANES ? put(out, v) : put_some(out, v, count);
  }
  const bool bytes = f.type != DType::i32;
  const float least = f.type == DType::u8 ? 0 : f.type == DType::i8 ? -128 : -2147483648.f;
  v = v == v ? v : splat_reg(least == 0 ? 0 : f.most);
  v = at_most(at_least(v, splat_reg(least)), splat_reg(f.most));
  if (bytes) put_bytes(static_cast<std::int8_t*>(f.out) + to, rounded(v), count);
  else put_first(static_cast<std::int32_t*>(f.out) + to, rounded(v), count);
}

// `count` or LANES sums, whichever is less
template <Epilogue::Kind KIND>
GX_INLINE void epilogue(const Epilogue& f, RegI sum, Index row, Index column, Index count) {
  const Index to = row * f.ld + column;
  if (f.bias) sum += f.by_row ? RegI{} + f.bias[row] : get(f.bias + column);
  if constexpr (KIND == Epilogue::Kind::followed) {
    followed(f, sum, row, column, count, to);
  } else if constexpr (KIND == Epilogue::Kind::quantized) {
    const float low = (f.is_signed ? -128 : 0) - f.zero, high = (f.is_signed ? 127 : 255) - f.zero;
    Reg v = __builtin_convertvector(sum, Reg) * (f.by_row ? splat_reg(f.scale[row]) : get(f.scale + column));
    v = at_most(at_least(splat_reg(low), v), splat_reg(high));  // this way round NaN becomes the least, as in NumPy's `whole`
    RegI whole;
    nearest(v, &whole);
    put_bytes(static_cast<std::int8_t*>(f.out) + to, whole + f.zero, count);
  } else {
    if constexpr (KIND == Epilogue::Kind::rounded) {
      Reg v = __builtin_convertvector(sum, Reg);
      if (f.addend) v += f.by_row ? splat_reg(f.addend[row]) : get(f.addend + column);
      v = at_most(at_least(v, splat_reg(-2147483648.f)), splat_reg(2147483520.f));
      sum = __builtin_convertvector(v, RegI);
    }
    put_first(static_cast<std::int32_t*>(f.out) + to, sum, count);
  }
}

// A tile's sums as bytes: what epilogue does, with what stays the same for rows and columns found once. WHOLE: it has all columns.
template <bool BY_ROW, bool WHOLE>
GX_INLINE void quantize(const Tile& t, const Epilogue& f, const std::int32_t* sums) {
  const Reg low = splat((f.is_signed ? -128 : 0) - f.zero), high = splat((f.is_signed ? 127 : 255) - f.zero);
  for (int r = 0; r < t.rows; ++r) {
    const Index row = t.row + r;
    auto* to = static_cast<std::int8_t*>(f.out) + row * f.ld + t.column;
    const RegI bias = RegI{} + (BY_ROW && f.bias ? f.bias[row] : 0);
    const Reg scale = BY_ROW ? splat(f.scale[row]) : Reg{};
    const std::int32_t zero = t.column_sum ? t.row_zero[row] : 0, term = t.column_zero ? t.row_term[row] : 0;
#pragma GCC unroll 2
    for (int j = 0; j < (WHOLE ? WIDTH : t.columns); j += LANES) {
      RegI sum = *reinterpret_cast<const RegI*>(sums + r * WIDTH + j) + bias;
      if (t.column_sum) sum -= zero * get(t.column_sum + j);
      if (t.column_zero) sum -= term * get(t.column_zero + j);
      if (!BY_ROW && f.bias) sum += get(f.bias + t.column + j);
      Reg v = __builtin_convertvector(sum, Reg) * (BY_ROW ? scale : get(f.scale + t.column + j));
      v = at_most(at_least(low, v), high);  // this way round NaN becomes the least, as in NumPy's `whole`
      put_bytes(to + j, rounded(v) + f.zero, WHOLE ? LANES : t.columns - j);
    }
  }
}
template <bool BY_ROW>
void quantize(const Tile& t, const Epilogue& f, const std::int32_t* sums) {
  if (t.columns == WIDTH) quantize<BY_ROW, true>(t, f, sums);
  else quantize<BY_ROW, false>(t, f, sums);
}

template <class F>
GX_INLINE void with_kind(const Epilogue& f, F use) {
  using Kind = Epilogue::Kind;
  if (f.kind == Kind::sums) use(std::integral_constant<Kind, Kind::sums>{});
  else if (f.kind == Kind::quantized) use(std::integral_constant<Kind, Kind::quantized>{});
  else if (f.kind == Kind::rounded) use(std::integral_constant<Kind, Kind::rounded>{});
  else use(std::integral_constant<Kind, Kind::followed>{});
}

bool with_vnni = true;

}  // namespace

#if defined(GX_AMX)
bool has_matrix_registers() { return with_vnni && amx::lent(); }
MatrixRegisters::MatrixRegisters(bool used) : used_(used) {
  if (used_) amx::configure();
}
MatrixRegisters::~MatrixRegisters() {
  if (used_) amx::release();
}
#else
bool has_matrix_registers() { return false; }
MatrixRegisters::MatrixRegisters(bool used) : used_(used) {}
MatrixRegisters::~MatrixRegisters() = default;
#endif

Form best_form() {
#if defined(GX_VNNI)
#if defined(__AVX512BW__)
  if (with_vnni && __builtin_cpu_supports("avx512vnni")) return Form::bytes;
#else
  if (with_vnni && __builtin_cpu_supports("avxvnni")) return Form::bytes;
#endif
#elif defined(GX_DOT)
#if defined(GX_DOT_HERE)
  static const bool there = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
#else
  constexpr bool there = true;
#endif
  if (with_vnni && there) return Form::bytes;
#endif
  return Form::pairs;
}

std::vector<Form> forms_of([[maybe_unused]] bool weights) {
#if defined(GX_FITTED)
  if (weights && best_form() == Form::pairs) return {Form::fitted_twice, Form::fitted, Form::pairs};
#endif
  return {best_form()};
}

const char* name(Form form) {
#if defined(GX_DOT)
  constexpr const char* BYTES = "dotprod";
#else
  constexpr const char* BYTES = "vnni";
#endif
  const char* const names[] = {"pairs", BYTES, "fitted", "fitted twice"};
  return names[static_cast<int>(form)];
}

void Rest::fit(Form form, std::int32_t* from, Index steps, Index along, Index count, Index apart, Index whole) {
  std::array<std::int8_t, 4 * WIDTH> halves[2], second;
  static_assert(WIDTH >= HEIGHT);
  auto large = [](const std::int8_t* x) { return std::abs(x[0]) + std::abs(x[1]); };
  constexpr int MOST = 128;  // 255 times so much has 16 bits
  auto leave = [&](Index place, const std::array<std::int8_t, 4 * WIDTH>& left) {
    if (std::all_of(left.begin(), left.end(), [](std::int8_t x) { return !x; })) return;
    places.push_back(static_cast<std::int32_t>(place));
    this->steps.resize(this->steps.size() + whole);
    std::memcpy(this->steps.data() + this->steps.size() - whole, left.data(), whole * sizeof(std::int32_t));
  };
  const int deep = form == Form::fitted_twice ? 2 : 1;
  for (Index s = 0; s < steps; s += deep) {
    const int n = static_cast<int>(std::min<Index>(deep, steps - s));
    for (auto& left : {&halves[0], &halves[1], &second}) left->fill(0);
    for (Index i = 0; i < count; ++i) {
      std::int8_t all[2][4] = {};
      for (int d = 0; d < n; ++d) std::memcpy(all[d], from + (s + d) * along + i * apart, 4);
      for (int pair : {0, 2}) {
        for (int d = 0; d < n; ++d)
          if (large(all[d] + pair) > MOST)
            for (int k : {pair, pair + 1}) {
              halves[d][4 * i + k] = static_cast<std::int8_t>(all[d][k] - all[d][k] / 2);
              all[d][k] /= 2;
            }
        if (large(all[0] + pair) + large(all[1] + pair) > MOST)
          for (int k : {pair, pair + 1}) second[4 * i + k] = std::exchange(all[1][k], 0);
      }
      for (int d = 0; d < n; ++d) std::memcpy(from + (s + d) * along + i * apart, all[d], 4);
    }
    leave(s, halves[0]);
    leave(s + 1, halves[1]);
    leave(s + 1, second);
  }
}

std::int32_t Encoding::pack(const void* from, Index k, int zero, std::int32_t* to) const {
  if (k % numbers_of(form)) to[k / numbers_of(form)] = 0;
  return is_signed ? packed(static_cast<const std::int8_t*>(from), k, *this, zero, to)
                   : packed(static_cast<const std::uint8_t*>(from), k, *this, zero, to);
}

void Encoding::interleave(const std::uint8_t* const arrays[4], int count, int zero, Index n, std::int32_t* to,
                          Index apart) const {
  std::uint32_t kept = 0;
  for (int i = 0; i < count; ++i) kept |= placed(-1, i);
  const auto mask = static_cast<std::int32_t>(kept);
  const std::uint8_t *a = arrays[0], *b = arrays[1], *c = arrays[2], *d = arrays[3];
  auto through = [&](auto step) __attribute__((always_inline)) {
    for (Index i = 0; i < n; i += WIDTH, to += apart)
      for (Index j = 0; j < WIDTH && i + j < n; j += LANES) {
        const Index at = i + j, rest = n - at;
        if (rest >= LANES)
          *reinterpret_cast<Loose*>(to + j) = step([&](const std::uint8_t* p) { return widened(p + at); }) & mask;
        else put_some(to + j, step([&](const std::uint8_t* p) { return widened_some(p + at, rest); }) & mask, rest);
      }
  };
  if (form != Form::pairs) {
    const std::int32_t flip = shift() ? static_cast<std::int32_t>(0x80808080u) : 0;
    through([=](auto get) { return (get(a) | get(b) << 8 | get(c) << 16 | get(d) << 24) ^ flip; });
  } else {
    const int flip = is_signed ? 128 : 0;  // signed bytes as others: ((x + 128) mod 256) - 128
    through([=](auto get) {
      const RegI low = (get(a) ^ flip) - flip - zero, high = (get(b) ^ flip) - flip - zero;
      return (low & 0xffff) | high << 16;
    });
  }
}

void Epilogue::operator()(const std::int32_t* sums, Index row, Index column, Index count) const {
  with_kind(*this, [&](auto kind) {
    for (Index i = 0; i < count; i += LANES) epilogue<kind()>(*this, get(sums + i), row, column + i, count - i);
  });
}

namespace {

// What becomes of a tile's sums.
GX_INLINE void finish(const Tile& t, const Epilogue& f, const std::int32_t* sums) {
  if (f.kind == Epilogue::Kind::quantized) return f.by_row ? quantize<true>(t, f, sums) : quantize<false>(t, f, sums);
  with_kind(f, [&](auto kind) {
    for (int r = 0; r < t.rows; ++r)
      for (int j = 0; j < t.columns; j += LANES) {
        const Index i = t.row + r;
        RegI sum = *reinterpret_cast<const RegI*>(sums + r * WIDTH + j);
        if (t.column_sum) sum -= t.row_zero[i] * get(t.column_sum + j);
        if (t.column_zero) sum -= t.row_term[i] * get(t.column_zero + j);
        epilogue<kind()>(f, sum, i, t.column + j, t.columns - j);
      }
  });
}

}  // namespace

void compute_abreast(Tile tile, const Rest* rest, const Epilogue& given) {
  const Epilogue f = given;
  alignas(64) std::int32_t sums[ABREAST * WIDTH];
  abreast(tile.form)(tile.steps, tile.left, tile.right, sums);
  for (int p = 0; p < ABREAST; ++p) {
#if defined(GX_FITTED)
    tile.rest = rest ? rest + p : nullptr;
    if (rest && !rest[p].places.empty()) fitted::MORE_RIGHT[0](tile, sums + p * WIDTH);
#endif
    const Tile t = tile;
    finish(t, f, sums + p * WIDTH);
    tile.column += WIDTH;
    if (tile.column_sum) tile.column_sum += WIDTH;
    if (tile.column_zero) tile.column_zero += WIDTH;
  }
}

void compute(const Tile& tile, const Epilogue& given) {
  const Tile t = tile;  // copies, which no store of bytes can change
  const Epilogue f = given;
  alignas(64) std::int32_t sums[TALL * WIDTH];
#if defined(GX_AMX)
  if (t.matrix) (t.left_signed ? amx::tall<true> : amx::tall<false>)(t.steps, t.left, t.ld, t.right, sums);
  else
#endif
    micro(t.form, t.left_signed, t.rows)(t.steps, t.left, t.ld, t.right, sums);
#if defined(GX_FITTED)
  if (t.rest && !t.rest->places.empty()) (t.left_signed ? fitted::MORE_LEFT : fitted::MORE_RIGHT)[t.rows - 1](t, sums);
#endif
  finish(t, f, sums);
}

void slide(Form form, Index steps, const std::int32_t* left, const std::int32_t* right, const Index* places, Index count,
           std::int32_t* to) {
#if defined(GX_VNNI)
  if (form == Form::bytes && steps == 3) return vnni::slid<true, 3>(steps, left, right, places, count, to);  // 3 x 3
  if (form == Form::bytes) return vnni::slid<true, 0>(steps, left, right, places, count, to);
#elif defined(GX_DOT)
  if (form == Form::bytes && steps == 3) return arm::slid<true, 3>(steps, left, right, places, count, to);
  if (form == Form::bytes) return arm::slid<true, 0>(steps, left, right, places, count, to);
#endif
  pairs::slid<true, 0>(steps, left, right, places, count, to);
}

void column_sums(Form form, const std::int32_t* right, Index steps, bool left_signed, std::int32_t* to) {
  const std::int32_t ones = 0x01010101;
  constexpr Index PIECE = 64;
  std::int32_t left[PIECE];
  std::fill(left, left + PIECE, ones);
  std::fill(to, to + WIDTH, 0);
  for (Index k = 0; k < steps; k += PIECE) {
    alignas(64) std::int32_t sums[WIDTH];
    micro(form, left_signed, 1)(std::min(PIECE, steps - k), left, 0, right + k * WIDTH, sums);
    for (int j = 0; j < WIDTH; ++j) to[j] += sums[j];
  }
}

}  // namespace gluonnx::integer

// For tests: whether kernels that are bound from now on may use VNNI, or Arm's dot product, where the CPU has it.
extern "C" __attribute__((visibility("default"))) void gluonnx_use_vnni(int use) { gluonnx::integer::with_vnni = use; }
