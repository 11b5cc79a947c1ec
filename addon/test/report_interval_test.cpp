// Over which time the records of a flow that lasts are spread.
#include "collector/report_interval.h"

#include <doctest/doctest.h>

#include "flow_records.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

FlowRecord flowOf(std::uint16_t port, std::uint32_t durationMs, std::uint32_t ageMs = 0) {
  FlowRecord record;
  record.packet.source = ipv4(kForeign + 1);
  record.packet.destination = ipv4(kProtected + 1);
  record.packet.protocol = 17;
  record.key = FlowRecord::Key::whole;
  record.packet.sourcePort = port;
  record.durationMs = durationMs;
  record.ageMs = ageMs;
  return record;
}

/// The duration of a record that comes at `nowMs`.
std::uint32_t durationOf(ReportInterval& interval, FlowRecord record, std::uint64_t nowMs) {
  record.startMs = static_cast<std::int64_t>(nowMs) - record.ageMs - record.durationMs;
  return interval.durationOf(record, nowMs);
}

}  // namespace

TEST_CASE("report interval: records that begin again are taken as they are") {
  ReportInterval interval;
  for (std::uint64_t ms = 60'000; ms <= 600'000; ms += 60'000)
    CHECK(durationOf(interval, flowOf(1, 60'000), ms) == 60'000);
  // Of a second, in seconds.
  for (std::uint64_t ms = 601'000; ms <= 620'000; ms += 1000) CHECK(durationOf(interval, flowOf(1, 1000), ms) == 1000);
}

TEST_CASE("report interval: a flow that is said to have begun long ago had its packets since its last record") {
  ReportInterval interval;
  CHECK(durationOf(interval, flowOf(1, 2000), 10'000) == 2000);
  CHECK(durationOf(interval, flowOf(1, 3300, 40), 11'300) == 1260);
  CHECK(durationOf(interval, flowOf(1, 4600), 12'610) == 1350);
  // And so of flows that are not known, by the longest time.
  CHECK(durationOf(interval, flowOf(2, 50'000), 12'620) == 1350);
  CHECK(durationOf(interval, flowOf(3, 1200), 12'620) == 1200);
  CHECK(durationOf(interval, flowOf(3, 900), 12'620) == 900);
}

TEST_CASE("report interval: protocols without ports teach nothing, and have the interval that others showed") {
  ReportInterval interval;
  FlowRecord icmp = flowOf(0, 3'600'000);
  icmp.packet.protocol = 1;
  CHECK(durationOf(interval, icmp, 10'000'000) == 3'600'000);
  icmp.durationMs += 60'000;
  CHECK(durationOf(interval, icmp, 10'060'000) == 3'660'000);
  CHECK(durationOf(interval, flowOf(1, 60'000), 10'060'000) == 60'000);
  CHECK(durationOf(interval, flowOf(1, 120'000), 10'120'000) == 60'000);
  icmp.durationMs += 60'000;
  CHECK(durationOf(interval, icmp, 10'120'000) == 60'000);
  icmp.key = FlowRecord::Key::partial;
  CHECK(durationOf(interval, icmp, 10'120'000) == 3'720'000);
}

TEST_CASE("report interval: flows that begin together are not one, whatever else makes them differ") {
  ReportInterval interval;
  const auto pair = [&](FlowRecord first, FlowRecord second) {
    static_cast<void>(durationOf(interval, first, 10'000));
    second.durationMs = first.durationMs + 600;
    CHECK(durationOf(interval, second, 10'600) == second.durationMs);
    CHECK(durationOf(interval, flowOf(9, 60'000), 10'700) == 60'000);
  };
  FlowRecord other = flowOf(1, 1200);
  other.service = 0x10;
  pair(flowOf(1, 1200), other);
  // Of protocols without ports, and of exporters that do not report the type of service, nothing is learned.
  other.packet.protocol = 1;
  pair(other, other);
  other = flowOf(2, 1200);
  other.key = FlowRecord::Key::partial;
  pair(other, other);
}

TEST_CASE("report interval: a flow reported where it comes in and where it leaves is two") {
  ReportInterval interval;
  for (std::uint64_t ms = 60'000; ms <= 300'000; ms += 60'000) {
    FlowRecord record = flowOf(1, 60'000);
    CHECK(durationOf(interval, record, ms) == 60'000);
    record.input = 7;
    CHECK(durationOf(interval, record, ms + 600) == 60'000);
  }
}

TEST_CASE("report interval: many flows do not push out those that are watched, and what was learned is forgotten") {
  ReportInterval interval;
  static_cast<void>(durationOf(interval, flowOf(1, 10'000), 100'000));
  for (std::uint16_t port = 2; port < 2000; port++)
    static_cast<void>(durationOf(interval, flowOf(port, 10'000), 100'100));
  CHECK(durationOf(interval, flowOf(1, 20'000), 110'000) == 10'000);
  CHECK(durationOf(interval, flowOf(3000, 20'000), 110'000) == 10'000);
  CHECK(durationOf(interval, flowOf(3000, 20'000), 110'001 + ReportInterval::kKeptMs) == 20'000);
}
