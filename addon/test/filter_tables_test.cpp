#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <vector>

#include "filter/bucket_table.h"
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

std::uint32_t bitsIn(std::span<const filter_bits> lines) {
  std::uint32_t sum = 0;
  for (const filter_bits& line : lines) {
    for (const __u64 word : line.words) sum += static_cast<std::uint32_t>(std::popcount(word));
  }
  return sum;
}

std::uint32_t unusedRow(std::span<const filter_pair> rows, std::size_t at) {
  auto from = static_cast<std::uint32_t>(at);
  while (rows[from].expires != 0) from++;
  return from;
}

PairKey numbered(std::uint32_t number) { return pairOf(ipv4(kForeign + number), ipv4(kProtected + number % 7)); }

std::uint32_t countRead(const PairTable& pairs) {
  std::uint32_t count = 0;
  std::int64_t cursor = 0;
  // In small pieces, so that the cursor is used.
  while (cursor >= 0) {
    cursor = pairs.read(static_cast<std::uint32_t>(cursor), 10, bootNs(),
                        [&](const PairKey&, std::uint64_t, const filter_count&) { count++; });
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

TEST_CASE("pair table: adopts what another process left, and corrects what a crash left half done") {
  if (cannotRunXdp("pair table: adopts what another process left")) return;
  FilterBox box;
  std::vector<PairKey> keys;
  for (std::uint32_t i = 0; i < 1000; i++) keys.push_back(numbered(i));
  box.pairs.put(keys, std::vector<std::uint64_t>(keys.size(), inAnHour()));
  CHECK(PairTable(box.maps).size() == 1000);
  // A row where the kernel does not look for its pair, and a second row of a pair.
  const auto rows = box.maps.pairs();
  const std::uint64_t hash = filter_pair_hash(&keys[0].source, &keys[0].victim, box.maps.head().seed);
  const std::uint32_t home = filter_home_of(hash, box.maps.head().pair_groups) * FILTER_GROUP_PAIRS;
  const std::uint32_t stray = unusedRow(rows, home > rows.size() / 2 ? 0 : home + rows.size() / 2);
  const std::uint32_t second = unusedRow(rows, home);
  for (const std::uint32_t row : {stray, second}) {
    box.maps.pairRows()[row] = {.key = keys[0], .expires_at_ns = inAnHour(), .hits = {}};
    rows[row].expires = filter_coarse_expiry(inAnHour(), true);
  }
  const std::uint32_t bits = bitsIn(box.maps.pairBits());
  for (filter_bits& line : box.maps.pairBits()) line.words[0] = ~__u64{0};
  PairTable repaired(box.maps);
  CHECK(repaired.size() == 1000);
  CHECK(countRead(repaired) == 1000);
  CHECK(rows[stray].expires == 0);
  CHECK(rows[second].expires == 0);
  CHECK(bitsIn(box.maps.pairBits()) == bits);
  for (std::uint32_t i = 0; i < 1000; i++) CHECK(box.drops(udpFrame(kForeign + i, kProtected + i % 7)));
  CHECK_THROWS_AS(repaired.put(std::vector{numbered(1000)}, std::vector{inAnHour()}), FilterError);
  repaired.remove(keys);
  CHECK(repaired.size() == 0);
  CHECK(bitsIn(box.maps.pairBits()) == 0);
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected)));
}

TEST_CASE("pair table: sweeps what expired and nothing else") {
  if (cannotRunXdp("pair table: sweeps what expired")) return;
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

TEST_CASE(
    "pair table: pairs come and go ten times as many as there is room for, and each is dropped while it is there") {
  if (cannotRunXdp("pair table: pairs come and go")) return;
  FilterBox box;
  std::vector<PairKey> keys;
  for (std::uint32_t i = 0; i < 1000; i++) keys.push_back(numbered(i));
  box.pairs.put(keys, std::vector<std::uint64_t>(keys.size(), inAnHour()));
  for (std::uint32_t i = 1000; i < 10'000; i++) {
    const std::uint32_t old = i - 1000;
    box.pairs.remove(std::vector{numbered(old)});
    box.pairs.put(std::vector{numbered(i)}, std::vector{inAnHour()});
    REQUIRE_FALSE(box.drops(udpFrame(kForeign + old, kProtected + old % 7)));
    REQUIRE(box.drops(udpFrame(kForeign + i, kProtected + i % 7)));
  }
  for (std::uint32_t i = 9000; i < 10'000; i++) CHECK(box.drops(udpFrame(kForeign + i, kProtected + i % 7)));
  CHECK(PairTable(box.maps).size() == 1000);
}

TEST_CASE("pair table: an IPv6 pair is not an IPv4 one whose addresses are its last words, nor the other way round") {
  if (cannotRunXdp("pair table: an IPv6 pair is not an IPv4 one")) return;
  FilterBox box;
  PairKey alike = numbered(1);
  for (ip_address* address : {&alike.source, &alike.victim}) address->bytes[0] = 0x20;
  // As if both had one hash: the rows of one are at the other's home.
  const auto rows = box.maps.pairs();
  box.pairs.put(std::vector{alike}, std::vector{inAnHour()});
  for (filter_bits& line : box.maps.pairBits()) std::fill(std::begin(line.words), std::end(line.words), ~__u64{0});
  const std::uint32_t at = static_cast<std::uint32_t>(
      std::find_if(rows.begin(), rows.end(), [](const filter_pair& row) { return row.expires != 0; }) - rows.begin());
  for (std::uint32_t row = 0; row < rows.size(); row++) {
    rows[row] = rows[at];
    box.maps.pairRows()[row].key = alike;
  }
  CHECK_FALSE(box.drops(udpFrame(kForeign + 1, kProtected + 1)));
  for (filter_pair& row : rows) row.expires &= ~FILTER_PAIR_IPV6;
  CHECK(box.drops(udpFrame(kForeign + 1, kProtected + 1)));
}

TEST_CASE("rule table: adopts rules with their hits, and sweeps what expired") {
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

TEST_CASE("rule table: a rule of several protocols matches these, and is another one where they change") {
  if (cannotRunXdp("rule table: several protocols")) return;
  FilterBox box;
  WantedRule rule = ruleTo(ipv4(kProtected + 1), "one");
  rule.rule.asks |= FILTER_ASKS_PROTOCOLS;
  rule.rule.protocols[0] = 1U << 6;
  rule.rule.protocols[FILTER_PROTOCOL_WORDS - 1] = 1U << 31;
  box.rules.set({{rule}});
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected + 1)));
  rule.rule.protocols[0] |= 1U << 17;
  box.rules.set({{rule}});
  CHECK(box.drops(udpFrame(kForeign, kProtected + 1), 5));
  rule.rule.protocols[1] = 1;
  box.rules.set({{rule}});
  CHECK(box.rules.read(bootNs()).at(0).dropped.packets == 0);
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
