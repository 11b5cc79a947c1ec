// What the detection sees of exporters that misbehave, beside what their hosts really got: `misbehaving_rates CASES`,
// with the seed in TEST_SEED. Prints a line of JSON for each case. Of two hosts one gets traffic below the threshold
// all the time, the other one is flooded for a while in two of three cases. A tick has for both hosts packets, megabits
// and new flows a second, and what one sample of packets and of bytes stands for; truth first, then what was decoded.
#include <cstdio>
#include <cstdlib>

#include "../engine_fixture.h"
#include "../misbehaving_process.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kThresholdPps = 100'000, kTickMs = 100, kTicksAfter = 100;
constexpr std::uint64_t kBeganMs = 1'700'000'000'000;
constexpr std::uint32_t kTicksOfReport = kEveryMs / kTickMs;

/// An engine with a worker that releases what is due.
class Counted : public EngineFixture {
 public:
  Counted() : EngineFixture({.maxHosts = 64}) {}
  void countRecords(std::span<const FlowRecord> records) {
    shard->leaveIdle();
    shard->countRecords(records);
    shard->enterIdle();
  }
  void run() {
    shard->leaveIdle();
    shard->releaseDue(nowNs / kMs);
    shard->enterIdle();
    tick();
  }
};

struct Case {
  Ways ways;
  /// Of the threshold.
  double quiet, flood;
  std::uint32_t floodFrom, floodTo;

  [[nodiscard]] double load(std::uint32_t host, std::uint32_t report) const {
    return host == 2 && report >= floodFrom && report < floodTo ? flood : quiet;
  }
};

Case drawCase(Random& random) {
  const auto share = [&random] { return static_cast<double>(random.below(1000)) / 1000; };
  Case made{.ways = drawWays(random), .quiet = 0.7 * share(), .flood = 3 + 20 * share(), .floodFrom = 0, .floodTo = 0};
  made.floodFrom = 3 + static_cast<std::uint32_t>(random.below(6));
  made.floodTo = random.below(3) == 0 ? made.floodFrom : made.floodFrom + 4;
  return made;
}

FlowRecord truthOf(std::uint32_t host, std::uint64_t packets) {
  FlowRecord record;
  record.packet.source = ipv4(kForeign);
  record.packet.destination = ipv4(kProtected + host);
  record.packet.protocol = 17;
  record.packet.transport = Class::udp;
  record.packet.sourcePort = static_cast<std::uint16_t>(1000 + host);
  record.packet.destinationPort = 53;
  record.packet.wire = kPacketBytes + 14;
  record.packets = packets;
  record.bytes = packets * (kPacketBytes + 14);
  record.samplingRate = 1;
  return record;
}

void print(const Counted& counted) {
  for (std::uint32_t host = 1; host <= 2; host++) {
    const auto row = counted.host(ipv4(kProtected + host));
    const auto rate = [&](Metric metric) { return row ? row->incoming(metric) : 0; };
    std::printf("%s[%.1f,%.4f,%.1f,%.1f,%.1f]", host == 1 ? "[" : ",", rate(Metric::pps), rate(Metric::mbps),
                rate(Metric::flowsPerSec), row ? row->weights[0] : 0, row ? row->weights[1] : 0);
  }
  std::printf("]");
}

/// The exporter reports each two seconds at their end.
void runCase(const Case& one) {
  const auto& [rate, counters, times, session, noise] = one.ways;
  std::printf("{\"ways\":[%d,%d,%d,%d,%d],\"quiet\":%.3f,\"ticks\":[", static_cast<int>(rate),
              static_cast<int>(counters), static_cast<int>(times), static_cast<int>(session), static_cast<int>(noise),
              one.quiet);
  Counted truth, decoded;
  Judged judged;
  const bool areTwo = session == SessionWay::two;
  Process first(one.ways, 5000, false), second(one.ways, 6000, true);
  first.start(judged, kBeganMs, 3'000'000'000U);
  if (areTwo) second.start(judged, kBeganMs + 1, 3'000'000'000U);
  const double sampled = rate == RateWay::none ? 1 : kRate;
  const auto countIn = [&](std::uint32_t host, std::uint32_t report) {
    return static_cast<std::uint32_t>(one.load(host, report) * kThresholdPps * (kEveryMs / 1000.0) / sampled);
  };
  for (std::uint32_t tick = 0; tick < kReports * kTicksOfReport + kTicksAfter; tick++) {
    const std::uint32_t report = tick / kTicksOfReport + 1;
    if (tick % kTicksOfReport == 0 && report > 1 && report <= kReports + 1) {
      const std::uint32_t reported = report - 1;
      const std::uint64_t nowMs = kBeganMs + std::uint64_t{reported} * kEveryMs;
      const std::pair ofFirst{1U, countIn(1, reported)}, ofSecond{2U, countIn(2, reported)};
      if (reported == kReports / 2 && session == SessionWay::portChanges) first.changePort();
      if (reported == kReports / 2 && session == SessionWay::restarts) first.start(judged, nowMs - kEveryMs, 1000);
      first.report(judged, nowMs, areTwo ? std::vector{ofFirst} : std::vector{ofFirst, ofSecond});
      if (areTwo) second.report(judged, nowMs, {ofSecond});
      decoded.countRecords(judged.records);
      judged.records.clear();
    }
    if (report <= kReports) {
      std::vector<FlowRecord> records;
      for (std::uint32_t host = 1; host <= 2; host++) {
        const double packets = static_cast<double>(countIn(host, report)) * sampled / kTicksOfReport;
        records.push_back(truthOf(host, static_cast<std::uint64_t>(packets)));
      }
      truth.countRecords(records);
    }
    truth.run();
    decoded.run();
    std::printf("%s[", tick == 0 ? "" : ",");
    print(truth);
    std::printf(",");
    print(decoded);
    std::printf("]");
  }
  std::printf("]}\n");
}

}  // namespace

int main(int count, char** arguments) {
  const unsigned long cases = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1;
  Random random;
  for (unsigned long i = 0; i < cases; i++) runCase(drawCase(random));
  return 0;
}
