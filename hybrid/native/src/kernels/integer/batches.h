// Many products of 8-bit matrices, both of which may change from run to run.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "sums.h"

namespace gluonnx::integer {

// A matrix of each product: where it begins among the operand's bytes, and how far its rows and columns lie apart, of which one
// is 1.
struct Matrices {
  int input = 0;
  std::vector<Index> begin;
  Index row = 1, column = 1;
};

struct Batches {
  Index m = 0, n = 0, k = 0;
  Matrices left, right;
  std::vector<Index> result;  // where each result begins,
  Index ld = 0;               // and how far its rows lie apart
  int left_zero = -1, right_zero = -1;  // inputs of one number
};

class BatchedProducts : public Kernel {
 public:
  BatchedProducts(Batches batches, const Call& call);
  void run(const Run& run) const override;

 protected:
  // What becomes of the sums of all results. memory: for a number of each column, null where there is no result.
  virtual Epilogue epilogue_of(const Run& run, float* memory) const = 0;
  Index columns() const { return panels_ * WIDTH; }

 private:
  struct Memory {
    std::int32_t *left, *row_zero, *row_term, *panels, *sums;
  };
  Memory divide(Divided& memory) const;
  void pack_right(const std::uint8_t* from, int zero, std::int32_t* panels) const;

  Batches b_;
  Form form_;
  bool matrix_;
  Encoding left_{}, right_{};
  Index steps_, panels_, ld_;
  int threads_;
};

// ONNX's products of matrices in batches. a, b: inputs; scales: of both and of the result, and its zero point, -1: sums.
std::unique_ptr<Kernel> batched_matmul(const Call& call, int a, int b, int a_zero, int b_zero, const std::array<int, 4>& scales);

}  // namespace gluonnx::integer
