#include "count/engine.h"

#include <doctest/doctest.h>

#include <stdexcept>

#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1);

/// Screens of this number of groups where only the incoming packet rate counts.
std::vector<double> ppsScreens(std::initializer_list<double> byGroup) {
  std::vector<double> screens(byGroup.size() * 2 * kMetrics, std::numeric_limits<double>::infinity());
  std::size_t group = 0;
  for (const double pps : byGroup) screens[group++ * 2 * kMetrics] = pps;
  return screens;
}

}  // namespace

TEST_CASE("a flood of ten times the threshold shows after a tenth of the window") {
  EngineFixture fixture;
  fixture.engine.setScreens(ppsScreens({1000}));
  fixture.count(kFrame, 999);
  fixture.tick();
  CHECK(fixture.screened().empty());
  fixture.count(kFrame, 1);
  fixture.tick();
  REQUIRE(fixture.screened().size() == 1);
  CHECK(fixture.screened()[0].address == kHost);
  CHECK(fixture.screened()[0].incoming(Metric::pps) == doctest::Approx(1000));
}

TEST_CASE("a rate falls to nothing once its packets have left the window") {
  EngineFixture fixture;
  fixture.count(kFrame, 100);
  fixture.tick();
  CHECK(fixture.pps(kHost) == doctest::Approx(100));
  fixture.tick(9);
  CHECK(fixture.pps(kHost) == doctest::Approx(100));
  fixture.tick();
  CHECK(fixture.pps(kHost) == 0);
}

TEST_CASE("keeps the thirteen metrics apart") {
  EngineFixture fixture;
  const Bytes ip4 = ethernet(0x0800);
  const Bytes syn = ip4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kSyn));
  const Bytes ack = ip4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kAck));
  const Bytes icmp = ip4 + ipv4Packet({.protocol = 1}, Bytes(8));
  const Bytes gre = ip4 + ipv4Packet({.protocol = 47}, Bytes(8));
  const Bytes fragment = ip4 + ipv4Packet({.fragment = 0x2010}, Bytes(100));
  fixture.count(syn, 1);
  fixture.count(ack, 2);
  fixture.count(icmp, 4);
  fixture.count(gre, 8);
  fixture.count(fragment, 16);
  fixture.tick();
  const HostRow row = fixture.host(kHost).value();
  const auto mbps = [](std::size_t bytes) { return doctest::Approx(static_cast<double>(bytes) * 8e-6); };
  CHECK(row.incoming(Metric::pps) == doctest::Approx(31));
  CHECK(row.incoming(Metric::mbps) ==
        mbps(syn.size() + 2 * ack.size() + 4 * icmp.size() + 8 * gre.size() + 16 * fragment.size()));
  // SYN and ACK are one flow, ICMP and GRE one each; later fragments name none.
  CHECK(row.incoming(Metric::flowsPerSec) == doctest::Approx(3));
  CHECK(row.incoming(Metric::tcpPps) == doctest::Approx(3));
  CHECK(row.incoming(Metric::tcpMbps) == mbps(syn.size() + 2 * ack.size()));
  CHECK(row.incoming(Metric::udpPps) == doctest::Approx(16));
  CHECK(row.incoming(Metric::udpMbps) == mbps(16 * fragment.size()));
  CHECK(row.incoming(Metric::icmpPps) == doctest::Approx(4));
  CHECK(row.incoming(Metric::icmpMbps) == mbps(4 * icmp.size()));
  CHECK(row.incoming(Metric::tcpSynPps) == doctest::Approx(1));
  CHECK(row.incoming(Metric::tcpSynMbps) == mbps(syn.size()));
  CHECK(row.incoming(Metric::fragPps) == doctest::Approx(16));
  CHECK(row.incoming(Metric::fragMbps) == mbps(16 * fragment.size()));
  for (std::size_t i = 0; i < kMetrics; i++) CHECK(row.rates[kMetrics + i] == 0);
}

TEST_CASE("counts outgoing packets to their source when asked to") {
  const Bytes out = udpFrame(kProtected + 1, kForeign + 1);
  EngineFixture both({.countOutgoing = true});
  both.count(out, 5);
  both.count(kFrame, 3);
  both.tick();
  CHECK(both.host(kHost)->outgoing(Metric::udpPps) == doctest::Approx(5));
  CHECK(both.host(kHost)->incoming(Metric::udpPps) == doctest::Approx(3));
  EngineFixture incomingOnly;
  incomingOnly.count(out, 5);
  incomingOnly.tick();
  CHECK_FALSE(incomingOnly.host(kHost));
  CHECK(incomingOnly.shard->stats().foreignPackets == 5);
}

TEST_CASE("a packet to a protected host is not outgoing traffic of the protected host that it names as its source") {
  for (const std::uint32_t rate : {1U, 100U}) {
    CAPTURE(rate);
    EngineFixture fixture({.countOutgoing = true});
    if (rate > 1) fixture.shard->setSamplingRate(rate);
    // Little to each, in the name of one of them: anyone can send it.
    for (std::uint32_t to = 2; to < 182; to++) fixture.count(udpFrame(kProtected + 1, kProtected + to), 11);
    fixture.tick();
    CHECK_FALSE(fixture.host(ipv4(kProtected + 1)));
    CHECK(fixture.host(ipv4(kProtected + 2))->incoming(Metric::pps) == doctest::Approx(11 * rate));
    CHECK(fixture.shard->stats().countedPackets == 180 * 11);
    fixture.count(udpFrame(kProtected + 1, kForeign + 1), 3);
    fixture.tick();
    CHECK(fixture.host(ipv4(kProtected + 1))->outgoing(Metric::pps) == doctest::Approx(3 * rate));
  }
}

TEST_CASE("frames that came from other networks are not outgoing traffic of the host that they name as their source") {
  constexpr MacAddress kRouter = {0x02, 0, 0, 0, 0, 0x0a};
  const Bytes inside = udpFrame(kProtected + 1, kForeign + 1);
  Bytes spoofed = inside;
  std::copy(kRouter.begin(), kRouter.end(), spoofed.begin() + 6);
  const Bytes incoming = udpFrame(kForeign + 1, kProtected + 1);
  for (const std::uint32_t rate : {1U, 100U}) {
    CAPTURE(rate);
    EngineFixture senders({.countOutgoing = true}), all({.countOutgoing = true});
    senders.shard->setExternalSenders({.macs = {{0x02, 0, 0, 0, 0, 0x0b}, kRouter}});
    all.shard->setExternalSenders({.areAll = true, .macs = {}});
    for (EngineFixture* fixture : {&senders, &all}) {
      if (rate > 1) fixture->shard->setSamplingRate(rate);
      fixture->count(spoofed, 50);
      fixture->tick();
      CHECK_FALSE(fixture->host(ipv4(kProtected + 1)));
      CHECK(fixture->shard->stats().foreignPackets == 50);
      fixture->count(inside, 5);
      fixture->count(incoming, 3);
      fixture->tick();
      CHECK(fixture->pps(ipv4(kProtected + 1)) == doctest::Approx(3 * rate));
    }
    CHECK(senders.host(ipv4(kProtected + 1))->outgoing(Metric::pps) == doctest::Approx(5 * rate));
    CHECK(all.host(ipv4(kProtected + 1))->outgoing(Metric::pps) == 0);
  }
}

TEST_CASE("stats add up over everything that may become of a frame") {
  EngineFixture fixture;
  fixture.count(kFrame, 10);
  fixture.count(udpFrame(kForeign, kForeign + 1), 20);
  fixture.count(ethernet(0x0806) + Bytes(28), 30);
  fixture.count(Bytes(5), 40);
  const ShardStats stats = fixture.shard->stats();
  CHECK(stats.receivedPackets == 100);
  CHECK(stats.receivedBytes == 10 * kFrame.size() + 20 * kFrame.size() + 30 * 42 + 40 * 5);
  CHECK(stats.countedPackets == 10);
  CHECK(stats.untrackedPackets == 0);
  CHECK(stats.foreignPackets == 20);
  CHECK(stats.parseErrors[static_cast<std::size_t>(ParseError::notIp)] == 30);
  CHECK(stats.parseErrors[static_cast<std::size_t>(ParseError::truncatedEthernet)] == 40);
  CHECK(stats.notIp[static_cast<std::size_t>(NotIpKind::arp)] == 30);
  CHECK(stats.etherTypes[0].type == 0x0806);
  CHECK(stats.etherTypes[0].frames == 30);
}

TEST_CASE("sums groups and names each host's network and group") {
  EngineFixture fixture;
  for (std::uint32_t i = 0; i < 10; i++) fixture.count(udpFrame(kForeign, kProtected + i), i);
  fixture.count(ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, 5)}, udp(1, 53)), 6);
  fixture.tick();
  CHECK(fixture.group(0).incoming(Metric::pps) == doctest::Approx(45));
  CHECK(fixture.group(1).incoming(Metric::pps) == doctest::Approx(6));
  CHECK(fixture.host(ipv6(1, 5))->network == 1);
  CHECK(fixture.host(ipv6(1, 5))->group == 1);
  fixture.tick(10);
  CHECK(fixture.group(0).incoming(Metric::pps) == 0);
}

TEST_CASE("reads all hosts in chunks of any size") {
  EngineFixture fixture;
  for (std::uint32_t i = 0; i < 25; i++) fixture.count(udpFrame(kForeign, kProtected + i), i + 1);
  CHECK(fixture.tick().trackedHosts == 25);
  for (const std::size_t chunk : std::vector<std::size_t>{1, 7, 25, 100}) {
    double packets = 0;
    for (const HostRow& row : fixture.hosts(chunk)) packets += row.incoming(Metric::pps);
    CHECK(fixture.hosts(chunk).size() == 25);
    CHECK(packets == doctest::Approx(25 * 26 / 2));
  }
}

TEST_CASE("idleMs says how long ago a host's last packet was folded") {
  EngineFixture fixture;
  fixture.count(kFrame);
  fixture.tick();
  CHECK(fixture.host(kHost)->idleMs == 0);
  fixture.tick(3);
  CHECK(fixture.host(kHost)->idleMs == 300);
}

TEST_CASE("refuses options out of bounds and names them") {
  const auto open = [](const EngineOptions& options) { const Engine engine(options); };
  CHECK_THROWS_WITH_AS(open({.maxHosts = 0}), "maxHosts must be between 1 and 16000000", std::out_of_range);
  CHECK_THROWS_WITH_AS(open({.maxHosts = kHostsMax + 1}), "maxHosts must be between 1 and 16000000", std::out_of_range);
  CHECK_THROWS_WITH_AS(open({.windowMs = 199}), "windowMs must be between 200 and 60000", std::out_of_range);
  CHECK_THROWS_WITH_AS(open({.tickMs = 19}), "tickMs must be between 20 and 1000", std::out_of_range);
  CHECK_THROWS_WITH_AS(open({.tickMs = 300}), "tickMs must divide windowMs", std::out_of_range);
  CHECK_THROWS_WITH_AS(open({.idleMs = 999}), "idleMs must be between 1000 and 3600000", std::out_of_range);
  open({.maxHosts = 1, .windowMs = 60'000, .tickMs = 20, .idleMs = 3'600'000});
}

TEST_CASE("opens with as many hosts as it may have, and a shard for each of 64 interfaces") {
  // Reserved, not used: memory follows what is touched.
  Engine engine({.maxHosts = kHostsMax, .windowMs = kWindowMsMax, .countOutgoing = true});
  setNetworks(engine, usualNetworks());
  std::vector<std::shared_ptr<Shard>> shards;
  for (int i = 0; i < 64; i++) shards.push_back(engine.addShard());
  const Frame frame = frameOf(kFrame);
  for (const auto& shard : shards) {
    shard->leaveIdle();
    shard->countFrames(std::span(&frame, 1), Link::ethernet);
    shard->enterIdle();
  }
  CHECK(engine.fold(1'000'000'000).trackedHosts == 1);
  Columns columns(1);
  REQUIRE(engine.readHost(kHost, columns.spans()));
  CHECK(columns.row(0).incoming(Metric::pps) * kWindowMsMax / 1000 == doctest::Approx(64));
}

TEST_CASE("refuses networks whose columns do not fit together") {
  Engine engine(EngineOptions{});
  const std::vector<std::uint8_t> address(16), length{112}, tooLong{129};
  const std::vector<std::uint32_t> zero{0}, none;
  engine.setNetworks({address, length, zero, zero, 1, 1});
  CHECK_THROWS_AS(engine.setNetworks({address, length, none, zero, 1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(engine.setNetworks({length, length, zero, zero, 1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(engine.setNetworks({address, tooLong, zero, zero, 1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(engine.setNetworks({address, length, zero, zero, 0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(engine.setNetworks({address, length, zero, zero, 1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(engine.setScreens(std::vector<double>(25)), std::invalid_argument);
  CHECK_THROWS_AS(engine.setWatched(std::vector<std::uint8_t>(15)), std::invalid_argument);
  CHECK_THROWS_AS(engine.setWatched(std::vector<std::uint8_t>(16 * (kWatchedMax + 1))), std::invalid_argument);
}
