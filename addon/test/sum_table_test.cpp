#include "count/sum_table.h"

#include <doctest/doctest.h>

#include <vector>

#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kHosts = 40;

Totals one(std::size_t count, std::uint64_t value) {
  Totals totals;
  totals.counts[count] = value;
  return totals;
}

}  // namespace

TEST_CASE("sums are exact, whether they are packed, wide, or become one of them again and again") {
  SHOW_SEED();
  Random random;
  SumTable sums(kHosts);
  std::vector<Totals> exact(kHosts);
  std::vector<std::vector<Totals>> added(kHosts);
  std::uint32_t wrong = 0;
  for (int i = 0; i < 100'000; i++) {
    const auto host = static_cast<std::uint32_t>(random.below(kHosts));
    auto& ofHost = added[host];
    // Hosts fill up and empty again.
    if (!ofHost.empty() && (ofHost.size() > 30 || random.below(5) < 2)) {
      const Totals left = ofHost.back();
      ofHost.pop_back();
      sums.subtract(host, left);
      exact[host].subtract(left);
    } else {
      Totals delta;
      for (std::uint64_t& count : delta.counts) {
        if (random.below(4) == 0) count = random.bits() >> 30 >> random.below(34);
      }
      // Some hosts stay small, and never leave the packed form.
      if (host % 4 == 0) {
        for (std::uint64_t& count : delta.counts) count &= 0xff;
      }
      sums.add(host, delta);
      exact[host].add(delta);
      ofHost.push_back(delta);
    }
    const auto asked = static_cast<std::uint32_t>(random.below(kHosts));
    if (sums.of(asked).counts != exact[asked].counts || sums.isZero(asked) != exact[asked].isZero()) wrong++;
  }
  CHECK(wrong == 0);
  for (std::uint32_t host = 0; host < kHosts; host++) {
    for (const Totals& delta : added[host]) sums.subtract(host, delta);
    CHECK(sums.isZero(host));
  }
}

TEST_CASE("each count is exact at the bound of the packed form, and one beyond it") {
  for (std::size_t count = 0; count < Totals::kCount; count++) {
    const bool isBytes = count >= Totals::kBytes && count < Totals::kNewFlows;
    const std::uint64_t most = isBytes ? (1U << 24) - 1 : count == Totals::kNewFlows ? (1U << 16) - 2 : (1U << 16) - 1;
    CAPTURE(count);
    for (const std::uint64_t value : {most - 1, most, most + 1}) {
      SumTable sums(2);
      sums.add(1, one(count, value - 1));
      sums.add(1, one(count, 1));
      CHECK(sums.of(1).counts == one(count, value).counts);
      CHECK(sums.of(0).isZero());
      sums.subtract(1, one(count, value - 1));
      CHECK(sums.of(1).counts == one(count, 1).counts);
      sums.subtract(1, one(count, 1));
      CHECK(sums.isZero(1));
    }
  }
}

TEST_CASE("wide rows are used again: memory follows the hosts that need one at a time") {
  constexpr std::uint32_t kMany = 100'000;
  SumTable sums(kMany);
  for (std::uint32_t host = 0; host < kMany; host++) {
    sums.add(host, one(Totals::kBytes, 1U << 30));
    sums.subtract(host, one(Totals::kBytes, 1U << 30));
  }
  // 32 bytes a host, and no more than a huge page for the one row of full width.
  CHECK(sums.residentBytes() <= 32 * kMany + (std::size_t{4} << 20));
}
