// Sixteen planes of plain data side by side, as if they were a block of channels.
#pragma once

#include "../../base/vec.h"
#include "../move/tile.h"
#include "windows.h"

namespace gluonnx {

// `count` planes (up to sixteen) that lie `plane` elements apart; lanes beyond become 0.
inline void pack_lanes(const float* from, std::int64_t plane, std::int64_t count, float* to, std::int64_t pixels) {
  if (count < BLOCK) std::fill(to, to + pixels * BLOCK, 0.f);
  transpose_plane(reinterpret_cast<const std::uint32_t*>(from), plane, reinterpret_cast<std::uint32_t*>(to), BLOCK, count, pixels);
}
inline void unpack_lanes(const float* from, float* to, std::int64_t plane, std::int64_t count, std::int64_t pixels) {
  transpose_plane(reinterpret_cast<const std::uint32_t*>(from), BLOCK, reinterpret_cast<std::uint32_t*>(to), plane, pixels, count);
}

}  // namespace gluonnx
