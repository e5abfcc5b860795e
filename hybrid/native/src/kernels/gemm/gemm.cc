#include "gemm.h"

#include "dots.h"
#include "pack.h"
#include "tile.h"

namespace gluonnx::gemm {
namespace {

constexpr Index LEAST = 112 / HEIGHT * HEIGHT, MOST = 252 / HEIGHT * HEIGHT;  // rows of A that are packed at a time
constexpr Index HALVED = 100 * 1000;                       // elements of B from which on two threads read it sooner than one
constexpr Index ROOM = LANES == 16 ? 512 * 1024 : 1024 * 1024;  // floats that they may fill when they are more than LEAST

Index divided_up(Index a, Index b) { return (a + b - 1) / b; }

Index slices_of(Index k) { return std::max<Index>(1, divided_up(k, SLICE)); }
Index panels_of(Index n) { return divided_up(n, WIDTH); }

// The rows of A that are packed at a time.
Index band_of(const Sizes& s) {
  const Index most = std::clamp(ROOM / std::max<Index>(1, s.k), LEAST, MOST);
  return divided_up(s.m, std::max<Index>(1, divided_up(s.m, most)));
}

bool is_row(const Product& p) { return p.sizes.m == 1 && (!p.a.transposed || p.a.ld == 1); }

// Whether B, which is not packed, is read where it lies: when few strips read it, or when the first cache holds it.
bool in_place(const Operand& b, const Sizes& s) { return !b.transposed && (s.m <= 28 || s.n * s.k <= 16 * 1024); }

// What a thread of the compute phase has of its own: a panel's slice.
Index panel_room(const Sizes& s) { return WIDTH * std::min(s.k, SLICE); }

// Runs work in turn on the caller's thread.
struct Alone {
  int threads() const { return 1; }
  template <class F>
  void parallel(Index chunks, F&& f) const {
    for (Index i = 0; i < chunks; ++i) f(i, 0);
  }
};

struct Band {
  const Product& p;
  Index begin, rows;  // of A and C
  float* packed_a;    // null when A is a row that needs no packing
  float* rooms;       // panel_room for each thread
  Index first = 0;    // the column that C begins with
  Index strips = divided_up(rows, p.reduced && p.sizes.m <= FEW_ROWS ? FEW_HEIGHT : HEIGHT);

  Index strip_begin(Index i) const { return rows * i / strips; }
  Index slice_begin(Index i) const { return p.sizes.k * i / slices_of(p.sizes.k); }

  // One slice of one strip.
  void pack(Index slice, Index strip) const {
    const Index k0 = slice_begin(slice), k = slice_begin(slice + 1) - k0;
    const Index r0 = strip_begin(strip), r = strip_begin(strip + 1) - r0;
    pack_strip(p.a, begin + r0, r, k0, k, packed_a + k0 * rows + r0 * k);
  }

  void compute(Index panel_from, Index panel_to, Index strip_from, Index strip_to, int thread) const {
    const Sizes& s = p.sizes;
    const bool direct = !p.packed && !p.reduced && in_place(p.b, s);
    const bool widened = p.reduced && s.m > FEW_ROWS;
    const Precision precision = p.reduced && !widened ? p.reduced->precision() : Precision::f32;
    const Index slices = slices_of(s.k), bytes = s.n * s.k * (precision == Precision::f32 ? 4 : precision == Precision::i8 ? 1 : 2);
    const bool lies_packed = p.packed || (p.reduced && !widened);
    const Index abreast = s.m == 1 && lies_packed && bytes > BEYOND_CACHES ? ABREAST : 1;
    for (Index slice = 0; slice < slices; ++slice) {
      const Index k0 = slice_begin(slice), k = slice_begin(slice + 1) - k0;
      const bool last = slice + 1 == slices;
      Epilogue whole = p.epilogue, part;
      whole.accumulate = part.accumulate = slice > 0 || p.epilogue.accumulate;
      part.alpha = p.epilogue.alpha;
      Tile t;
      t.k = k;
      t.ldc = p.ldc;
      t.epilogue = last ? &whole : &part;
      t.apart = 16 * k;
      for (Index panel = panel_from; panel < panel_to; panel += abreast) {
        const Index column = panel * WIDTH, wide = std::min(abreast, panel_to - panel) * WIDTH;
        t.columns = std::min(wide, s.n - column);
        const int blocks = blocks_for(std::min(WIDTH, t.columns));
        t.ldb = 16 * blocks;
        const Index element = k0 * rounded(s.n) + column * k;  // where B is packed
        if (p.packed) {
          t.b = p.packed + element;
        } else if (p.reduced && !widened) {
          t.b = p.reduced->at(element);
          t.scales = p.reduced->scales(column);
        } else if (direct && t.columns == t.ldb) {
          t.b = p.b.at(k0, column);
          t.ldb = p.b.ld;
        } else {
          float* room = rooms + thread * panel_room(s);
          if (widened) p.reduced->widen(element, column, k, t.ldb, room);
          else pack_panel(p.b, k0, k, column, t.columns, t.ldb, room, t.ldb);
          t.b = room;
        }
        t.bias = last && p.epilogue.bias ? p.epilogue.bias + column : nullptr;
        const Index passes = std::max<Index>(1, strip_to - strip_from);
        if (p.packed) t.step = divided_up(64, passes);
        for (Index strip = strip_from; strip < strip_to; ++strip) {
          const Index r0 = strip_begin(strip), r = strip_begin(strip + 1) - r0;
          t.a = packed_a ? packed_a + k0 * rows + r0 * k : p.a.data + k0;
          t.c = p.c + (begin + r0) * p.ldc + column - first;
          const float* residual = last ? p.epilogue.residual : nullptr;
          t.residual = residual ? residual + (begin + r0) * p.epilogue.residual_ld + column : nullptr;
          t.ahead = static_cast<const char*>(t.b) + (p.packed ? 4 * t.ldb * k + (strip - strip_from) * k * t.step : 0);
          (abreast > 1 ? micro_abreast(static_cast<int>(divided_up(t.columns, WIDTH)), precision)
                       : micro(static_cast<int>(r), blocks, precision, p.again))(t);
        }
      }
    }
  }
};

// Chunks that are worth handing over: a few for each thread, each of at least 10 us.
Index chunks_worth(double seconds, int threads) {
  return threads == 1 ? 1 : std::clamp<Index>(static_cast<Index>(seconds / 10e-6), 1, 4 * threads);
}

template <class How>
void multiply_with(const Product& p, std::byte* scratch, const How& how) {
  const Sizes& s = p.sizes;
  if (s.m == 0 || s.n == 0) return;
  if (!p.packed && !p.reduced && dots_fit(p)) {
    const double seconds = 4.0 * s.n * s.k / 20e9;
    const Index chunks = std::min(chunks_worth(seconds, how.threads()), s.n);
    return how.parallel(chunks, [&](Index i, int) { dots(p, s.n * i / chunks, s.n * (i + 1) / chunks); });
  }
  const Index band = band_of(s), slices = slices_of(s.k), panels = panels_of(s.n);
  float* packed_a = reinterpret_cast<float*>(scratch);
  float* rooms = packed_a + rounded(band * s.k);
  for (Index begin = 0; begin < s.m; begin += band) {
    const Index rows = std::min(band, s.m - begin);
    Band work{p, begin, rows, is_row(p) ? nullptr : packed_a, rooms};
    if (work.packed_a) {
      const Index pieces = slices * work.strips, chunks = std::min(pieces, chunks_worth(rows * s.k * 0.2e-9, how.threads()));
      how.parallel(chunks, [&](Index chunk, int) {
        for (Index i = pieces * chunk / chunks; i < pieces * (chunk + 1) / chunks; ++i) work.pack(i % slices, i / slices);
      });
    }
    const double seconds = std::max(2.0 * rows * s.n * s.k / 200e9, 4.0 * s.n * s.k / 40e9);
    Index wanted = chunks_worth(seconds, how.threads());
    // A row takes what reading B takes, and each thread has a second cache of its own to read it from.
    if (s.m == 1 && wanted < how.threads() && s.n * s.k >= HALVED) wanted = how.threads();
    const Index across = std::min(wanted, panels), down = std::min(work.strips, divided_up(wanted, across));
    how.parallel(across * down, [&](Index chunk, int thread) {
      const Index i = chunk / down, j = chunk % down;
      work.compute(panels * i / across, panels * (i + 1) / across, work.strips * j / down, work.strips * (j + 1) / down,
                   thread);
    });
  }
}

}  // namespace

void each_slice(Index k, const std::function<void(Index, Index)>& f) {
  for (Index i = 0, slices = slices_of(k); i < slices; ++i) f(k * i / slices, k * (i + 1) / slices - k * i / slices);
}

std::string panels() { return "panels of " + std::to_string(WIDTH) + " in slices of " + std::to_string(SLICE); }
Index packed_size(Index n, Index k) { return rounded(n) * k; }

void pack_b(const Operand& b, Index n, Index k, float* to, Pool* pool) {
  const Index slices = slices_of(k), panels = panels_of(n);
  auto pack = [&](Index i) {
    const Index slice = i / panels, column = i % panels * WIDTH, columns = std::min(WIDTH, n - column);
    const Index k0 = k * slice / slices, depth = k * (slice + 1) / slices - k0;
    const Index width = 16 * blocks_for(columns);
    pack_panel(b, k0, depth, column, columns, width, to + k0 * rounded(n) + column * depth, width);
  };
  Run run{nullptr, nullptr, nullptr, pool};
  if (!pool || n * k < 1 << 16)
    for (Index i = 0; i < slices * panels; ++i) pack(i);
  else run.parallel(slices * panels, [&](Index i, int) { pack(i); });
}

std::size_t scratch_bytes(const Sizes& s, bool packed, int threads) {
  const Index a = rounded(band_of(s) * s.k), rooms = packed ? 0 : threads * panel_room(s);
  return (a + rooms) * sizeof(float);
}

void pack_a(const Operand& a, Index m, Index k, float* to) {
  const Product p{{m, 0, k}, a, {}};
  for (Index begin = 0, band = band_of(p.sizes); begin < m; begin += band) {
    const Band work{p, begin, std::min(band, m - begin), to + begin * k, nullptr};
    for (Index i = 0; i < work.strips; ++i)
      for (Index slice = 0; slice < slices_of(k); ++slice) work.pack(slice, i);
  }
}

void multiply_packed(const Product& p, const float* packed_a, Index begin, Index end) {
  for (Index row = 0, band = band_of(p.sizes); row < p.sizes.m; row += band) {
    const Band work{
        p,       row,  std::min(band, p.sizes.m - row), packed_a ? const_cast<float*>(packed_a) + row * p.sizes.k : nullptr,
        nullptr, begin};
    work.compute(begin / WIDTH, panels_of(end), 0, work.strips, 0);
  }
}

void multiply(const Product& product, const Run& run) { multiply_with(product, run.scratch, run); }
void multiply_alone(const Product& product, std::byte* scratch) { multiply_with(product, scratch, Alone{}); }

}  // namespace gluonnx::gemm
