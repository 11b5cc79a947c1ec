#include "count/host_index.h"

#include <doctest/doctest.h>

#include <vector>

#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

TEST_CASE("the index is right over random insertions and erasures, at every size that it grows through") {
  SHOW_SEED();
  Random random;
  constexpr std::uint32_t kRows = 60'000;
  HostIndex index(kRows);
  std::vector<std::uint64_t> hashes(kRows);
  std::vector<bool> isHeld(kRows, false);
  for (auto& hash : hashes) hash = random.bits();
  const auto hashOf = [&](std::uint32_t row) { return hashes[row]; };
  const auto find = [&](std::uint32_t row) {
    return index.find(hashes[row], [&](std::uint32_t other) { return hashes[other] == hashes[row]; });
  };
  std::uint32_t wrong = 0;
  for (std::uint32_t next = 0; next < kRows; next++) {
    index.insert(hashes[next], next, hashOf);
    isHeld[next] = true;
    const auto row = static_cast<std::uint32_t>(random.below(next + 1));
    if (random.below(4) == 0 && isHeld[row]) {
      index.erase(hashes[row], row, hashOf);
      isHeld[row] = false;
    }
    if (random.below(50) == 0) index.settle(random.below(200), hashOf);
    for (int i = 0; i < 4; i++) {
      const auto asked = static_cast<std::uint32_t>(random.below(kRows));
      if (find(asked) != (isHeld[asked] ? asked : kNoRow)) wrong++;
    }
  }
  for (std::uint32_t row = 0; row < kRows; row++) {
    if (find(row) != (isHeld[row] ? row : kNoRow)) wrong++;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the index takes memory by its rows, not by its bound") {
  Random random;
  HostIndex index(4'000'000);
  std::vector<std::uint64_t> hashes(20'000);
  const auto hashOf = [&](std::uint32_t row) { return hashes[row]; };
  for (std::uint32_t row = 0; row < hashes.size(); row++) {
    hashes[row] = random.bits();
    index.insert(hashes[row], row, hashOf);
  }
  // At most half full, in small pages: 65,536 slots, and what is left of the tables before it.
  CHECK(index.residentBytes() <= std::size_t{600} << 10);
}
