#include "count/ether_type_table.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace floodwall {
namespace {

std::uint64_t framesOf(const EtherTypeTable& table, std::uint16_t type) {
  for (const EtherTypeCount& count : table.counts()) {
    if (count.type == type) return count.frames;
  }
  return 0;
}

TEST_CASE("Ethernet types: as many are kept as there is room for") {
  EtherTypeTable table;
  for (std::uint16_t type = 1; type <= kEtherTypesKept; type++) {
    for (std::uint16_t i = 0; i < type; i++) table.count(type);
  }
  for (std::uint16_t type = 1; type <= kEtherTypesKept; type++) CHECK(framesOf(table, type) == type);
  // One more takes the place of the least frequent.
  table.count(0x88cc);
  CHECK(framesOf(table, 0x88cc) == 1);
  CHECK(framesOf(table, 1) == 0);
  CHECK(framesOf(table, 2) == 2);
}

TEST_CASE("Ethernet types: what comes often stays, however many types come once") {
  EtherTypeTable table;
  table.count(0x0806);
  table.count(0x0806);
  for (std::uint16_t type = 0x9000; type < 0xa000; type++) table.count(type);
  CHECK(framesOf(table, 0x0806) == 2);
}

TEST_CASE("Ethernet types: none is not kept") {
  EtherTypeTable table;
  table.count(0);
  const EtherTypeCounts counts = table.counts();
  CHECK(std::all_of(counts.begin(), counts.end(), [](const EtherTypeCount& count) { return count.frames == 0; }));
}

}  // namespace
}  // namespace floodwall
