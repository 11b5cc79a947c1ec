// Which exporters have a place: by rules, within bounds, and which is replaced.
#include "collector/exporter_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "flow_records.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

ExporterRule wideRule() {
  ExporterRule rule;
  rule.address = ipv4(0x0a000000);
  rule.length = 104;
  return rule;
}
Address inWide(std::uint32_t host) { return ipv4(0x0a000000 + host); }

struct TableFixture {
  explicit TableFixture(std::vector<ExporterRule> rules) { set(std::move(rules)); }
  void set(std::vector<ExporterRule> rules) { table.setRules(rulesOf(std::move(rules), presence)); }
  /// Fills the table with exporters of the wide rule, one in each millisecond from `fromMs`.
  void fill(std::uint64_t fromMs) {
    for (std::uint32_t i = 0; i < kExportersMax; i++) REQUIRE(feed(inWide(i), fromMs + i) != nullptr);
  }
  Exporter* feed(const Address& address, std::uint64_t nowMs) {
    Exporter* exporter = table.find(address, nowMs);
    struct Nowhere final : RecordSink {
      void take(std::span<FlowRecord>) override {}
    } nowhere;
    if (exporter != nullptr) exporter->decode({}, nowMs, nowMs, nowhere);
    return exporter;
  }

  SitePresence presence;
  ExporterNumbers numbers;
  ExporterTable table{numbers};
};

}  // namespace

TEST_CASE("an exporter without a rule is refused, counted, and shown with the last ones") {
  TableFixture fixture({ruleFor(1)});
  CHECK(fixture.table.find(exporterAddress(1), 1) != nullptr);
  for (std::uint32_t i = 2; i < 22; i++) CHECK(fixture.table.find(exporterAddress(i), i) == nullptr);
  CHECK(fixture.table.find(exporterAddress(21), 30) == nullptr);
  CHECK(fixture.table.refused() == 21);
  fixture.table.publish(100, 100);
  const auto last = fixture.table.refusedAddresses();
  REQUIRE(last.size() == kRefusedShown);
  for (std::uint32_t i = 22 - kRefusedShown; i < 22; i++) {
    CAPTURE(i);
    CHECK(std::any_of(last.begin(), last.end(),
                      [&](const RefusedAddress& refused) { return refused.address == exporterAddress(i); }));
  }
}

TEST_CASE("without rules any exporter is accepted, up to a small bound") {
  TableFixture fixture({});
  for (std::uint32_t i = 0; i < kUnlistedExportersMax; i++) CHECK(fixture.table.find(inWide(i), 1) != nullptr);
  CHECK(fixture.table.find(inWide(kUnlistedExportersMax), 1) == nullptr);
  CHECK(fixture.table.withoutRoom() == 1);
  CHECK(fixture.table.refused() == 0);
  fixture.table.publish(100, 100);
  CHECK(fixture.table.statuses().size() == kUnlistedExportersMax);
  CHECK(fixture.table.statuses()[0].rule == ExporterRules::kNone);
}

TEST_CASE("new rules keep the exporters that they name, and forget the others") {
  TableFixture fixture({ruleFor(1), ruleFor(2), ruleFor(3)});
  std::array<Exporter*, 4> known{};
  for (std::uint32_t i = 1; i < 4; i++) known.at(i) = fixture.table.find(exporterAddress(i), i);
  fixture.set({ruleFor(3), ruleFor(1)});
  CHECK(fixture.table.find(exporterAddress(1), 9) == known[1]);
  CHECK(fixture.table.find(exporterAddress(3), 9) == known[3]);
  CHECK(known[1]->rule() == 1);
  CHECK(fixture.table.find(exporterAddress(2), 9) == nullptr);
  CHECK(fixture.table.statuses().size() == 2);
}

TEST_CASE("in a full table the exporter that was silent the longest is replaced, and never the last one") {
  TableFixture fixture({wideRule()});
  constexpr std::uint64_t kBegin = 1000;
  fixture.fill(kBegin);
  CHECK(fixture.table.find(inWide(kExportersMax), kBegin + kExportersMax) == nullptr);
  CHECK(fixture.table.withoutRoom() == 1);
  // The first sent again: the second has been silent the longest.
  constexpr std::uint64_t kLater = kBegin + 1 + ExporterTable::kForgottenMs;
  CHECK(fixture.feed(inWide(0), kLater - 200) != nullptr);
  CHECK(fixture.table.find(inWide(kExportersMax), kLater - 150) == nullptr);
  CHECK(fixture.feed(inWide(kExportersMax), kLater) != nullptr);
  CHECK(fixture.table.find(inWide(1), kLater) == nullptr);
  for (std::uint32_t i = 0; i < kExportersMax; i++) {
    if (i != 1) REQUIRE(fixture.table.find(inWide(i), kLater) != nullptr);
  }
}

TEST_CASE("an exporter whose rule is for it alone finds room at once, and keeps it") {
  TableFixture fixture({wideRule(), ruleFor(1), ruleFor(2)});
  fixture.fill(1000);
  constexpr std::uint64_t kNow = 1000 + kExportersMax;
  CHECK(fixture.feed(exporterAddress(1), kNow) != nullptr);
  CHECK(fixture.feed(exporterAddress(2), kNow) != nullptr);
  CHECK(fixture.table.find(inWide(0), kNow) == nullptr);
  // The two are the only ones that did not say anything since, and stay.
  constexpr std::uint64_t kLater = kNow + 2 * ExporterTable::kForgottenMs;
  for (std::uint32_t i = 2; i < kExportersMax; i++) fixture.feed(inWide(i), kLater);
  CHECK(fixture.table.find(inWide(0), kLater + 1000) == nullptr);
  CHECK(fixture.table.find(exporterAddress(1), kLater + 1000) != nullptr);
}

TEST_CASE("the threads of a source share one bound and one range of numbers") {
  SitePresence presence;
  ExporterNumbers numbers;
  ExporterTable one(numbers), two(numbers);
  one.setRules(rulesOf({}, presence));
  two.setRules(rulesOf({}, presence));
  std::vector<bool> seen(kExportersMax);
  for (std::uint32_t i = 0; i < kUnlistedExportersMax; i++) {
    const Exporter* exporter = (i % 2 == 0 ? one : two).find(inWide(i), 1);
    REQUIRE(exporter != nullptr);
    CHECK_FALSE(seen[exporter->number()]);
    seen[exporter->number()] = true;
  }
  CHECK(two.find(inWide(kUnlistedExportersMax), 1) == nullptr);
}
