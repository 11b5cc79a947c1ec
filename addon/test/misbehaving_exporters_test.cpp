// Exporters that misbehave in several ways at once, drawn at random, beside a true count: what is counted of each host
// is what it got, at the rate at which it got it.
#include <doctest/doctest.h>

#include <map>

#include "misbehaving_process.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

/// Packets as counted, of two hosts that get this number each two seconds.
void check(const Ways& ways, std::uint32_t each) {
  Judged judged;
  const bool areTwo = ways.session == SessionWay::two;
  Process first(ways, 5000, false), second(ways, 6000, true);
  constexpr std::uint64_t kBeganMs = 1'700'000'000'000;
  first.start(judged, kBeganMs, 3'000'000'000U);
  if (areTwo) second.start(judged, kBeganMs + 1, 3'000'000'000U);
  std::uint64_t truth = 0;
  for (std::uint32_t i = 1; i <= kReports; i++) {
    const std::uint64_t nowMs = kBeganMs + std::uint64_t{i} * kEveryMs;
    if (i == kReports / 2 && ways.session == SessionWay::portChanges) first.changePort();
    if (i == kReports / 2 && ways.session == SessionWay::restarts) first.start(judged, nowMs - kEveryMs, 1000);
    first.report(judged, nowMs,
                 areTwo ? std::vector{std::pair{1U, each}} : std::vector{std::pair{1U, each}, {2U, each}});
    if (areTwo) second.report(judged, nowMs, {{2, each}});
    truth += each;
  }
  const std::uint32_t rate = ways.rate == RateWay::none ? 1 : kRate;
  std::map<std::uint32_t, std::uint64_t> counted;
  std::size_t seen = 0;
  for (const FlowRecord& record : judged.records) {
    const std::uint32_t host = record.packet.destination.bytes[15];
    counted[host] += record.packets * record.samplingRate;
    CHECK(record.samplingRate == rate);
    // Over the time in which they came, once two records of a flow were seen.
    if (++seen > 4 && ways.times != TimeWay::none) CHECK(record.durationMs == kEveryMs);
  }
  CHECK(counted == std::map<std::uint32_t, std::uint64_t>{{1, truth * rate}, {2, truth * rate}});
  CHECK(judged.undecoded() == 0);
  CHECK(judged.leftOut(LeftOut::late) == 0);
  CHECK((judged.impossible() != 0) == (ways.noise == NoiseWay::negative));
}

}  // namespace

TEST_CASE("exporters that misbehave in several ways at once are counted as they were") {
  SHOW_SEED();
  Random random;
  for (int i = 0; i < 500; i++) {
    const Ways ways = drawWays(random);
    CAPTURE(static_cast<int>(ways.rate));
    CAPTURE(static_cast<int>(ways.counters));
    CAPTURE(static_cast<int>(ways.times));
    CAPTURE(static_cast<int>(ways.session));
    CAPTURE(static_cast<int>(ways.noise));
    check(ways, 100 + static_cast<std::uint32_t>(random.below(10'000)));
  }
}
