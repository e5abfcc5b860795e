// Constant matrices of products, packed.
#pragma once

#include "gemm.h"

namespace gluonnx::gemm {

// In fewer bits where that is asked for and possible, else as floats.
class Weights {
 public:
  Weights() = default;
  explicit Weights(Precision precision) : reduced_(precision) {}

  void pack(const Operand& b, Index n, Index k, Pool* pool) {
    if (precision() != Precision::f32 && reduced_.pack(b, n, k, pool)) {
      floats_ = Floats();
      return;
    }
    floats_.resize(packed_size(n, k));
    pack_b(b, n, k, floats_.data(), pool);
  }

  // What was asked for.
  Precision precision() const { return reduced_.precision(); }
  // The memory of what is held as floats.
  Floats& floats() { return floats_; }
  // As the matrix of a product.
  void offer(Product& product) const {
    if (reduced_) product.reduced = &reduced_;
    else product.packed = floats_.data();
  }

 private:
  Floats floats_;
  Reduced reduced_;
};

}  // namespace gluonnx::gemm
