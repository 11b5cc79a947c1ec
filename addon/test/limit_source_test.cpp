#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "filter_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// A packet costs what a source may be ahead: it may send two at once, and one a second.
constexpr std::uint32_t kOneASecond = ALLOWANCE_BURST;

struct LimitBox : FilterBox {
  explicit LimitBox(std::uint32_t sourcesMax = 1000)
      : FilterBox({.pairsMax = 10, .rulesMax = 64, .prefixesMax = 64, .sourcesMax = sourcesMax}) {
    for (const Address& victim : {ipv4(kProtected + 1), ipv6(1, 1)}) {
      const bool isIpv4 = wanted.empty();
      wanted.push_back(ruleTo(victim, "limit " + std::to_string(wanted.size())));
      wanted.back().rule.action = FILTER_LIMIT_SOURCE;
      wanted.back().rule.packet_cost = kOneASecond;
      wanted.back().rule.limit_length = isIpv4 ? 128 : 64;
    }
    rules.set(wanted);
  }

  /// How many of `packets` pass.
  [[nodiscard]] int passing(const Bytes& frame, int packets) const {
    int passed = 0;
    for (int i = 0; i < packets; i++) passed += drops(frame) ? 0 : 1;
    return passed;
  }
  [[nodiscard]] int passing(std::uint32_t source, int packets) const {
    return passing(udpFrame(source, kProtected + 1), packets);
  }
  /// As if so much time had passed.
  void wait(double seconds) const {
    const auto units = static_cast<std::uint64_t>(seconds * ALLOWANCE_BURST);
    for (allowance_set& set : maps.allowances()) {
      for (__u64& entry : set.sources) {
        if (entry != 0) entry = allowance_entry(entry, (entry & ALLOWANCE_TIME_MASK) - units);
      }
    }
  }

  std::vector<WantedRule> wanted;
};

Bytes udp6(const Address& source) { return ethernet(0x86dd) + ipv6Packet({.source = source}, udp(1, 2)); }

}  // namespace

TEST_CASE("limit of sources: each has its own, which comes back with time, up to a second's worth") {
  if (cannotRunXdp("limit of sources")) return;
  const LimitBox box;
  CHECK(box.passing(kForeign + 1, 10) == 2);
  CHECK(box.passing(kForeign + 2, 10) == 2);
  box.wait(1.1);
  CHECK(box.passing(kForeign + 1, 10) == 1);
  box.wait(1000);
  CHECK(box.passing(kForeign + 1, 10) == 2);
  CHECK(box.verdict(FILTER_DROP_SOURCE_LIMIT).packets == 33);
  CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 7);
  for (const RuleHits& hits : box.rules.read(bootNs())) {
    if (hits.all.packets != 0) CHECK(hits.dropped.packets == 33);
  }
}

TEST_CASE("limit of destinations: each has its own, of all sources together, and what is dropped costs nothing") {
  if (cannotRunXdp("limit of destinations")) return;
  LimitBox box;
  std::vector<WantedRule> wanted;
  for (const auto& [address, length] :
       {std::pair{ipv4(kProtected), std::uint8_t{120}}, std::pair{ipv6(1, 0), std::uint8_t{64}}}) {
    wanted.push_back(ruleTo(address, "limit " + std::to_string(length)));
    filter_rule& rule = wanted.back().rule;
    rule.action = FILTER_LIMIT_DESTINATION;
    rule.packet_cost = kOneASecond;
    rule.limit_length = 128;
    rule.destination_length = length;
    wanted.back().destinationLength = length;
  }
  box.rules.set(wanted);
  const auto passingTo = [&](std::uint32_t victim) {
    int passed = 0;
    for (std::uint32_t i = 0; i < 100; i++) passed += box.passing(udpFrame(kForeign + i, kProtected + victim), 1);
    return passed;
  };
  CHECK(passingTo(1) == 2);
  CHECK(passingTo(2) == 2);
  box.wait(1.1);
  CHECK(passingTo(1) == 1);
  const auto to6 = [](std::uint64_t host) {
    return ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, host)}, udp(1, 2));
  };
  CHECK(box.passing(to6(1), 10) == 2);
  CHECK(box.passing(to6(2), 10) == 2);
  CHECK(box.verdict(FILTER_DROP_RATE_LIMIT).packets == 98 + 98 + 99 + 16);
}

TEST_CASE("limit of sources: who sends a little more than it may gets nearly that, and who sends far more nothing") {
  if (cannotRunXdp("limit of sources far beyond theirs")) return;
  const LimitBox box;
  const auto passing = [&](double perSecond, int packets) {
    int passed = 0;
    for (int i = 0; i < packets; i++) {
      box.wait(1 / perSecond);
      passed += box.passing(kForeign + 1, 1);
    }
    return passed;
  };
  // Of one a second: (1 - 1.25 / 20) / (1 - 1 / 20) of it, in 80 seconds.
  const int most = passing(1.25, 100);
  CHECK(most >= 77);
  CHECK(most <= 82);
  CHECK(passing(21, 400) <= 2);
  // At once, when it has slowed down.
  CHECK(passing(0.9, 10) == 10);
}

TEST_CASE("limit of sources: a source is as much of an address as the rule says") {
  if (cannotRunXdp("limit of prefixes")) return;
  LimitBox box;
  CHECK(box.passing(udp6(ipv6(9, 1)), 2) == 2);
  CHECK(box.passing(udp6(ipv6(9, 77)), 2) == 0);
  CHECK(box.passing(udp6(ipv6(10, 1)), 2) == 2);
  for (WantedRule& rule : box.wanted) rule.rule.limit_length = rule.rule.limit_length == 128 ? 120 : 48;
  box.rules.set(box.wanted);
  box.forget();
  CHECK(box.passing(kForeign + 1, 2) == 2);
  CHECK(box.passing(kForeign + 2, 2) == 0);
  CHECK(box.passing(kForeign + 256, 2) == 2);
  Address neighbor = ipv6(9, 1);
  CHECK(box.passing(udp6(neighbor), 2) == 2);
  neighbor.bytes[7] = 1;
  CHECK(box.passing(udp6(neighbor), 2) == 0);
}

TEST_CASE("limit of sources: bytes count to it, and each rule has its own") {
  if (cannotRunXdp("limit of bytes")) return;
  LimitBox box;
  const Bytes frame = udpFrame(kForeign + 1, kProtected + 1);
  for (WantedRule& rule : box.wanted) {
    rule.rule.packet_cost = 0;
    // A second for a frame: two at once, and the next so much later that the machine may stand still for a moment.
    rule.rule.byte_cost = (std::uint64_t{1'000'000'000} << 16) / frame.size();
  }
  box.wanted.push_back(box.wanted[0]);
  box.wanted.back().id = "packets";
  box.wanted.back().rule.byte_cost = 0;
  box.wanted.back().rule.packet_cost = 100 * kOneASecond;
  box.rules.set(box.wanted);
  CHECK(box.passing(frame, 100) == 1);
  std::uint64_t dropped = 0;
  for (const RuleHits& hits : box.rules.read(bootNs())) {
    if (hits.id == "packets") dropped = hits.dropped.packets;
  }
  // The first rule lets two pass, of which the other drops one.
  CHECK(dropped == 1);
}

TEST_CASE("limit of sources: a flood of ever new sources passes, and takes no one's bucket") {
  if (cannotRunXdp("limit of new sources")) return;
  LimitBox box(16);
  REQUIRE(box.passing(kForeign + 1, 10) == 2);
  box.wanted[0].rule.packet_cost = 1;
  box.rules.set(box.wanted);
  box.wanted[0].rule.packet_cost = kOneASecond;
  box.rules.set(box.wanted);
  // Of the rule's new slot.
  REQUIRE(box.passing(kForeign + 1, 10) == 2);
  int passed = 0;
  for (std::uint32_t i = 0; i < 10'000; i++) passed += box.passing(0x20000000 + i, 1);
  CHECK(passed == 10'000);
}

TEST_CASE("limit of sources: where all owe, the one that owes least is replaced") {
  if (cannotRunXdp("limit of a full set")) return;
  const LimitBox box(1);
  REQUIRE(box.maps.allowances().size() == 1);
  for (std::uint32_t i = 0; i < ALLOWANCE_WAYS; i++) REQUIRE(box.passing(kForeign + i, 3) == 2);
  // Newcomers take the place of one another once one place was given up.
  for (std::uint32_t i = 0; i < 20; i++) CHECK(box.passing(0x20000000 + i, 1) == 1);
  int known = 0;
  for (std::uint32_t i = 0; i < ALLOWANCE_WAYS; i++) known += box.drops(udpFrame(kForeign + i, kProtected + 1)) ? 1 : 0;
  CHECK(known == ALLOWANCE_WAYS - 1);
}

TEST_CASE("limit of sources: a bucket that time went round is full again") {
  constexpr __u64 kCost = 100;
  CHECK(allowance_debt(allowance_entry(0, 5), 5, kCost) == 0);
  CHECK(allowance_debt(allowance_entry(0, 15), 5, kCost) == 10);
  CHECK(allowance_debt(allowance_entry(~0ULL, 2), ALLOWANCE_TIME_MASK, kCost) == 3);
  CHECK(allowance_debt(allowance_entry(~0ULL, 5), 5 + ALLOWANCE_BURST, kCost) == 0);
  // As long before the clock comes round again as the most that a packet can cost by any rule.
  CHECK(allowance_debt(allowance_entry(0, 5 + ALLOWANCE_BURST + kCost), 5, kCost) == ALLOWANCE_BURST + kCost);
  CHECK(allowance_debt(allowance_entry(0, 6 + ALLOWANCE_BURST + kCost), 5, kCost) == 0);
}

TEST_CASE("rules: of those that only count, the first that would have decided is the last that counts") {
  if (cannotRunXdp("rules that only count")) return;
  FilterBox box;
  WantedRule pass = ruleTo(ipv4(kProtected + 1), "pass");
  pass.rule.asks |= FILTER_ASKS_PROTOCOL;
  pass.rule.protocol = 6;
  pass.rule.action = FILTER_PASS;
  pass.rule.is_dry_run = 1;
  std::vector<WantedRule> rules{pass};
  for (const char* id : {"first", "second"}) {
    rules.push_back(ruleTo(ipv4(kProtected + 1), id));
    rules.back().rule.action = FILTER_COUNT;
    rules.back().rule.is_dry_run = 1;
  }
  box.rules.set(rules);
  CHECK_FALSE(box.drops(ethernet(0x0800) + ipv4Packet({.protocol = 6}, tcp(1, 2, 2))));
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected + 1)));
  for (const RuleHits& hits : box.rules.read(bootNs())) {
    CHECK(hits.all.packets == (hits.id == "second" ? 0 : 1));
    CHECK(hits.dropped.packets == (hits.id == "first" ? 1 : 0));
  }
  CHECK(box.verdict(FILTER_PASS_DEFAULT).packets == 2);
}

TEST_CASE("rules: one that lets pass goes before those that drop, and one that only counts drops nothing") {
  if (cannotRunXdp("rules that pass and count")) return;
  FilterBox box;
  WantedRule pass = ruleTo(ipv4(kProtected + 1), "pass");
  pass.rule.asks |= FILTER_ASKS_PROTOCOL;
  pass.rule.protocol = 6;
  pass.rule.action = FILTER_PASS;
  WantedRule count = ruleTo(ipv4(kProtected + 1), "count");
  count.rule.action = FILTER_COUNT;
  count.rule.is_dry_run = 1;
  const WantedRule all = ruleTo(ipv4(kProtected + 1), "all");
  box.rules.set(std::vector{pass, count});
  CHECK_FALSE(box.drops(udpFrame(kForeign, kProtected + 1)));
  box.rules.set(std::vector{pass, count, all});
  CHECK(box.drops(udpFrame(kForeign, kProtected + 1)));
  CHECK_FALSE(box.drops(ethernet(0x0800) + ipv4Packet({.protocol = 6}, tcp(1, 2, 2))));
  CHECK(box.verdict(FILTER_PASS_RULE).packets == 1);
  for (const RuleHits& hits : box.rules.read(bootNs()))
    CHECK(hits.dropped.packets == (hits.id == "pass" ? 0 : hits.id == "all" ? 1 : 2));
}

TEST_CASE("questions: answers to questions pass, for a while") {
  if (cannotRunXdp("questions")) return;
  FilterBox box;
  WantedRule learn{.id = "learn"};
  learn.rule.expires_at_ns = inAnHour();
  learn.rule.asks = FILTER_ASKS_SOURCE;
  learn.rule.source = inKernel(ipv4(kProtected + 1));
  learn.rule.source_mask = {.halves = {~0ULL, ~0ULL}};
  learn.rule.is_source_ipv4 = 1;
  learn.rule.action = FILTER_LEARN_QUESTION;
  WantedRule require = ruleTo(ipv4(kProtected + 1), "require");
  require.rule.action = FILTER_REQUIRE_QUESTION;
  box.rules.set(std::vector{learn, require});
  const Bytes answer = udpFrame(kForeign + 1, kProtected + 1), question = udpFrame(kProtected + 1, kForeign + 1);
  CHECK(box.drops(answer));
  CHECK_FALSE(box.drops(question));
  CHECK_FALSE(box.drops(answer));
  CHECK(box.drops(udpFrame(kForeign + 2, kProtected + 1)));
  // A questioned host has proved nothing.
  for (const source_set& set : box.maps.sources()) {
    for (const __u64 entry : set.sources) CHECK((entry & SOURCE_STATE_MASK) != SOURCE_VALIDATED);
  }
  for (source_set& set : box.maps.sources()) {
    for (__u64& entry : set.sources) {
      if (entry != 0) entry -= 20ULL << SOURCE_TIME_AT;
    }
  }
  CHECK(box.drops(answer));
  CHECK(box.verdict(FILTER_DROP_UNASKED).packets == 3);
}
