#include "checksum.h"

#include <cstring>

namespace gluonnx {
namespace {

// Odd numbers whose bits look random: fractions of the square roots of the first primes, as SHA-512 begins with them.
constexpr std::uint64_t START[] = {0x6a09e667f3bcc909, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                   0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

// Both halves of a product on top of each other, as wyhash mixes (Wang Yi, 2019): every bit of both factors reaches every bit.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

// Four chains, each over a fourth of every 64 bytes; all of them know the size.
Checksum checksum(const std::byte* from, std::size_t size) {
  Checksum sums;
  for (int lane = 0; lane < 4; ++lane) sums[lane] = START[lane + 4] ^ size;
  auto take = [&](const std::byte* bytes) {
    for (int lane = 0; lane < 4; ++lane) {
      std::uint64_t words[2];
      std::memcpy(words, bytes + 16 * lane, sizeof words);
      // what a product of zero would forget is added once more
      sums[lane] = mix(words[0] ^ START[lane], words[1] ^ sums[lane]) + words[0] + (words[1] << 32 | words[1] >> 32);
    }
  };
  std::size_t at = 0;
  for (; at + 64 <= size; at += 64) take(from + at);
  if (at < size) {
    std::byte rest[64] = {};
    std::memcpy(rest, from + at, size - at);
    take(rest);
  }
  for (int lane = 0; lane < 4; ++lane) sums[lane] = mix(sums[lane] ^ START[7 - lane], START[lane + 4]);
  return sums;
}

}  // namespace gluonnx
