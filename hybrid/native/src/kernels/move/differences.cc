// Differences of neighbours, with numbers before and after them.
#include <cmath>
#include <optional>

#include "../../base/numbers.h"
#include "move.h"

namespace gluonnx {
namespace {

template <class T>
class Differences : public Kernel {
 public:
  Differences(const Call& call, bool front, bool behind, std::optional<T> first, std::optional<T> last)
      : count_(std::max<std::int64_t>(call.in[0].size() - 1, 0)), first_(first), last_(last) {
    want(call.in.size() == 1u + front + behind);
    for (const Tensor& t : call.in) want(t.dtype == call.out[0].dtype);
    if (front) front_ = 1, before_ = call.in[1].size();
    else before_ = first.has_value();
    if (behind) behind_ = 1 + front, after_ = call.in[behind_].size();
    else after_ = last.has_value();
    want_size(call.out[0], plus(before_, plus(count_, after_)));
    how = "neighbours";
  }

  void run(const Run& run) const override {
    T* to = run.output<T>();
    put(run, front_, first_, to, before_);
    put(run, behind_, last_, to + before_ + count_, after_);
    const T* x = run.input<T>(0);
    run.ranges(count_, grain_of(2 * sizeof(T)), [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        if constexpr (std::is_integral_v<T>)
          to[before_ + i] = static_cast<T>(static_cast<std::uint64_t>(x[i + 1]) - static_cast<std::uint64_t>(x[i]));
        else to[before_ + i] = x[i + 1] - x[i];
    });
  }

 private:
  static void put(const Run& run, int input, std::optional<T> number, T* to, std::int64_t count) {
    if (input) std::copy(run.input<T>(input), run.input<T>(input) + count, to);
    else if (number) *to = *number;
  }

  std::int64_t count_, before_, after_;
  int front_ = 0, behind_ = 0;  // which inputs, 0 for none
  std::optional<T> first_, last_;
};

template <class T>
std::optional<T> number_of(const Attrs& attrs, const std::string& name) {
  if (!attrs.has(name)) return attrs.ignore(name), std::nullopt;
  const double number = attrs.real(name);
  want(!std::is_integral_v<T> || (number == std::floor(number) && number > -128 && number < 128 && (std::is_signed_v<T> || number >= 0)));
  return static_cast<T>(number);
}

}  // namespace

std::unique_ptr<Kernel> bind_ediff1d(const Call& call) {
  const bool front = call.attrs.flag("to_begin_arr_given"), behind = call.attrs.flag("to_end_arr_given");
  return by_number(call.in[0].dtype, [&](auto t) -> std::unique_ptr<Kernel> {
    using T = decltype(t);
    return std::make_unique<Differences<T>>(call, front, behind, number_of<T>(call.attrs, "to_begin_scalar"),
                                            number_of<T>(call.attrs, "to_end_scalar"));
  });
}

}  // namespace gluonnx
