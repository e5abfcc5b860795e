#include "cpu.h"

#include <algorithm>
#include <fstream>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace gluonnx {
namespace {

#if defined(__linux__)
// CPUs' worth of time that the control group in this folder may use, 0 when it sets no limit
double quota_of(const std::string& folder) {
  std::string most;
  double period = 0;
  if (std::ifstream(folder + "/cpu.max") >> most >> period)  // "max 100000" without a limit
    return most == "max" || period <= 0 ? 0 : std::stod(most) / period;
  double quota = 0;  // version 1, where -1 means none
  if (std::ifstream(folder + "/cpu.cfs_quota_us") >> quota && std::ifstream(folder + "/cpu.cfs_period_us") >> period)
    return quota > 0 && period > 0 ? quota / period : 0;
  return 0;
}

// The least quota of the process's group and of all above it.
double cpu_quota() {
  double least = 0;
  auto take = [&](const std::string& folder) {
    if (double q = quota_of(folder); q > 0) least = least > 0 ? std::min(least, q) : q;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string top = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/" + controllers;
    std::string path = line.substr(second + 1);
    // inside a container the path may be the host's, of which only the top is to be seen here
    for (;; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      take(top + path);
      if (path.empty() || path.rfind('/') == std::string::npos) break;
    }
  }
  return least;
}
#endif

#if defined(__x86_64__)
// The level that the x86-64 psABI defines, 1 to 4, by what the CPU has and the system saves when it switches threads. Compilers' own
// answers want their run-time library, which Microsoft's linker has not, and say nothing of LZCNT and MOVBE.
int x86_level() {
  unsigned a = 0, d = 0, basic = 0, more = 0, ignored = 0, extended = 0;
  auto all = [](unsigned word, auto... bits) { return ((word >> bits & 1) && ...); };
  if (!__get_cpuid(1, &a, &ignored, &basic, &d)) return 1;
  if (!all(basic, 0, 9, 13, 19, 20, 23)) return 1;  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT
  unsigned saved = 0;
  if (all(basic, 27)) asm volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  __get_cpuid_count(7, 0, &a, &more, &ignored, &d);
  __get_cpuid(0x80000001, &a, &ignored, &extended, &d);
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; SSE's and AVX's registers
  if (!all(basic, 12, 22, 28, 29) || !all(more, 3, 5, 8) || !all(extended, 5) || !all(saved, 1, 2)) return 2;
  // AVX512F, DQ, CD, BW, VL; its registers
  return all(more, 16, 17, 28, 30, 31) && all(saved, 5, 6, 7) ? 4 : 3;
}
#endif

}  // namespace

int usable_cpus() {
  int count = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) count = CPU_COUNT(&set);
  // a part of a CPU is no CPU: a thread too many is put to sleep by the quota in the middle of its work
  if (double quota = cpu_quota(); quota > 0) count = std::min(count, static_cast<int>(quota + 0.01));
#endif
  return std::max(1, count);
}

std::vector<std::string> cpu_levels() {
  std::vector<std::string> levels;
#if defined(__x86_64__)
  const int level = x86_level();
  for (int n = level; n >= 2; --n) levels.push_back("v" + std::to_string(n));
#endif
  levels.push_back("plain");
  return levels;
}

}  // namespace gluonnx
