#include "count/packed_totals.h"

#include <doctest/doctest.h>

#include <vector>

#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

TEST_CASE("packed totals are exact up to 36 bits of packets and flows and 42 of bytes") {
  SHOW_SEED();
  Random random;
  PackedTotals packed{};
  Totals exact;
  std::vector<Totals> added;
  CHECK(packed.isZero());
  for (int i = 0; i < 1000; i++) {
    Totals delta;
    for (std::size_t c = 0; c < Totals::kCount; c++) {
      const bool isBytes = c >= Totals::kBytes && c < Totals::kNewFlows;
      // A thousand of the largest are just within the bound; most are small, or nothing.
      const std::uint64_t most = (isBytes ? std::uint64_t{1} << 42 : std::uint64_t{1} << 36) / 1000;
      if (random.below(3) == 0) delta.counts[c] = random.below(most) >> random.below(40);
    }
    packed.add(delta);
    exact.add(delta);
    added.push_back(delta);
    REQUIRE(packed.totals().counts == exact.counts);
  }
  CHECK_FALSE(packed.isZero());
  for (const Totals& delta : added) {
    packed.subtract(delta);
    exact.subtract(delta);
    REQUIRE(packed.totals().counts == exact.counts);
  }
  CHECK(packed.isZero());
}
