// Which parts an operator copies, from its attributes and shapes.
#pragma once

#include <limits>
#include <optional>

#include "strided.h"

namespace gluonnx {

using Parts = std::vector<Part>;

// What an operator says of itself; nothing when it cannot be done by copying.
using Describe = std::optional<Parts> (*)(const Attrs& attrs, const Tensors& in, const Tensors& out);

// An operator that is described, and the gradient of one of its inputs, which is copied the other way round: `_backward_X`
// takes dy and the inputs of X, and has the attribute `of`.
std::unique_ptr<Kernel> bind_parts(const Call& call, Describe describe);
std::unique_ptr<Kernel> bind_parts_back(const Call& call, Describe describe);

// In tuples of attributes: None.
constexpr std::int64_t NOTHING = std::numeric_limits<std::int64_t>::min();

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t begin, std::size_t end);

}  // namespace gluonnx
