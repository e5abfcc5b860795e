// Fourier transforms of signals: MXNet's fft and ifft, ONNX's STFT.
#include "../move/index.h"
#include "fourier.h"

namespace gluonnx {
namespace {

using namespace transform;

constexpr Index LONGEST = Index{1} << 26;

// What one thread transforms in.
struct Line {
  explicit Line(const Fourier& of)
      : real(static_cast<std::size_t>(of.length())), from(real.size()), to(real.size()), room(static_cast<std::size_t>(of.room())) {}
  void transform(const Fourier& of) { of.run(from.data(), to.data(), room.data()); }
  void transform_real(const Fourier& of) { of.run_real(real.data(), to.data(), from.data(), room.data()); }
  std::vector<double> real;
  std::vector<Complex> from, to, room;
};

// f(line, number) for lines [0, count), each transformed in `of`
template <class F>
void each_line(const Run& run, const Fourier& of, Index count, F&& f) {
  run.ranges(count, 1 + 20000 / (of.length() + 1), [&](Index begin, Index end, int) {
    Line line(of);
    for (Index i = begin; i < end; ++i) f(line, i);
  });
}

// Of NaN and infinities it depends on the order of a sum where they come to: NumPy transforms these.
template <class T>
void want_finite(const T* x, Index count) {
  bool finite = true;
  for (Index i = 0; i < count; ++i) finite &= x[i] - x[i] == 0;
  want_value(finite);
}

// Rows of numbers, real ones to pairs, or pairs to the real part of what they transform back to, times the length.
template <class T>
class Rows : public Kernel {
 public:
  Rows(const Call& call, bool inverse) : inverse_(inverse) {
    call.attrs.ignore("compute_size");
    const Tensor &in = call.in[0], &out = call.out[0];
    want(in.rank() >= 1 && out.rank() == in.rank() && out.dtype == in.dtype);
    length_ = inverse ? out.shape.back() : in.shape.back();
    want(length_ >= 1 && length_ <= LONGEST && (inverse ? in : out).shape.back() == 2 * length_);
    rows_ = in.size() / in.shape.back();
    want_size(out, times(rows_, out.shape.back()));
    sure = false;
    how = "rows";
  }

  void run(const Run& run) const override {
    want_finite(run.input<T>(0), rows_ * length_ * (inverse_ ? 2 : 1));
    const auto of = fourier(length_);
    each_line(run, *of, rows_, [&](Line& line, Index i) {
      if (inverse_) {
        const T* x = run.input<T>(0) + 2 * i * length_;
        for (Index k = 0; k < length_; ++k) line.from[k] = {static_cast<double>(x[2 * k]), -static_cast<double>(x[2 * k + 1])};
        line.transform(*of);
        for (Index k = 0; k < length_; ++k) run.output<T>()[i * length_ + k] = static_cast<T>(line.to[k].re);
      } else {
        const T* x = run.input<T>(0) + i * length_;
        for (Index k = 0; k < length_; ++k) line.real[k] = static_cast<double>(x[k]);
        line.transform_real(*of);
        T* y = run.output<T>() + 2 * i * length_;
        for (Index k = 0; k < length_; ++k) y[2 * k] = static_cast<T>(line.to[k].re), y[2 * k + 1] = static_cast<T>(line.to[k].im);
      }
    });
  }

 private:
  bool inverse_;
  Index length_, rows_;
};

// The whole number in an input of one element.
Index number_of(const Run& run, int input, DType dtype) {
  Index found;
  Positions(dtype).read(run.in[input], 0, 1, &found);
  return found;
}

// The distance of frames, and their length where there is no window, come with a run.
template <class T>
class Stft : public Kernel {
 public:
  explicit Stft(const Call& call) {
    const Attrs& attrs = call.attrs;
    const Tensor &signal = call.in[0], &out = call.out[0];
    onesided_ = attrs.flag("onesided");
    int next = 2;
    if (attrs.names("given", "window")) window_at_ = next++;
    if (attrs.names("given", "frame_length")) length_at_ = next++;
    want(static_cast<int>(call.in.size()) == next && signal.rank() == 3 && out.rank() == 4);
    batch_ = signal.shape[0], size_ = signal.shape[1], parts_ = signal.shape[2];
    frames_ = out.shape[1], results_ = out.shape[2];
    want((parts_ == 1 || (parts_ == 2 && !onesided_)) && out.shape[0] == batch_ && out.shape[3] == 2 && out.dtype == signal.dtype);
    if (window_at_ >= 0) want(call.in[window_at_].rank() == 1 && call.in[window_at_].dtype == signal.dtype);
    window_ = window_at_ >= 0 ? call.in[window_at_].size() : -1;
    for (int i : {1, length_at_})
      if (i >= 0) {
        want(call.in[i].dtype == DType::i64 || call.in[i].dtype == DType::i32);
        want_size(call.in[i], 1);
        types_[i] = call.in[i].dtype;
      }
    sure = false;
    how = "frames";
  }

  void run(const Run& run) const override {
    const Index step = number_of(run, 1, types_[1]);
    const Index length = length_at_ >= 0 ? number_of(run, length_at_, types_[length_at_]) : window_ >= 0 ? window_ : size_;
    want_value(step >= 1 && length >= 1 && length <= LONGEST && (window_ < 0 || window_ == length));
    want_value(frames_ == (size_ < length ? 0 : (size_ - length) / step + 1));
    want_value(results_ == (onesided_ ? length / 2 + 1 : length));
    want_finite(run.input<T>(0), batch_ * size_ * parts_);
    if (window_at_ >= 0) want_finite(run.input<T>(window_at_), window_);
    const auto of = fourier(length);
    each_line(run, *of, batch_ * frames_, [&](Line& line, Index i) {
      const T* x = run.input<T>(0) + (i / frames_ * size_ + i % frames_ * step) * parts_;
      for (Index k = 0; k < length; ++k) {
        const T weight = window_at_ >= 0 ? run.input<T>(window_at_)[k] : T{1};
        if (parts_ == 1) line.real[k] = static_cast<double>(x[k] * weight);
        else line.from[k] = {static_cast<double>(x[2 * k] * weight), static_cast<double>(x[2 * k + 1] * weight)};
      }
      parts_ == 1 ? line.transform_real(*of) : line.transform(*of);
      T* y = run.output<T>() + 2 * i * results_;
      for (Index k = 0; k < results_; ++k) y[2 * k] = static_cast<T>(line.to[k].re), y[2 * k + 1] = static_cast<T>(line.to[k].im);
    });
  }

 private:
  bool onesided_;
  int window_at_ = -1, length_at_ = -1;
  Index batch_, size_, parts_, frames_, results_, window_;
  DType types_[4] = {};
};

template <template <class> class K, class... Arguments>
std::unique_ptr<Kernel> of_floats(const Call& call, Arguments... arguments) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<K<float>>(call, arguments...);
  if (call.in[0].dtype == DType::f64) return std::make_unique<K<double>>(call, arguments...);
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> bind_fft(const Call& call) { return of_floats<Rows>(call, false); }
std::unique_ptr<Kernel> bind_ifft(const Call& call) { return of_floats<Rows>(call, true); }
std::unique_ptr<Kernel> bind_stft(const Call& call) { return of_floats<Stft>(call); }

}  // namespace gluonnx
