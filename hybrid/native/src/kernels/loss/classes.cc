// ONNX's NegativeLogLikelihoodLoss: numbers at the classes of elements, negated and weighted, and their sum or mean. Classes that
// are none are refused.
#include <vector>

#include "../move/index.h"

namespace gluonnx {
namespace {

using Index = std::int64_t;

template <class T>
class ClassLoss : public Kernel {
 public:
  explicit ClassLoss(const Call& call) : positions_(call.in[1].dtype) {
    const Attrs& attrs = call.attrs;
    const Tensor &scores = call.in[0], &labels = call.in[1];
    attrs.ignore("given");
    ignores_ = attrs.has("ignore_index");
    ignored_ = attrs.integer("ignore_index", 0);
    const std::string& reduction = attrs.text("reduction");
    each_ = reduction == "none", mean_ = reduction == "mean";
    weighted_ = call.in.size() > 2;
    want(scores.rank() >= 2 && Positions::can(labels.dtype) && call.out[0].dtype == scores.dtype);
    count_ = labels.size(), classes_ = scores.shape[1];
    inner_ = 1;
    for (int i = 2; i < scores.rank(); ++i) inner_ *= scores.shape[i];
    want(times(scores.shape[0], inner_) == count_);
    want_size(call.out[0], each_ ? count_ : 1);
    if (weighted_) want(call.in[2].dtype == scores.dtype), want_size(call.in[2], classes_);
    sure = false;
    how = "elements";
  }

  void run(const Run& run) const override {
    const T* scores = run.input<T>(0);
    double sum = 0, shares = 0;
    Index label[256];
    for (Index first = 0; first < count_; first += 256) {
      const Index many = std::min<Index>(256, count_ - first);
      positions_.read(run.in[1], first, many, label);
      for (Index j = 0; j < many; ++j) {
        const bool counts = !ignores_ || label[j] != ignored_;
        const Index given = counts ? label[j] : 0, i = first + j;
        want_value(given >= -classes_ && given < classes_);
        const Index found = given < 0 ? given + classes_ : given;
        const T share = counts ? (weighted_ ? T{1} * run.input<T>(2)[found] : T{1}) : (weighted_ ? T{0} * run.input<T>(2)[found] : T{0});
        const T loss = share == 0 ? T{0} : -scores[(i / inner_ * classes_ + found) * inner_ + i % inner_] * share;
        if (each_) run.output<T>()[i] = loss;
        sum += static_cast<double>(loss);
        shares += static_cast<double>(share);
      }
    }
    if (!each_) *run.output<T>() = static_cast<T>(mean_ ? sum / shares : sum);
  }

 private:
  Positions positions_;
  bool ignores_, each_, mean_, weighted_;
  Index ignored_, count_, classes_, inner_;
};

}  // namespace

std::unique_ptr<Kernel> bind_class_loss(const Call& call) {
  if (call.in[0].dtype == DType::f32) return std::make_unique<ClassLoss<float>>(call);
  if (call.in[0].dtype == DType::f64) return std::make_unique<ClassLoss<double>>(call);
  return nullptr;
}

}  // namespace gluonnx
