// What kernels keep of their constants, so that it can be written to a file, and lie there instead of being packed again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "floats.h"

namespace gluonnx {

// Memory that a kernel packs constants into: of how many floats, and how they lie there. No more than numbers to compute with, so
// that whatever stands in a file is safe to read.
struct Kept {
  Floats* memory;
  std::int64_t count;
  std::string form;
};

// A kernel that keeps nothing but such memory of the constants that it does not read in a run (Kernel::reads).
class Keeper {
 public:
  virtual ~Keeper() = default;
  // In one order always; none where it packs nothing.
  virtual std::vector<Kept> kept() = 0;
};

}  // namespace gluonnx
