// Which records of an exporter count, and what is counted of the others.
#include "collector/exporter.h"

#include <doctest/doctest.h>

#include <array>
#include <random>

#include "flow/sequence_tracker.h"
#include "flow_records.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

class ExporterFixture {
 public:
  explicit ExporterFixture(ExporterRule rule) : rules_(rulesOf({std::move(rule)}, presence_)) {
    exporter.setRule(*rules_, 0);
  }

  /// The records that count.
  std::vector<FlowRecord> judge(std::vector<FlowRecord> records) {
    const auto counted = exporter.judge(records);
    return {counted.begin(), counted.end()};
  }
  /// A datagram that says nothing.
  void feed(std::uint64_t nowMs) {
    struct Nowhere final : RecordSink {
      void take(std::span<FlowRecord>) override {}
    } nowhere;
    exporter.decode({}, nowMs, nowMs, nowhere);
  }
  [[nodiscard]] ExporterStatus status() {
    ExporterStatus status;
    exporter.statusInto(status);
    return status;
  }
  [[nodiscard]] std::uint64_t leftOut(LeftOut reason) { return status().leftOut.at(static_cast<std::size_t>(reason)); }

  Exporter exporter{exporterAddress(1), 77};

 private:
  SitePresence presence_;
  std::shared_ptr<const ExporterRules> rules_;
};

ExporterRule withDirection(ExporterRule::Direction direction) {
  ExporterRule rule = ruleFor(1);
  rule.direction = direction;
  return rule;
}

}  // namespace

TEST_CASE("records of the direction that a rule leaves out do not count, those without one do") {
  using Direction = ExporterRule::Direction;
  const std::vector<FlowRecord> records = {recordOf({.direction = FlowDirection::ingress}),
                                           recordOf({.direction = FlowDirection::egress}),
                                           recordOf({.direction = FlowDirection::unknown})};
  const auto counted = [&](Direction direction) {
    ExporterFixture fixture(withDirection(direction));
    std::vector<FlowDirection> directions;
    for (const FlowRecord& record : fixture.judge(records)) directions.push_back(record.direction);
    CHECK(fixture.leftOut(LeftOut::direction) == records.size() - directions.size());
    return directions;
  };
  CHECK(counted(Direction::ingress) == std::vector{FlowDirection::ingress, FlowDirection::unknown});
  CHECK(counted(Direction::egress) == std::vector{FlowDirection::egress, FlowDirection::unknown});
  CHECK(counted(Direction::both).size() == 3);
}

TEST_CASE("with roles a record counts where it entered or left by an external interface") {
  ExporterRule rule = ruleFor(1);
  rule.external = interfaces({"1-2"});
  ExporterFixture fixture(rule);
  const auto counted = fixture.judge({recordOf({.input = 1, .output = 9}), recordOf({.input = 9, .output = 8}),
                                      recordOf({.input = 9, .output = 2}), recordOf({.input = 1, .output = 2}),
                                      recordOf({.input = 0, .output = 9}), recordOf({.input = 1, .output = 0})});
  REQUIRE(counted.size() == 4);
  const auto sides = [&](std::size_t i) { return std::pair{counted[i].countsIncoming, counted[i].countsOutgoing}; };
  CHECK(sides(0) == std::pair{true, false});
  CHECK(sides(1) == std::pair{false, true});
  // It came from outside: the source that it names may be anyone's.
  CHECK(sides(2) == std::pair{true, false});
  // A packet that the router dropped has no interface out.
  CHECK(sides(3) == std::pair{true, false});
  CHECK(fixture.leftOut(LeftOut::interface) == 1);
  CHECK(fixture.leftOut(LeftOut::unknownInterface) == 1);
  CHECK(fixture.status().counted == 4);
}

TEST_CASE("without roles a record counts for both sides") {
  ExporterFixture fixture(ruleFor(1));
  const auto counted = fixture.judge({recordOf({.input = 0, .output = 0})});
  REQUIRE(counted.size() == 1);
  CHECK(counted[0].countsIncoming);
  CHECK(counted[0].countsOutgoing);
  CHECK(counted[0].exporter == 78);
}

TEST_CASE("of a site the next counts while the first reports no traffic, whatever else it sends") {
  SitePresence presence;
  std::vector<ExporterRule> list = {ruleFor(1), ruleFor(2)};
  for (ExporterRule& rule : list) rule.site = "core1";
  const auto rules = rulesOf(list, presence);
  Exporter first{exporterAddress(1), 1}, second{exporterAddress(2), 2};
  first.setRule(*rules, 0);
  second.setRule(*rules, 1);
  struct Nowhere final : RecordSink {
    void take(std::span<FlowRecord>) override {}
  } nowhere;
  const std::uint64_t silentMs = list[0].silentAfterMs;
  const auto counts = [&](std::uint64_t nowMs) {
    std::vector<FlowRecord> records = {recordOf({})};
    second.decode({}, nowMs, nowMs, nowhere);
    return second.judge(records).size() == 1;
  };
  first.decode({}, 1000, 1000, nowhere);
  std::vector<FlowRecord> records = {recordOf({})};
  static_cast<void>(first.judge(records));
  CHECK_FALSE(counts(1000 + silentMs / 2));
  first.decode({}, 1000 + silentMs, 0, nowhere);
  CHECK(counts(1200 + silentMs));
  static_cast<void>(first.judge(records));
  CHECK_FALSE(counts(1400 + silentMs));
}

TEST_CASE("an exporter that falls silent is settled once, a moment later") {
  ExporterFixture fixture(ruleFor(1));
  fixture.feed(5000);
  static_cast<void>(fixture.status());
  fixture.exporter.settle(5000 + SequenceTracker::kReorderMs, 0);
  CHECK(!fixture.exporter.isChanged());
  fixture.exporter.settle(5001 + SequenceTracker::kReorderMs, 0);
  CHECK(fixture.exporter.isChanged());
  static_cast<void>(fixture.status());
  fixture.exporter.settle(9000, 0);
  CHECK(!fixture.exporter.isChanged());
}

TEST_CASE("the rate of the rule holds, and one that is not known is taken as 1 and named") {
  ExporterFixture asSaid(ruleFor(1));
  asSaid.feed(1000);
  CHECK(asSaid.judge({recordOf({.samplingRate = 512})})[0].samplingRate == 512);
  CHECK(asSaid.status().error().empty());
  CHECK(asSaid.judge({recordOf({.samplingRate = 0})})[0].samplingRate == 1);
  asSaid.feed(1100);
  CHECK(asSaid.status().error().starts_with("sampling rate of exporter 198.51.100.1 is not known"));
  asSaid.feed(61'000);
  CHECK(asSaid.status().error().empty());
  ExporterRule rule = ruleFor(1);
  rule.samplingRate = 1000;
  ExporterFixture configured(rule);
  CHECK(configured.judge({recordOf({.samplingRate = 512})})[0].samplingRate == 1000);
  CHECK(configured.judge({recordOf({.samplingRate = 0})})[0].samplingRate == 1000);
}

namespace {

/// Sampled packets of 1000 bytes in so much time.
FlowRecord sampledRecord(std::uint64_t packets, std::uint32_t rate, std::uint32_t durationMs) {
  FlowRecord record = recordOf({.samplingRate = rate});
  record.packets = packets;
  record.bytes = packets * 1000;
  record.durationMs = durationMs;
  return record;
}

}  // namespace

TEST_CASE("a record of more bytes than the rule's fastest interface carries in its time does not count") {
  ExporterRule rule = ruleFor(1);
  ExporterFixture any(rule);
  rule.fastestMbps = 10'000;
  ExporterFixture slow(rule);
  // 100 Gbit/s over ten seconds, sampled and not.
  for (const FlowRecord& record : {sampledRecord(125'000, 1000, 10'000), sampledRecord(125'000'000, 1, 10'000)}) {
    CHECK(any.judge({record}).size() == 1);
    CHECK(slow.judge({record}).empty());
  }
  CHECK(slow.status().leftOut[static_cast<std::size_t>(LeftOut::impossibleSpeed)] == 2);
}

TEST_CASE("what a saturated interface carries counts, whatever sampling makes of it") {
  SHOW_SEED();
  Random random;
  std::mt19937_64 draws(random.bits());
  ExporterRule rule = ruleFor(1);
  rule.fastestMbps = 1000;
  ExporterFixture fixture(rule);
  for (int i = 0; i < 20'000; i++) {
    // Of a second at least: of a shorter record more bytes count.
    const auto durationMs = static_cast<std::uint32_t>(1000 + random.below(60'000));
    const auto rate = static_cast<std::uint32_t>(1 + random.below(std::uint64_t{1} << (1 + random.below(20))));
    const double expected = 125.0 * durationMs / rate;
    const std::uint64_t drawn = std::poisson_distribution<std::uint64_t>(expected)(draws);
    if (drawn != 0) CHECK(fixture.judge({sampledRecord(drawn, rate, durationMs)}).size() == 1);
  }
  // One sample may stand for more than a second of the interface.
  CHECK(fixture.judge({sampledRecord(1, 1'000'000, 0)}).size() == 1);
}

TEST_CASE("a record that comes long after its packets does not count, of an exporter whose others do not") {
  ExporterFixture fixture(ruleFor(1));
  for (std::uint64_t i = 0; i <= RecordAge::kMore; i++) {
    CHECK(fixture.judge({recordOf({.ageMs = kLateRecordMs})}).size() == 1);
  }
  CHECK(fixture.judge({recordOf({.ageMs = kLateRecordMs + 1})}).empty());
  CHECK(fixture.leftOut(LeftOut::late) == 1);
}

TEST_CASE("interfaces count all that came in and went out, times the sampling rate") {
  ExporterRule rule = ruleFor(1);
  rule.external = interfaces({"1"});
  ExporterFixture fixture(rule);
  fixture.judge({recordOf({.input = 1, .output = 2, .samplingRate = 100}), recordOf({.input = 2, .output = 1}),
                 recordOf({.input = 3, .output = 2})});
  const auto uses = fixture.status().interfaces;
  REQUIRE(uses.size() == 3);
  CHECK(uses[0].index == 1);
  CHECK(uses[0].role == InterfaceRole::external);
  CHECK(uses[0].recordsIn == 1);
  CHECK(uses[0].packetsIn == 1000);
  CHECK(uses[0].bytesIn == 100'000);
  CHECK(uses[0].packetsOut == 10);
  CHECK(uses[1].recordsOut == 2);
  CHECK(uses[1].packetsOut == 1010);
  CHECK(uses[2].role == InterfaceRole::internal);
}

TEST_CASE("interfaces beyond the bound share one entry, and have their roles all the same") {
  ExporterRule rule = ruleFor(1);
  rule.external = interfaces({"1", "5000"});
  ExporterFixture fixture(rule);
  for (std::uint32_t index = 1; index <= kExporterInterfacesMax; index++) {
    fixture.judge({recordOf({.input = index, .output = index})});
  }
  CHECK(fixture.status().interfaces.size() == kExporterInterfacesMax);
  const auto counted =
      fixture.judge({recordOf({.input = 5000, .output = 5001}), recordOf({.input = 1, .output = 5001}),
                     recordOf({.input = 5001, .output = 5000}), recordOf({.input = 5001, .output = 5002})});
  REQUIRE(counted.size() == 3);
  CHECK(counted[0].countsIncoming);
  CHECK_FALSE(counted[0].countsOutgoing);
  CHECK(counted[1].countsIncoming);
  CHECK(counted[2].countsOutgoing);
  CHECK(fixture.status().interfaces.size() == kExporterInterfacesMax);
}

TEST_CASE("a new rule gives interfaces that are known another role") {
  ExporterRule rule = ruleFor(1);
  rule.external = interfaces({"1"});
  ExporterFixture fixture(rule);
  fixture.judge({recordOf({})});
  SitePresence presence;
  rule.external = interfaces({"2"});
  const auto rules = rulesOf({rule}, presence);
  fixture.exporter.setRule(*rules, 0);
  const auto counted = fixture.judge({recordOf({})});
  REQUIRE(counted.size() == 1);
  CHECK_FALSE(counted[0].countsIncoming);
  CHECK(counted[0].countsOutgoing);
}
