#include "cpu.h"

namespace gluonnx {

std::vector<std::string> cpu_levels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // as the x86-64 psABI defines the levels; compilers before GCC 12 do not know them by name
  auto has = [](auto... there) { return (there && ...); };
  const bool v2 = has(__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("popcnt"));
  const bool v3 = v2 && has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi2"));
  const bool v4 = v3 && has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"),
                            __builtin_cpu_supports("avx512dq"), __builtin_cpu_supports("avx512vl"),
                            __builtin_cpu_supports("avx512cd"));
  if (v4) levels.push_back("v4");
  if (v3) levels.push_back("v3");
  if (v2) levels.push_back("v2");
#endif
  levels.push_back("plain");
  return levels;
}

}  // namespace gluonnx
