#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

#include "filter_box.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

std::uint32_t elsewhereIn(std::span<const filter_bucket> buckets) {
  std::uint32_t sum = 0;
  for (const filter_bucket& bucket : buckets) sum += bucket.elsewhere;
  return sum;
}

PairKey numbered(std::uint32_t number) { return pairOf(ipv4(kForeign + number), ipv4(kProtected + number % 7)); }

std::uint32_t countRead(const PairTable& pairs) {
  std::uint32_t count = 0;
  std::int64_t cursor = 0;
  // In small pieces, so that the cursor is used.
  while (cursor >= 0) {
    cursor = pairs.read(static_cast<std::uint32_t>(cursor), 10, bootNs(),
                        [&](const filter_pair&, const filter_count&) { count++; });
  }
  return count;
}

}  // namespace

TEST_CASE("bucket table: finds what was inserted and not erased, also when buckets are full") {
  SHOW_SEED();
  Random random;
  std::vector<filter_bucket> buckets(8);
  BucketTable table(buckets);
  std::map<std::uint64_t, std::uint32_t> model;
  std::uint32_t refused = 0;
  for (std::uint32_t step = 0; step < 20'000; step++) {
    const std::uint64_t hash = random.bits();
    if (random.below(100) < 53) {
      if (table.insert(hash, step)) {
        model.emplace(hash, step);
      } else {
        refused++;
      }
    } else if (!model.empty()) {
      auto victim = model.lower_bound(hash);
      if (victim == model.end()) victim = model.begin();
      table.erase(victim->first, victim->second);
      model.erase(victim);
    }
  }
  CHECK(refused > 0);
  CHECK(elsewhereIn(buckets) > 0);
  for (const auto& [hash, row] : model) {
    CHECK(table.find(hash, [row = row](std::uint32_t found) { return found == row; }) == row);
  }
  for (const auto& [hash, row] : model) table.erase(hash, row);
  CHECK(elsewhereIn(buckets) == 0);
  for (const filter_bucket& bucket : buckets) {
    for (const std::uint32_t way : bucket.ways) CHECK(way == 0);
  }
}

TEST_CASE("pair table: takes up what another process left, and puts right what a crash left half done") {
  if (cannotRunXdp("pair table: takes up what another process left")) return;
  FilterBox box;
  std::vector<PairKey> keys;
  for (std::uint32_t i = 0; i < 1000; i++) keys.push_back(numbered(i));
  box.pairs.put(keys, std::vector<std::uint64_t>(keys.size(), inAnHour()));
  CHECK(PairTable(box.maps).size() == 1000);
  // A row that no way leads to; a way to a row that nobody uses; a wrong count of what is elsewhere.
  const auto rows = box.maps.pairs();
  rows[1001].expires_at_ns = inAnHour();
  for (std::uint32_t& way : box.maps.pairBuckets()[0].ways) {
    if (way == 0) way = 1003;
  }
  box.maps.pairBuckets()[1].elsewhere += 3;
  PairTable repaired(box.maps);
  CHECK(repaired.size() == 1000);
  CHECK(countRead(repaired) == 1000);
  CHECK(rows[1001].expires_at_ns == 0);
  for (std::uint32_t i = 0; i < 1000; i++) CHECK(box.drops(udpFrame(kForeign + i, kProtected + i % 7)));
  CHECK_THROWS_AS(repaired.put(std::vector{numbered(1000)}, std::vector{inAnHour()}), FilterError);
  repaired.remove(keys);
  CHECK(repaired.size() == 0);
  CHECK(elsewhereIn(box.maps.pairBuckets()) == 0);
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected)));
}

TEST_CASE("pair table: sweeps what lapsed and nothing else") {
  if (cannotRunXdp("pair table: sweeps what lapsed")) return;
  FilterBox box;
  box.pairs.put(std::vector{numbered(1), numbered(2)}, std::vector{bootNs() - 1, inAnHour()});
  CHECK(countRead(box.pairs) == 1);
  CHECK(box.pairs.size() == 2);
  box.pairs.sweep(bootNs());
  CHECK(box.pairs.size() == 1);
  CHECK(box.maps.head().pairs == 1);
}

TEST_CASE("pair table: a pair given twice in one call is one pair") {
  if (cannotRunXdp("pair table: a pair given twice in one call")) return;
  FilterBox box;
  box.pairs.put(std::vector{numbered(1), numbered(1)}, std::vector{bootNs() - 1, inAnHour()});
  CHECK(box.pairs.size() == 1);
  CHECK(box.drops(udpFrame(kForeign + 1, kProtected + 1)));
}

TEST_CASE("rule table: takes rules up with their hits, and sweeps what lapsed") {
  if (cannotRunXdp("rule table: takes rules up with their hits")) return;
  FilterBox box;
  std::vector<WantedRule> wanted{ruleTo(ipv4(kProtected + 1), "one"), ruleTo(ipv4(kProtected + 2), "two")};
  box.rules.set(wanted);
  CHECK(box.drops(udpFrame(kForeign, kProtected + 1), 5));
  RuleTable adopted(box.maps);
  REQUIRE(adopted.read(bootNs()).size() == 2);
  for (const RuleHits& hits : adopted.read(bootNs())) CHECK(hits.dropped.packets == (hits.id == "one" ? 5 : 0));
  wanted[1].rule.expires_at_ns = bootNs() - 1;
  adopted.set(wanted);
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected + 2)));
  adopted.sweep(bootNs());
  CHECK(box.maps.head().entries[FILTER_RULES] == 1);
  CHECK(box.drops(udpFrame(kForeign, kProtected + 1)));
}

TEST_CASE("rule table: rules come and go a thousand times without a slot lost") {
  if (cannotRunXdp("rule table: rules come and go")) return;
  FilterBox box;
  for (std::uint32_t round = 0; round < 1000; round++) {
    std::vector<WantedRule> wanted;
    for (std::uint32_t i = 0; i < 64; i++) {
      wanted.push_back(ruleTo(ipv4(kProtected + i), std::to_string(round % 3) + "-" + std::to_string(i)));
    }
    box.rules.set(wanted);
  }
  CHECK(box.rules.count(bootNs()) == 64);
  for (std::uint32_t i = 0; i < 64; i++) CHECK(box.drops(udpFrame(kForeign, kProtected + i)));
}
