#include "inline/inline_reader.h"

#include <doctest/doctest.h>

#include "engine_fixture.h"
#include "inline_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kIdleMs = 60'000;
const Address kHost = ipv4(kProtected + 1);

/// The kernel's counter, its reader and an engine, one after the other.
class ReaderFixture {
 public:
  explicit ReaderFixture(const InlineProgramOptions& options = {.maxHosts = 1024})
      : engine({.countOutgoing = options.countOutgoing}),
        box(options),
        reader(box.program, *engine.shard, kIdleMs),
        networks{.prefixes = protectedNetworks(), .networkCount = 2, .table = PrefixTable(protectedNetworks())} {
    reader.setNetworks(networks);
  }

  void read(std::uint64_t afterMs = 50) {
    nowMs += afterMs;
    engine.shard->leaveIdle();
    reader.read(nowMs);
    engine.shard->enterIdle();
  }
  /// Packets of the host within the window, once the engine has taken over what was read.
  double packets(const Address& address, Metric metric = Metric::pps) {
    engine.tick(2);
    const auto row = engine.host(address);
    return row ? row->incoming(metric) : 0;
  }
  [[nodiscard]] ShardStats stats() const { return engine.shard->stats(); }

  EngineFixture engine;
  InlineBox box;
  InlineReader reader;
  InlinePrefixes networks;
  std::uint64_t nowMs = 1'000'000;
};

bool addUp(const ShardStats& stats) {
  std::uint64_t sum = stats.countedPackets + stats.untrackedPackets + stats.foreignPackets;
  for (const std::uint64_t count : stats.parseErrors) sum += count;
  return sum == stats.receivedPackets;
}

}  // namespace

TEST_CASE("inline reader: hands what the kernel counted to the engine, once") {
  if (cannotRunXdp("inline reader: hands what the kernel counted to the engine, once")) return;
  ReaderFixture fixture;
  fixture.box.run(udpFrame(kForeign, kProtected + 1), 30);
  fixture.box.run(ethernet(0x86dd) + ipv6Packet({}, udp(1, 2)), 5);
  fixture.read();
  fixture.read();
  CHECK(fixture.packets(kHost) == 30);
  CHECK(fixture.packets(ipv6(1, 1)) == 5);
  CHECK(fixture.packets(kHost, Metric::flowsPerSec) == 1);
  fixture.box.run(udpFrame(kForeign, kProtected + 1), 12);
  fixture.read();
  CHECK(fixture.packets(kHost) == 42);
}

TEST_CASE("inline reader: takes over the outcome of every frame, whatever it was") {
  if (cannotRunXdp("inline reader: takes over the outcome of every frame")) return;
  ReaderFixture fixture({.maxHosts = 1, .countOutgoing = true});
  fixture.box.run(udpFrame(kProtected + 1, kProtected + 1), 3);
  fixture.box.run(udpFrame(kForeign, kProtected + 2), 4);
  fixture.box.run(udpFrame(kForeign, kForeign + 1), 5);
  fixture.box.run(ethernet(0x0806) + Bytes(46), 6);
  fixture.read();
  const ShardStats stats = fixture.stats();
  CHECK(stats.receivedPackets == 18);
  CHECK(stats.receivedBytes == 12 * udpFrame(0, 0).size() + 6 * 60);
  // Counted in both directions, and yet one packet each.
  CHECK(stats.countedPackets == 3);
  CHECK(stats.untrackedPackets == 4);
  CHECK(stats.foreignPackets == 5);
  CHECK(stats.parseErrors[static_cast<std::size_t>(ParseError::notIp)] == 6);
  CHECK(addUp(stats));
}

TEST_CASE("inline reader: hands packets of hosts without a row to their network") {
  if (cannotRunXdp("inline reader: hands packets of hosts without a row to their network")) return;
  ReaderFixture fixture({.maxHosts = 1});
  fixture.box.run(udpFrame(kForeign, kProtected + 1));
  fixture.box.run(udpFrame(kForeign, kProtected + 2), 7);
  fixture.read();
  fixture.read();
  fixture.engine.tick(2);
  CHECK(fixture.engine.engine.stats().untrackedPackets == std::vector<std::uint64_t>{7, 0});
}

TEST_CASE("inline reader: removes hosts that were idle for long enough, and not before") {
  if (cannotRunXdp("inline reader: removes hosts that were idle for long enough")) return;
  ReaderFixture fixture;
  fixture.box.run(udpFrame(kForeign, kProtected + 1));
  fixture.read();
  fixture.read(kIdleMs - 1);
  CHECK(fixture.box.hasHost(kHost));
  fixture.read(1);
  CHECK_FALSE(fixture.box.hasHost(kHost));
  // It comes back as a host that was never seen.
  fixture.box.run(udpFrame(kForeign, kProtected + 1), 3);
  fixture.read();
  CHECK(fixture.packets(kHost) == 4);
  CHECK(addUp(fixture.stats()));
}

TEST_CASE("inline reader: gives the rows of hosts that left to new ones") {
  if (cannotRunXdp("inline reader: gives the rows of hosts that left to new ones")) return;
  ReaderFixture fixture({.maxHosts = 8});
  const auto sendTo = [&fixture](std::uint32_t first, std::uint32_t hosts) {
    for (std::uint32_t host = first; host < first + hosts; host++) {
      fixture.box.run(udpFrame(kForeign, kProtected + host), 2);
    }
  };
  sendTo(1, 4);
  fixture.read();
  sendTo(5, 4);
  fixture.read(kIdleMs - 1);
  // The first four leave and are given back, then the others, which wait: the program has not taken the first yet.
  fixture.read(1);
  fixture.read();
  fixture.read(kIdleMs);
  fixture.read();
  sendTo(11, 8);
  CHECK(fixture.box.hasHost(ipv4(kProtected + 14)));
  CHECK_FALSE(fixture.box.hasHost(ipv4(kProtected + 15)));
  fixture.read();
  sendTo(15, 4);
  fixture.read();
  fixture.engine.tick(2);
  for (std::uint32_t host = 11; host <= 18; host++) {
    CAPTURE(host);
    CHECK(fixture.engine.pps(ipv4(kProtected + host)) == 2);
  }
  const ShardStats stats = fixture.stats();
  CHECK(stats.countedPackets == 2 * (8 + 4 + 4));
  CHECK(stats.untrackedPackets == 2 * 4);
  CHECK(addUp(stats));
}

TEST_CASE("inline reader: makes more room as hosts appear") {
  if (cannotRunXdp("inline reader: makes more room as hosts appear")) return;
  ReaderFixture fixture({.maxHosts = 1U << 20});
  constexpr std::uint32_t kHosts = 40'000;
  const auto sendToAll = [&fixture] {
    for (std::uint32_t host = 0; host < kHosts; host++) fixture.box.feed(udpFrame(kForeign, kProtected + host));
  };
  sendToAll();
  fixture.read();
  const std::uint64_t early = fixture.stats().untrackedPackets;
  CHECK(early > 0);
  sendToAll();
  fixture.read();
  CHECK(fixture.stats().untrackedPackets == early);
  CHECK(fixture.stats().countedPackets == 2 * kHosts - early);
  CHECK(fixture.box.host(ipv4(kProtected + kHosts - 1)).packets[1] == 1);
}

TEST_CASE("inline reader: makes room early in a table that is nearly full") {
  if (cannotRunXdp("inline reader: makes room early in a table that is nearly full")) return;
  ReaderFixture fixture({.maxHosts = 8});
  for (std::uint32_t host = 1; host <= 7; host++) fixture.box.run(udpFrame(kForeign, kProtected + host));
  fixture.read();
  fixture.box.run(udpFrame(kForeign, kProtected + 7));
  fixture.read(2'000);
  CHECK_FALSE(fixture.box.hasHost(kHost));
  CHECK(fixture.box.hasHost(ipv4(kProtected + 7)));
}

TEST_CASE("inline reader: a flood gets a row in a table that others keep full, and a host in attack keeps its own") {
  if (cannotRunXdp("inline reader: a flood gets a row in a table that others keep full")) return;
  constexpr std::uint32_t kMaxHosts = 128;
  ReaderFixture fixture({.maxHosts = kMaxHosts});
  const Address flooded = ipv4(kProtected + kMaxHosts + 1);
  fixture.engine.engine.setWatched(kHost.bytes);
  fixture.engine.tick();
  const auto sendTo = [&](std::uint32_t host, int packets) {
    const Bytes frame = udpFrame(kForeign, kProtected + host);
    for (; packets != 0; packets--) fixture.box.feed(frame);
  };
  std::uint32_t rounds = 0, untilRow = 0;
  const auto round = [&] {
    sendTo(1, 1);
    sendTo(kMaxHosts + 1, 20);
    for (std::uint32_t host = 2; host <= kMaxHosts; host++) sendTo(host, 2);
    fixture.read(50);
    rounds++;
    if (untilRow == 0 && fixture.box.hasHost(flooded)) untilRow = rounds;
    CHECK(fixture.box.hasHost(kHost));
  };
  for (std::uint32_t host = 1; host <= kMaxHosts; host++) sendTo(host, 1);
  for (int i = 0; i < 8; i++) round();
  CHECK(untilRow != 0);
  CHECK(untilRow <= 4);
  for (int i = 0; i < 40; i++) round();
  CHECK(fixture.box.hasHost(flooded));
  CHECK(addUp(fixture.stats()));
}

TEST_CASE("inline reader: drops hosts that lie outside the new networks") {
  if (cannotRunXdp("inline reader: drops hosts that lie outside the new networks")) return;
  ReaderFixture fixture;
  fixture.box.run(udpFrame(kForeign, kProtected + 1));
  fixture.box.run(ethernet(0x86dd) + ipv6Packet({}, udp(1, 2)));
  fixture.read();
  const std::vector<PrefixValue> onlyIpv6{{.address = ipv6(1, 0), .length = 48, .value = 0}};
  const InlinePrefixes replaced{.prefixes = onlyIpv6, .networkCount = 1, .table = PrefixTable(onlyIpv6)};
  fixture.engine.shard->leaveIdle();
  fixture.reader.setNetworks(replaced);
  fixture.engine.shard->enterIdle();
  fixture.read();
  CHECK_FALSE(fixture.box.hasHost(kHost));
  CHECK(fixture.box.hasHost(ipv6(1, 1)));
}

TEST_CASE("inline reader: samples one packet in N, from its Ethernet header on, for as many packets") {
  if (cannotRunXdp("inline reader: samples one packet in N")) return;
  ReaderFixture all({.maxHosts = 16, .sampleEvery = 1});
  const Bytes frame = ethernet(0x0800) + ipv4Packet({}, udp(4000, 53, 300));
  all.box.run(frame, 20);
  all.read();
  std::vector<std::uint8_t> records(64 * sizeof(sample_record));
  all.engine.tick();
  REQUIRE(all.engine.engine.readSamples(kHost, records) == 20);
  sample_record record;
  std::memcpy(&record, records.data(), sizeof record);
  CHECK(record.wire_bytes == frame.size());
  CHECK(std::equal(frame.begin(), frame.begin() + RECORD_FRAME_BYTES, record.frame));

  Bytes options{17, 60};
  options.resize(61 * 8);
  all.box.run(ethernet(0x86dd) + ipv6Packet({.nextHeader = 60}, options + udp(123, 4444, 440)));
  all.read();
  all.engine.tick();
  REQUIRE(all.engine.engine.readSamples(ipv6(1, 1), records) == 1);
  std::memcpy(&record, records.data(), sizeof record);
  Packet packet;
  const Frame kept{record.frame, record.captured_bytes, record.wire_bytes};
  REQUIRE(parsePacket(kept, Link::ethernet, packet) == ParseError::none);
  CHECK(packet.protocol == 17);
  CHECK(packet.sourcePort == 123);

  ReaderFixture some({.maxHosts = 16, .sampleEvery = 10});
  some.box.run(frame, 2'000);
  some.read();
  some.engine.tick();
  std::vector<std::uint8_t> room(2'000 * sizeof(sample_record));
  const std::uint32_t samples = some.engine.engine.readSamples(kHost, room);
  CHECK(samples > 140);
  CHECK(samples < 260);
  for (std::uint32_t i = 0; i < samples; i++) {
    std::memcpy(&record, room.data() + i * sizeof record, sizeof record);
    CHECK(record.stands_for == 10);
  }
}

TEST_CASE("inline reader: counts samples that found no room") {
  if (cannotRunXdp("inline reader: counts samples that found no room")) return;
  ReaderFixture fixture({.maxHosts = 16, .sampleEvery = 1});
  fixture.box.run(udpFrame(kForeign, kProtected + 1), 5'000);
  const inline_stats stats = fixture.box.program.stats();
  CHECK(stats.lost_samples > 0);
  CHECK(stats.counted_packets == 5'000);
}

TEST_CASE("inline counts: differences go on across the wrap") {
  inline_counts counts{};
  counts.classes[1].packets = 2;
  counts.classes[5].bytes = 60;
  counts.new_flows = 7;
  Counters before;
  before.packets[1] = 0xfffffff0;
  before.newFlows = 2;
  const Counters delta = difference(countersOf(counts), before);
  CHECK(delta.packets[1] == 18);
  CHECK(delta.bytes[5] == 60);
  CHECK(delta.newFlows == 5);
}
