#include "whole.h"

#include "../../base/numbers.h"

namespace gluonnx::whole {
namespace {

using gemm::Index;

// Sums are taken without sign, in the numbers' own width, which gives the same bits; of bools, of as many as are true.
template <class T>
struct Unsigned : std::make_unsigned<T> {};
template <>
struct Unsigned<bool> {
  using type = std::uint64_t;
};

template <class T>
class Whole : public Kernel {
  using U = typename Unsigned<T>::type;

 public:
  Whole(gemm::Products products, int bias) : p_(std::move(products)), bias_(bias) {
    flops = p_.sizes.flops() * static_cast<double>(p_.c.size());
    how = "whole numbers";
  }

  void run(const Run& run) const override {
    const Index m = p_.sizes.m, n = p_.sizes.n, k = p_.sizes.k;  // no bindings: older Clangs give those to no lambda
    run.ranges(static_cast<Index>(p_.c.size()) * m, 1 + 30000 / (n * k + 1), [&](Index begin, Index end, int) {
      std::vector<U> sums(static_cast<std::size_t>(n));
      for (Index i = begin; i < end; ++i) {
        const Index product = i / m, row = i % m;
        const T* a = run.input<T>(p_.a.input) + p_.a.begin[product] + row * (p_.a.transposed ? 1 : p_.a.ld);
        const T* b = run.input<T>(p_.b.input) + p_.b.begin[product];
        T* c = run.output<T>() + p_.c[product] + row * p_.ldc;
        const Index along = p_.a.transposed ? p_.a.ld : 1;
        if (p_.b.transposed) {
          for (Index j = 0; j < n; ++j) {
            U sum = 0;
            for (Index l = 0; l < k; ++l) sum = static_cast<U>(sum + static_cast<U>(a[l * along]) * static_cast<U>(b[j * p_.b.ld + l]));
            sums[j] = sum;
          }
        } else {
          std::fill(sums.begin(), sums.end(), U{0});
          for (Index l = 0; l < k; ++l) {
            const U x = static_cast<U>(a[l * along]);
            for (Index j = 0; j < n; ++j) sums[j] = static_cast<U>(sums[j] + x * static_cast<U>(b[l * p_.b.ld + j]));
          }
        }
        for (Index j = 0; j < n; ++j) {
          U sum = sums[j];
          if (bias_ >= 0) sum = static_cast<U>(sum + static_cast<U>(run.input<T>(bias_)[j]));
          if (p_.residual >= 0) sum = static_cast<U>(sum + static_cast<U>(run.input<T>(p_.residual)[p_.c[product] + row * p_.ldc + j]));
          c[j] = static_cast<T>(sum);
        }
      }
    });
  }

 private:
  gemm::Products p_;
  int bias_;
};

// That matrices of rows x columns, as an operand's layout says, lie inside it.
void want_within(const Tensor& t, const gemm::Layout& layout, Index rows, Index columns) {
  if (layout.transposed) std::swap(rows, columns);
  if (!rows || !columns) return;
  const Index end = t.size() - plus(times(rows - 1, layout.ld), columns);
  for (Index at : layout.begin) want(at >= 0 && at <= end);
}

}  // namespace

bool is_whole(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i32 || dtype == DType::i64 || dtype == DType::b1;
}

std::unique_ptr<Kernel> make(gemm::Products products, int bias, const Call& call) {
  const auto& [m, n, k] = products.sizes;
  const DType dtype = call.out[0].dtype;
  want(m >= 0 && n >= 0 && k >= 0 && products.alpha == 1 && (products.residual < 0 || products.beta == 1));
  for (const Tensor& t : call.in) want(t.dtype == dtype && !t.blocked);
  want_within(call.in[products.a.input], products.a, m, k);
  want_within(call.in[products.b.input], products.b, k, n);
  want_within(call.out[0], {0, products.c, products.ldc}, m, n);
  want_size(call.out[0], times(static_cast<Index>(products.c.size()), m, n));
  want(products.a.begin.size() == products.c.size() && products.b.begin.size() == products.c.size());
  if (bias >= 0) want_size(call.in[bias], n);
  if (products.residual >= 0) want_size(call.in[products.residual], call.out[0].size());
  if (dtype == DType::b1) return std::make_unique<Whole<bool>>(std::move(products), bias);
  return by_number(dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    if constexpr (std::is_integral_v<T>) return std::make_unique<Whole<T>>(std::move(products), bias);
    else return nullptr;
  });
}

}  // namespace gluonnx::whole
