#include "cpu.h"

#include <algorithm>
#include <fstream>
#include <thread>

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
  __builtin_cpu_init();
  // as the x86-64 psABI defines the levels; compilers before GCC 12 do not know them by name
  auto has = [](auto... there) { return (there && ...); };
  const bool v2 = has(__builtin_cpu_supports("sse4.2"), __builtin_cpu_supports("popcnt"));
  const bool v3 = v2 && has(__builtin_cpu_supports("avx2"), __builtin_cpu_supports("fma"), __builtin_cpu_supports("bmi2"));
  const bool v4 =
      v3 && has(__builtin_cpu_supports("avx512f"), __builtin_cpu_supports("avx512bw"), __builtin_cpu_supports("avx512dq"),
                __builtin_cpu_supports("avx512vl"), __builtin_cpu_supports("avx512cd"));
  if (v4) levels.push_back("v4");
  if (v3) levels.push_back("v3");
  if (v2) levels.push_back("v2");
#endif
  levels.push_back("plain");
  return levels;
}

}  // namespace gluonnx
