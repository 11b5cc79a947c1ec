// Rows and hosts from first packet to leaving: the bound, idle hosts, changes of networks, counters that wrap.
#include <doctest/doctest.h>

#include "engine_fixture.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Address kHost = ipv4(kProtected + 1);
const Bytes kFrame = udpFrame(kForeign + 1, kProtected + 1);

Bytes frameToIpv6(std::uint64_t host) {
  return ethernet(0x86dd) + ipv6Packet({.destination = ipv6(1, host)}, udp(1234, 53));
}

double untracked(const EngineFixture& fixture, std::size_t network) {
  return static_cast<double>(fixture.engine.stats().untrackedPackets.at(network));
}

}  // namespace

TEST_CASE("tracks exactly maxHosts hosts that each send on, and counts a lighter one to its network") {
  EngineFixture fixture({.maxHosts = 100});
  for (std::uint32_t i = 0; i < 100; i++) fixture.count(udpFrame(kForeign, kProtected + i), 200);
  CHECK(fixture.tick().trackedHosts == 100);
  CHECK(untracked(fixture, 0) > 0);  // What the later ones had to show before they earned their rows.
  const double before = untracked(fixture, 0);
  fixture.count(udpFrame(kForeign, kProtected + 100), 150);
  CHECK(fixture.tick().trackedHosts == 100);
  CHECK_FALSE(fixture.host(ipv4(kProtected + 100)));
  CHECK(untracked(fixture, 0) == before + 150);
  CHECK(fixture.engine.stats().refusedHosts > 0);
}

TEST_CASE("one host fits a table of one") {
  EngineFixture fixture({.maxHosts = 1});
  fixture.count(kFrame, 5);
  CHECK(fixture.tick().trackedHosts == 1);
  CHECK(fixture.pps(kHost) == doctest::Approx(5));
}

TEST_CASE(
    "a flood of random IPv6 destinations does not grow the table, shows in its network and group, and a real "
    "host still gets its row") {
  SHOW_SEED();
  Random random;
  EngineFixture fixture({.maxHosts = 2000});
  constexpr int kTicks = 12, kPerTick = 20'000;
  std::uint64_t sent = 0;
  for (int tick = 0; tick < kTicks; tick++) {
    for (int i = 0; i < kPerTick; i++) {
      fixture.count(frameToIpv6(random.bits() | 1ULL << 63));
      // The real host comes late and with a thousandth of the packets.
      if (tick >= 2 && i % 1000 == 0) fixture.count(frameToIpv6(7));
    }
    sent += kPerTick + (tick >= 2 ? kPerTick / 1000 : 0);
    REQUIRE(fixture.tick().trackedHosts <= 2000);
  }
  CHECK(fixture.host(ipv6(1, 7)));
  CHECK(fixture.pps(ipv6(1, 7)) > 100);
  const EngineStats stats = fixture.engine.stats();
  const ShardStats shard = fixture.shard->stats();
  CHECK(stats.trackedHosts < 1200);
  CHECK(shard.countedPackets + shard.untrackedPackets == sent);
  CHECK(stats.untrackedPackets.at(1) == shard.untrackedPackets);
  CHECK(stats.untrackedPackets.at(0) == 0);
  CHECK(stats.refusedHosts > sent / 2);
  // The group's sum holds all of it, tracked or not.
  CHECK(fixture.group(1).incoming(Metric::pps) == doctest::Approx(10.0 * (kPerTick + kPerTick / 1000)));
}

TEST_CASE("a flood gets its row in a table that an attacker keeps full with a packet a second to each host") {
  constexpr std::uint32_t kHosts = 1000, kTicksOfSecond = 10;
  EngineFixture fixture({.maxHosts = kHosts});
  const auto sendOn = [&](int tick) {
    const std::uint32_t turn = static_cast<std::uint32_t>(tick) % kTicksOfSecond;
    for (std::uint32_t i = turn; i < kHosts; i += kTicksOfSecond) fixture.count(udpFrame(kForeign, kProtected + i));
    fixture.tick();
  };
  for (std::uint32_t i = 0; i < kHosts; i++) fixture.count(udpFrame(kForeign, kProtected + i), 300);
  REQUIRE(fixture.tick().trackedHosts == kHosts);
  for (int tick = 0; tick < 50; tick++) sendOn(tick);
  for (int tick = 0; tick < 10; tick++) {
    fixture.count(udpFrame(kForeign, kProtected + kHosts), 1000);
    sendOn(tick);
  }
  REQUIRE(fixture.host(ipv4(kProtected + kHosts)));
  CHECK(fixture.pps(ipv4(kProtected + kHosts)) > 5000);
  CHECK(fixture.engine.stats().trackedHosts <= kHosts);
}

TEST_CASE("an idle host leaves, its row goes to another, and no count is carried over") {
  EngineFixture fixture({.maxHosts = 2, .idleMs = 2000});
  fixture.count(kFrame, 50);
  fixture.tick();
  for (int i = 0; i < 60; i++) {
    // The worker has no traffic; that it wakes up now and then is enough.
    fixture.shard->leaveIdle();
    fixture.shard->enterIdle();
    fixture.tick();
  }
  CHECK_FALSE(fixture.host(kHost));
  CHECK(fixture.engine.stats().trackedHosts == 0);
  fixture.count(udpFrame(kForeign, kProtected + 2), 3);
  fixture.count(udpFrame(kForeign, kProtected + 3), 3);
  fixture.tick();
  CHECK(fixture.pps(ipv4(kProtected + 2)) == doctest::Approx(3));
  fixture.tick(11);
  fixture.count(kFrame, 4);
  fixture.tick();
  CHECK(fixture.pps(ipv4(kProtected + 2)) == 0);
}

TEST_CASE("a host that sends now and then stays") {
  EngineFixture fixture({.idleMs = 2000});
  for (int i = 0; i < 20; i++) {
    fixture.count(kFrame);
    fixture.tick(10);
    REQUIRE(fixture.host(kHost));
  }
}

TEST_CASE("new networks hold from the next fold on: hosts outside leave, the others change group") {
  EngineFixture fixture;
  const Bytes toOther = udpFrame(kForeign, kProtected + 0x101);
  fixture.count(kFrame, 10);
  fixture.count(toOther, 20);
  fixture.tick();
  CHECK(fixture.group(0).incoming(Metric::pps) == doctest::Approx(30));

  // 10.1.0.0/24 is now network 5 in group 3; the rest of 10.1.0.0/16 is gone.
  setNetworks(fixture.engine, {{ipv4(kProtected), 120, 5, 3}});
  fixture.tick();
  CHECK(fixture.host(kHost)->network == 5);
  CHECK(fixture.host(kHost)->group == 3);
  CHECK_FALSE(fixture.host(ipv4(kProtected + 0x101)));
  CHECK(fixture.hosts().size() == 1);
  CHECK(fixture.group(3).incoming(Metric::pps) == doctest::Approx(10));
  fixture.count(kFrame, 1);
  fixture.count(toOther, 7);
  fixture.tick();
  CHECK(fixture.shard->stats().foreignPackets == 7);
  CHECK(fixture.group(3).incoming(Metric::pps) == doctest::Approx(11));

  // What came back counts again, from nothing.
  setNetworks(fixture.engine, usualNetworks());
  fixture.tick();
  fixture.count(toOther, 2);
  fixture.tick();
  CHECK(fixture.pps(ipv4(kProtected + 0x101)) == doctest::Approx(2));
  CHECK(fixture.host(kHost)->group == 0);
  fixture.tick(12);
  CHECK(fixture.group(0).incoming(Metric::pps) == 0);
  CHECK(fixture.pps(kHost) == 0);
}

TEST_CASE("swapping networks in every tick leaves group sums equal to the sum of their hosts") {
  SHOW_SEED();
  Random random;
  EngineFixture fixture({.countOutgoing = true, .idleMs = 1000});
  for (int tick = 0; tick < 100; tick++) {
    for (int i = 0; i < 50; i++) {
      const auto a = static_cast<std::uint32_t>(random.below(1024)), b = static_cast<std::uint32_t>(random.below(1024));
      fixture.count(udpFrame(kProtected + a, kProtected + b), 1 + random.below(5));
    }
    std::vector<Prefix> prefixes;
    for (std::uint32_t i = 0; i < 8; i++) {
      const auto length = static_cast<std::uint8_t>(118 + random.below(7));
      prefixes.push_back({ipv4(kProtected + static_cast<std::uint32_t>(random.below(1024))), length, i, i % 3});
    }
    setNetworks(fixture.engine, prefixes);
    fixture.tick();
    std::array<double, 3> incoming{}, outgoing{};
    for (const HostRow& row : fixture.hosts()) {
      incoming[row.group] += row.incoming(Metric::pps);
      outgoing[row.group] += row.outgoing(Metric::pps);
    }
    for (std::uint32_t group = 0; group < 3; group++) {
      CAPTURE(group);
      REQUIRE(fixture.group(group).incoming(Metric::pps) == doctest::Approx(incoming[group]));
      REQUIRE(fixture.group(group).outgoing(Metric::pps) == doctest::Approx(outgoing[group]));
    }
  }
}

TEST_CASE("counters that wrap around make no difference") {
  EngineFixture fixture;
  // 3 GB in a frame: the 32-bit byte counter wraps in every second tick.
  const Frame huge{kFrame.data(), static_cast<std::uint32_t>(kFrame.size()), 3'000'000'000};
  for (int tick = 0; tick < 10; tick++) {
    fixture.shard->leaveIdle();
    fixture.shard->countFrames(std::span(&huge, 1), Link::ethernet);
    fixture.shard->enterIdle();
    fixture.tick();
  }
  CHECK(fixture.host(kHost)->incoming(Metric::mbps) == doctest::Approx(10 * 3e9 * 8e-6));
}

TEST_CASE("takes over what the kernel counted, for hosts and for networks") {
  EngineFixture fixture({.countOutgoing = true});
  Counters delta;
  delta.packets = {1, 2, 3, 4, 1, 2};
  delta.bytes = {100, 200, 300, 400, 100, 200};
  delta.newFlows = 5;
  fixture.shard->leaveIdle();
  fixture.shard->addHostCounts(kHost, Direction::incoming, delta);
  fixture.shard->addHostCounts(kHost, Direction::outgoing, delta);
  fixture.shard->addHostCounts(ipv4(kForeign), Direction::incoming, delta);
  fixture.shard->addNetworkCounts(1, Direction::incoming, delta);
  fixture.shard->addNetworkCounts(99, Direction::incoming, delta);
  ShardStats uncounted;
  uncounted.foreignPackets = 6;
  uncounted.parseErrors[0] = 4;
  uncounted.receivedBytes = 1000;
  fixture.shard->addOutcomes(uncounted);
  fixture.shard->enterIdle();
  fixture.tick();
  const HostRow row = fixture.host(kHost).value();
  CHECK(row.incoming(Metric::pps) == doctest::Approx(10));
  CHECK(row.incoming(Metric::mbps) == doctest::Approx(1000 * 8e-6));
  CHECK(row.incoming(Metric::tcpSynPps) == doctest::Approx(1));
  CHECK(row.incoming(Metric::fragMbps) == doctest::Approx(200 * 8e-6));
  CHECK(row.incoming(Metric::flowsPerSec) == doctest::Approx(5));
  CHECK(row.outgoing(Metric::pps) == doctest::Approx(10));
  CHECK(fixture.group(1).incoming(Metric::pps) == doctest::Approx(10));
  const ShardStats stats = fixture.shard->stats();
  CHECK(stats.receivedPackets == 60);
  CHECK(stats.countedPackets == 20);
  CHECK(stats.untrackedPackets == 10);
  CHECK(stats.foreignPackets == 26);
  CHECK(stats.parseErrors[0] == 4);
  CHECK(fixture.engine.stats().untrackedPackets.at(1) == 10);
}

TEST_CASE("a worker's last counts are taken over after its handle is gone") {
  EngineFixture fixture;
  {
    const auto second = fixture.engine.addShard();
    second->leaveIdle();
    const Frame frame = frameOf(kFrame);
    second->countFrames(std::span(&frame, 1), Link::ethernet);
  }
  fixture.tick();
  CHECK(fixture.pps(kHost) == doctest::Approx(1));
  fixture.count(kFrame, 1);
  fixture.tick();
  CHECK(fixture.pps(kHost) == doctest::Approx(2));
}
