// What a fold hands over, and the samples that are kept.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <set>

#include "count/samples.h"
#include "engine_fixture.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1);

std::vector<double> screensOff(std::size_t groups) {
  return std::vector<double>(groups * 2 * kMetrics, std::numeric_limits<double>::infinity());
}
std::vector<std::uint8_t> bytesOf(const std::vector<Address>& addresses) {
  std::vector<std::uint8_t> bytes;
  for (const Address& address : addresses) bytes.insert(bytes.end(), address.bytes.begin(), address.bytes.end());
  return bytes;
}

struct SampleRecord {
  std::uint32_t wire;
  std::uint32_t captured;
  double ageMs;
  std::uint8_t direction;
  std::uint32_t standsFor;
  std::uint8_t verdict;
  std::vector<std::uint8_t> data;
};
std::vector<SampleRecord> samples(const Engine& engine, const Address& address, std::size_t most = 10'000) {
  std::vector<std::uint8_t> bytes(most * sizeof(sample_record));
  const std::uint32_t count = engine.readSamples(address, bytes);
  std::vector<SampleRecord> records;
  for (std::size_t i = 0; i < count; i++) {
    sample_record at;
    std::memcpy(&at, &bytes[i * sizeof at], sizeof at);
    records.push_back({at.wire_bytes,
                       at.captured_bytes,
                       at.age_ms,
                       at.direction,
                       at.stands_for,
                       at.verdict,
                       {std::begin(at.frame), std::end(at.frame)}});
  }
  return records;
}
/// The UDP source port in an Ethernet and IPv4 frame, by which these tests number packets.
unsigned portOf(const SampleRecord& record) { return record.data[34] * 256U + record.data[35]; }

}  // namespace

TEST_CASE("a host is handed over at its group's screen, not below, and as long as it stays there") {
  EngineFixture fixture;
  std::vector<double> screens = screensOff(2);
  screens[0] = 100;
  fixture.engine.setScreens(screens);
  fixture.count(kFrame, 99);
  fixture.tick();
  CHECK(fixture.screened().empty());
  fixture.count(kFrame, 1);
  fixture.tick();
  CHECK(fixture.screened().size() == 1);
  // No packet comes any more: it is still above for eight ticks, then its first 99 packets leave.
  fixture.tick(8);
  CHECK(fixture.screened().size() == 1);
  fixture.tick();
  CHECK(fixture.screened().empty());
}

TEST_CASE("each of the 26 screens hands over, and of its own group only") {
  const Bytes syn = ethernet(0x0800) + ipv4Packet({.protocol = 6, .fragment = 0x2000}, tcp(1, 80, tcp_flag::kSyn));
  const Bytes udp4 = udpFrame(kForeign, kProtected + 1);
  const Bytes icmp = ethernet(0x0800) + ipv4Packet({.protocol = 1}, Bytes(8));
  const Bytes out = ethernet(0x0800) +
                    ipv4Packet({.source = kProtected + 1, .destination = kForeign, .protocol = 6, .fragment = 0x2000},
                               tcp(1, 80, tcp_flag::kSyn));
  const Bytes udpOut = udpFrame(kProtected + 1, kForeign);
  const Bytes icmpOut =
      ethernet(0x0800) + ipv4Packet({.source = kProtected + 1, .destination = kForeign, .protocol = 1}, Bytes(8));
  EngineFixture fixture({.countOutgoing = true});
  for (const Bytes& frame : {syn, udp4, icmp, out, udpOut, icmpOut}) fixture.count(frame, 10);
  fixture.tick();
  for (std::size_t metric = 0; metric < 2 * kMetrics; metric++) {
    CAPTURE(metric);
    std::vector<double> screens = screensOff(2);
    screens[metric] = 1e-4;
    fixture.engine.setScreens(screens);
    fixture.tick(0);
    fixture.engine.fold(fixture.nowNs);
    CHECK(fixture.screened().size() == 1);
    screens = screensOff(2);
    screens[2 * kMetrics + metric] = 1e-4;
    fixture.engine.setScreens(screens);
    fixture.engine.fold(fixture.nowNs);
    CHECK(fixture.screened().empty());
  }
}

TEST_CASE("over the bound, watched hosts come first and then those furthest beyond their screen") {
  constexpr std::uint32_t kOver = kScreenedMax + 100;
  EngineFixture fixture;
  std::vector<double> screens = screensOff(2);
  screens[0] = 1;
  fixture.engine.setScreens(screens);
  fixture.engine.setWatched(bytesOf({kHost}));
  for (std::uint32_t i = 1; i <= kOver; i++) fixture.count(udpFrame(kForeign, kProtected + i), i > 100 ? 3 : 2);
  CHECK(fixture.tick().screened == kOver);
  const std::vector<HostRow> rows = fixture.screened();
  // The reader's buffer has room for more; what is handed over ends at the bound.
  Columns columns(kOver);
  CHECK(fixture.engine.readScreened(columns.spans()) == kOver);
  CHECK(rows[0].address == kHost);
  for (std::size_t i = 1; i < kScreenedMax; i++) REQUIRE(rows[i].incoming(Metric::pps) == doctest::Approx(3));
}

TEST_CASE("a watched host is handed over whatever its rates, with zeros once it has left") {
  EngineFixture fixture({.idleMs = 1000});
  fixture.engine.setWatched(bytesOf({kHost, ipv4(kForeign)}));
  fixture.count(kFrame, 5);
  fixture.tick();
  REQUIRE(fixture.screened().size() == 1);
  CHECK(fixture.screened()[0].incoming(Metric::pps) == doctest::Approx(5));
  fixture.tick(100);
  CHECK_FALSE(fixture.host(kHost));
  REQUIRE(fixture.screened().size() == 1);
  CHECK(fixture.screened()[0].address == kHost);
  CHECK(fixture.screened()[0].incoming(Metric::pps) == 0);
  fixture.engine.setWatched({});
  fixture.tick();
  CHECK(fixture.screened().empty());
}

TEST_CASE("samples hold the header as it came, newest last") {
  EngineFixture fixture;
  const Bytes out = udpFrame(kProtected + 1, kForeign, 9);
  fixture.count(udpFrame(kForeign, kProtected + 1, 1));
  fixture.count(udpFrame(kForeign, kProtected + 2, 2));
  fixture.tick();
  fixture.count(ipv4Packet({}, udp(3, 53, 200)), 1, Link::rawIp);
  fixture.tick();
  const auto records = samples(fixture.engine, kHost);
  REQUIRE(records.size() == 2);
  CHECK(portOf(records[0]) == 1);
  CHECK(records[0].direction == 0);
  CHECK(records[0].wire == kFrame.size());
  CHECK(records[0].captured == kFrame.size());
  CHECK(records[0].ageMs == 200);
  CHECK(portOf(records[1]) == 3);
  CHECK(records[1].captured == kHeaderBytes);
  CHECK(records[1].wire == 228);
  CHECK(records[1].ageMs == 100);
  CHECK(records[1].data[12] == 0x08);
  // Only the newest fit.
  CHECK(portOf(samples(fixture.engine, kHost, 1).at(0)) == 3);
  CHECK(samples(fixture.engine, ipv4(kProtected + 3)).empty());
}

TEST_CASE("where only some samples fit, every worker's senders are among the newest") {
  EngineFixture fixture;
  std::vector<std::shared_ptr<Shard>> shards;
  for (int i = 0; i < 4; i++) shards.push_back(fixture.engine.addShard());
  const auto count = [&](std::uint16_t firstPort) {
    for (std::size_t i = 0; i < shards.size(); i++) {
      const Bytes bytes = udpFrame(kForeign, kProtected + 1, static_cast<std::uint16_t>(firstPort + i));
      const std::vector<Frame> frames(30, frameOf(bytes));
      shards[i]->leaveIdle();
      shards[i]->countFrames(frames, Link::ethernet);
      shards[i]->enterIdle();
    }
    fixture.tick();
  };
  count(100);
  count(200);
  count(300);
  const auto ports = [&](std::size_t most) {
    std::map<unsigned, unsigned> seen;
    for (const SampleRecord& record : samples(fixture.engine, kHost, most)) seen[portOf(record)]++;
    return seen;
  };
  using Ports = std::map<unsigned, unsigned>;
  CHECK(ports(0).empty());
  CHECK(ports(1) == Ports{{303, 1}});
  CHECK(ports(8) == Ports{{300, 2}, {301, 2}, {302, 2}, {303, 2}});
  CHECK(ports(120) == Ports{{300, 30}, {301, 30}, {302, 30}, {303, 30}});
  CHECK(ports(121) == Ports{{203, 1}, {300, 30}, {301, 30}, {302, 30}, {303, 30}});
  CHECK(ports(359).size() == 12);
  CHECK(ports(360) == ports(1000));
}

TEST_CASE("a sample says of how many packets it is one, whatever its worker's traffic, watched or not") {
  EngineFixture fixture;
  constexpr std::array<std::size_t, 2> kPerTick = {20'000, 200};
  std::array<std::shared_ptr<Shard>, 2> shards = {fixture.engine.addShard(), fixture.engine.addShard()};
  for (int tick = 0; tick < 30; tick++) {
    for (std::uint16_t i = 0; i < 2; i++) {
      const Bytes bytes = udpFrame(kForeign, kProtected + 1, i);
      const std::vector<Frame> frames(100, frameOf(bytes));
      shards[i]->leaveIdle();
      for (std::size_t sent = 0; sent < kPerTick[i]; sent += frames.size()) {
        shards[i]->countFrames(frames, Link::ethernet);
      }
      shards[i]->enterIdle();
    }
    if (tick == 15) fixture.engine.setWatched(bytesOf({kHost}));
    fixture.tick();
    if (tick != 14 && tick != 29) continue;
    std::array<double, 2> sum{};
    for (const SampleRecord& record : samples(fixture.engine, kHost)) {
      // What a worker keeps reaches back about a second, that of one without a flood a little further.
      if (record.ageMs > 0 && record.ageMs <= 500) sum.at(portOf(record)) += record.standsFor;
    }
    CHECK(sum[0] == doctest::Approx(5.0 * kPerTick[0]).epsilon(0.15));
    CHECK(sum[1] == doctest::Approx(5.0 * kPerTick[1]).epsilon(0.15));
  }
}

TEST_CASE("samples are of all hosts of a prefix when that is requested") {
  EngineFixture fixture;
  for (std::uint16_t i = 1; i <= 9; i++) fixture.count(udpFrame(kForeign, kProtected + i, i));
  fixture.tick();
  std::vector<std::uint8_t> room(100 * sizeof(sample_record));
  const auto count = [&](std::uint32_t host, std::uint32_t length) {
    return fixture.engine.readSamples(ipv4(kProtected + host), room, 96 + length);
  };
  CHECK(count(1, 32) == 1);
  CHECK(count(2, 31) == 2);
  CHECK(count(4, 30) == 4);
  CHECK(count(0, 29) == 7);
  CHECK(count(200, 24) == 9);
}

TEST_CASE("samples of a host distinguish outgoing packets from incoming ones") {
  EngineFixture fixture({.countOutgoing = true});
  fixture.count(udpFrame(kProtected + 1, kForeign, 9));
  fixture.tick();
  REQUIRE(samples(fixture.engine, kHost).size() == 1);
  CHECK(samples(fixture.engine, kHost)[0].direction == 1);
}

TEST_CASE("a watched host is sampled even where another host has nearly all the packets") {
  EngineFixture fixture;
  const auto flood = [&](int ticks) {
    for (int tick = 0; tick < ticks; tick++) {
      for (int i = 0; i < 20; i++) {
        fixture.count(udpFrame(kForeign, kProtected + 2), 2000);
        fixture.count(kFrame, 1);
      }
      fixture.tick();
    }
  };
  flood(10);
  const std::size_t unwatched = samples(fixture.engine, kHost).size();
  fixture.engine.setWatched(bytesOf({kHost}));
  fixture.tick();
  flood(10);
  CHECK(unwatched < 50);
  CHECK(samples(fixture.engine, kHost).size() >= 100);
}

TEST_CASE("a flood's samples are spread evenly over its packets") {
  SHOW_SEED();
  EngineFixture fixture;
  Random random;
  fixture.engine.setWatched(bytesOf({kHost}));
  fixture.tick();
  // Every port comes equally often, in a rhythm that a fixed "one in N" would follow.
  std::vector<unsigned> seen(4);
  for (int tick = 0; tick < 60; tick++) {
    for (int i = 0; i < 2000; i++) fixture.count(udpFrame(kForeign, kProtected + 1, static_cast<std::uint16_t>(i % 4)));
    fixture.tick();
    if (tick % 12 != 11) continue;
    for (const SampleRecord& record : samples(fixture.engine, kHost)) seen[portOf(record)]++;
  }
  const unsigned all = seen[0] + seen[1] + seen[2] + seen[3];
  for (const unsigned each : seen) CHECK(each == doctest::Approx(all / 4.0).epsilon(0.15));
}

TEST_CASE("keeps headers that the kernel sampled without counting them") {
  EngineFixture fixture;
  fixture.shard->leaveIdle();
  fixture.shard->addSample(frameOf(kFrame), Link::ethernet, FILTER_VERDICTS);
  fixture.shard->addSample(frameOf(Bytes(3)), Link::ethernet, FILTER_VERDICTS);
  fixture.shard->enterIdle();
  fixture.tick();
  CHECK(samples(fixture.engine, kHost).size() == 1);
  CHECK(fixture.shard->stats().receivedPackets == 0);
  CHECK_FALSE(fixture.host(kHost));
}

TEST_CASE("a header that the kernel drew stands for the packets that it drew from") {
  EngineFixture fixture;
  fixture.shard->leaveIdle();
  for (int i = 0; i < 8; i++) fixture.shard->addSample(frameOf(kFrame), Link::ethernet, FILTER_PASS_DEFAULT, 256);
  fixture.shard->enterIdle();
  fixture.tick();
  const std::vector<SampleRecord> kept = samples(fixture.engine, kHost);
  REQUIRE(kept.size() == 8);
  for (const SampleRecord& record : kept) CHECK(record.standsFor == 256);
}

TEST_CASE("a header of a frame that came from other networks is no sample of the host that it names as its source") {
  const Bytes spoofed = udpFrame(kProtected + 1, kForeign + 1), incoming = udpFrame(kForeign + 1, kProtected + 1);
  for (const bool isExternal : {false, true}) {
    CAPTURE(isExternal);
    EngineFixture fixture({.countOutgoing = true});
    fixture.shard->setExternalSenders({.areAll = isExternal, .macs = {}});
    fixture.shard->leaveIdle();
    fixture.shard->addSample(frameOf(spoofed), Link::ethernet, FILTER_VERDICTS);
    fixture.shard->addSample(frameOf(incoming), Link::ethernet, FILTER_VERDICTS);
    fixture.shard->enterIdle();
    fixture.tick();
    CHECK(samples(fixture.engine, ipv4(kProtected + 1)).size() == (isExternal ? 1 : 2));
  }
}

TEST_CASE("of what the kernel judged, a flood that is dropped takes no room of what passes, and has its verdict") {
  constexpr std::uint32_t kFlood = 4 * kRecentSamples;
  EngineFixture fixture;
  fixture.shard->leaveIdle();
  const auto add = [&](std::uint16_t port, filter_verdict verdict) {
    fixture.shard->addSample(frameOf(udpFrame(kForeign, kProtected + 1, port)), Link::ethernet, verdict);
  };
  add(1, FILTER_PASS_DEFAULT);
  add(2, FILTER_ANSWER_ACK);
  for (std::uint32_t i = 0; i < kFlood; i++) add(3, FILTER_DROP_RULE);
  fixture.shard->enterIdle();
  fixture.tick();
  std::map<unsigned, std::vector<SampleRecord>> byPort;
  for (const SampleRecord& record : samples(fixture.engine, kHost)) byPort[portOf(record)].push_back(record);
  REQUIRE(byPort[1].size() == 1);
  CHECK(byPort[1][0].verdict == FILTER_PASS_DEFAULT);
  CHECK(byPort[1][0].standsFor == 1);
  REQUIRE(byPort[2].size() == 1);
  CHECK(byPort[2][0].verdict == FILTER_ANSWER_ACK);
  CHECK(byPort[3].size() <= kRecentSamples);
  CHECK(byPort[3][0].verdict == FILTER_DROP_RULE);
}

TEST_CASE("what nothing judged has no verdict") {
  EngineFixture fixture;
  fixture.count(kFrame);
  fixture.tick();
  REQUIRE(samples(fixture.engine, kHost).size() == 1);
  CHECK(samples(fixture.engine, kHost)[0].verdict == FILTER_VERDICTS);
}
