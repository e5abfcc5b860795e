// A checksum of what lies in a file: for accidents, not against forgers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gluonnx {

using Checksum = std::array<std::uint64_t, 4>;

// Of so many bytes. The same on every machine of this byte order.
Checksum checksum(const std::byte* from, std::size_t size);

}  // namespace gluonnx
