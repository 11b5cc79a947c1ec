// Flow records and sampled frames in the engine: estimates, how exact they are, and samples of them.
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "count/record_header.h"
#include "engine_fixture.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kVictim = kProtected + 1;

struct RecordFields {
  std::uint32_t destination = kVictim;
  std::uint64_t packets = 1;
  std::uint64_t bytes = 100;
  std::uint32_t rate = 1000;
  std::uint32_t durationMs = 0;
  std::uint16_t port = 53;
};
FlowRecord udpRecord(const RecordFields& fields) {
  FlowRecord record;
  record.packet.source = ipv4(kForeign + 1);
  record.packet.destination = ipv4(fields.destination);
  record.packet.wire = static_cast<std::uint32_t>(fields.bytes / std::max<std::uint64_t>(fields.packets, 1));
  record.packet.protocol = 17;
  record.packet.transport = Class::udp;
  record.packet.sourcePort = fields.port;
  record.packet.destinationPort = 1234;
  record.packets = fields.packets;
  record.bytes = fields.bytes;
  record.samplingRate = fields.rate;
  record.durationMs = fields.durationMs;
  return record;
}
FlowRecord synRecord(std::uint16_t port, std::uint32_t rate) {
  FlowRecord record = udpRecord({.rate = rate, .port = port});
  record.packet.protocol = 6;
  record.packet.transport = Class::tcp;
  record.packet.tcpFlags = tcp_flag::kSyn;
  record.packet.isSyn = true;
  return record;
}

class RecordFixture : public EngineFixture {
 public:
  using EngineFixture::EngineFixture;
  void countRecords(const std::vector<FlowRecord>& records) {
    shard->leaveIdle();
    shard->countRecords(records);
    shard->enterIdle();
  }
  /// Ticks of 100 ms with a worker that releases what is due.
  void run(unsigned ticks) {
    for (; ticks != 0; ticks--) {
      shard->leaveIdle();
      shard->releaseDue(nowNs / kMs);
      shard->enterIdle();
      tick();
    }
  }
  [[nodiscard]] std::vector<sample_record> samples(const Address& address, std::size_t most = 20'000) const {
    std::vector<std::uint8_t> bytes(most * sizeof(sample_record));
    std::vector<sample_record> records(engine.readSamples(address, bytes));
    for (std::size_t i = 0; i < records.size(); i++) {
      std::memcpy(&records[i], &bytes[i * sizeof(sample_record)], sizeof(sample_record));
    }
    return records;
  }
};

double standingFor(const std::vector<sample_record>& samples) {
  double sum = 0;
  for (const sample_record& sample : samples) sum += sample.stands_for;
  return sum;
}

}  // namespace

TEST_CASE("a record counts as what it stands for, with the variance of the estimate") {
  RecordFixture fixture;
  fixture.countRecords({udpRecord({.packets = 4, .bytes = 2000, .rate = 1000})});
  fixture.tick();
  const HostRow row = *fixture.host(ipv4(kVictim));
  CHECK(row.incoming(Metric::pps) == 4000);
  CHECK(row.incoming(Metric::udpPps) == 4000);
  CHECK(row.incoming(Metric::mbps) == doctest::Approx(2000 * 1000 * 8e-6));
  CHECK(row.incoming(Metric::flowsPerSec) == 1);
  CHECK(row.weights[0] == doctest::Approx(999));
  CHECK(row.weights[1] == doctest::Approx(999 * 500));
  CHECK(row.weights[2] == 0);
  const ShardStats stats = fixture.shard->stats();
  CHECK(stats.receivedPackets == 4000);
  CHECK(stats.countedPackets == 4000);
  CHECK(stats.receivedBytes == 2'000'000);
  // The group, and a tick's count of a watched host, are as exact as their only host.
  CHECK(fixture.group(0).weights[0] == doctest::Approx(999));
  CHECK(fixture.group(1).weights[0] == 0);
}

TEST_CASE("exact packets have no variance, and lessen that of a mix") {
  RecordFixture fixture;
  fixture.count(udpFrame(kForeign + 1, kVictim), 1000);
  fixture.tick();
  CHECK(fixture.host(ipv4(kVictim))->weights[0] == 0);
  fixture.countRecords({udpRecord({.rate = 1000})});
  fixture.count(udpFrame(kForeign + 1, kVictim), 1000);
  fixture.tick();
  const HostRow row = *fixture.host(ipv4(kVictim));
  CHECK(row.incoming(Metric::pps) == 3000);
  CHECK(row.weights[0] == doctest::Approx(999 * 1000.0 / 2000));
}

TEST_CASE("variances follow the mix within two windows") {
  RecordFixture fixture;
  for (unsigned i = 0; i < 20; i++) {
    fixture.countRecords({udpRecord({.rate = 10'000})});
    fixture.tick();
  }
  CHECK(fixture.host(ipv4(kVictim))->weights[0] == doctest::Approx(9999));
  for (unsigned i = 0; i < 20; i++) {
    fixture.countRecords({udpRecord({.rate = 10})});
    fixture.tick();
  }
  CHECK(fixture.host(ipv4(kVictim))->weights[0] == doctest::Approx(9));
}

TEST_CASE("few old samples keep their weight until the window has lost them") {
  RecordFixture fixture;
  fixture.tick(9);
  fixture.countRecords({udpRecord({.rate = 10'000}), udpRecord({.rate = 10'000, .port = 54})});
  for (unsigned i = 0; i < 10; i++) {
    fixture.tick();
    CHECK(fixture.pps(ipv4(kVictim)) == 20'000);
    CHECK(fixture.host(ipv4(kVictim))->weights[0] == doctest::Approx(9999));
  }
  fixture.tick();
  CHECK(fixture.pps(ipv4(kVictim)) == 0);
}

TEST_CASE("counts beyond 32 bits in one tick, for a host and for a network without a row") {
  EngineOptions options;
  options.maxHosts = 1;
  RecordFixture fixture(options);
  const FlowRecord large = udpRecord({.packets = 1'000'000, .bytes = 1'500'000'000, .rate = 10'000});
  FlowRecord other = large;
  other.packet.destination = ipv4(kProtected + 2);
  fixture.countRecords({large, large, other, other});
  fixture.tick();
  CHECK(fixture.pps(ipv4(kVictim)) == 2e10);
  CHECK(fixture.group(0).incoming(Metric::pps) == 4e10);
  CHECK(fixture.group(0).incoming(Metric::mbps) == doctest::Approx(4 * 1.5e13 * 8e-6));
  CHECK(fixture.group(0).weights[0] == doctest::Approx(9999));
  CHECK(fixture.engine.stats().untrackedPackets[0] == 20'000'000'000);
  // The second of them found a row in the shard's reserve, and no place among all hosts.
  CHECK(fixture.shard->stats().untrackedPackets == 10'000'000'000);
  CHECK(fixture.shard->stats().countedPackets == 30'000'000'000);
}

TEST_CASE("records count in the directions that they say, and outgoing ones only where that is counted") {
  EngineOptions options;
  options.countOutgoing = true;
  RecordFixture fixture(options);
  FlowRecord record = udpRecord({.rate = 100});
  record.packet.source = ipv4(kProtected + 9);
  record.countsIncoming = false;
  FlowRecord neither = record;
  neither.countsOutgoing = false;
  fixture.countRecords({record, neither});
  fixture.tick();
  CHECK_FALSE(fixture.host(ipv4(kVictim)).has_value());
  const HostRow row = *fixture.host(ipv4(kProtected + 9));
  CHECK(row.outgoing(Metric::pps) == 100);
  CHECK(row.weights[2] == doctest::Approx(99));
  CHECK(row.weights[0] == 0);
  CHECK(fixture.shard->stats().receivedPackets == 100);
}

TEST_CASE("sampled SYNs are one new flow for each packet of theirs, other flows one each") {
  RecordFixture fixture;
  fixture.countRecords({synRecord(1, 1000), synRecord(2, 1000), synRecord(2, 1000), udpRecord({.packets = 50})});
  fixture.tick();
  const HostRow row = *fixture.host(ipv4(kVictim));
  CHECK(row.incoming(Metric::flowsPerSec) == 2001);
  CHECK(row.incoming(Metric::tcpSynPps) == 3000);
}

TEST_CASE("what no exporter can have seen is cut, and counted as such") {
  RecordFixture fixture;
  FlowRecord lying = udpRecord({.packets = ~std::uint64_t{0}, .bytes = ~std::uint64_t{0}, .rate = 4'000'000'000});
  fixture.countRecords({lying});
  fixture.tick();
  CHECK(fixture.shard->recordStats().clamped == 1);
  const HostRow row = *fixture.host(ipv4(kVictim));
  CHECK(row.incoming(Metric::pps) == static_cast<double>(kRecordPacketsMax));
  CHECK(std::isfinite(row.weights[1]));
}

TEST_CASE("a record longer than the window is counted over the time that it lasted") {
  RecordFixture fixture;
  fixture.run(1);
  fixture.countRecords({udpRecord({.packets = 600, .bytes = 60'000, .rate = 100, .durationMs = 60'000})});
  // A short one counts at once beside it.
  fixture.countRecords({udpRecord({.packets = 7, .bytes = 700, .rate = 100, .durationMs = 1000, .port = 54})});
  fixture.tick();
  CHECK(fixture.pps(ipv4(kVictim)) == 700);
  fixture.run(20);
  double most = 0;
  for (unsigned i = 0; i < 570; i++) {
    fixture.run(1);
    most = std::max(most, fixture.pps(ipv4(kVictim)));
  }
  CHECK(fixture.pps(ipv4(kVictim)) == doctest::Approx(1000).epsilon(0.02));
  CHECK(most < 1020);
  CHECK(fixture.host(ipv4(kVictim))->weights[0] == doctest::Approx(99).epsilon(0.01));
  CHECK(fixture.shard->recordStats().spreading == 1);
  fixture.run(30);
  CHECK(fixture.pps(ipv4(kVictim)) == 0);
  CHECK(fixture.shard->recordStats().spreading == 0);
}

TEST_CASE("long records of all kinds of as many hosts as there may be find room to be spread") {
  constexpr std::uint32_t kHosts = 4096;
  RecordFixture fixture({.maxHosts = kHosts});
  fixture.run(1);
  for (const Class transport : {Class::tcp, Class::udp, Class::icmp, Class::other}) {
    std::vector<FlowRecord> records;
    for (std::uint32_t i = 0; i < kHosts; i++) {
      FlowRecord record = udpRecord({.destination = kProtected + i, .packets = 6000, .durationMs = 60'000});
      record.packet.transport = transport;
      records.push_back(record);
    }
    fixture.countRecords(records);
  }
  CHECK(fixture.shard->recordStats().unspread == 0);
  // Of some hosts the first one counts for their network: a row begins with the second.
  CHECK(fixture.shard->recordStats().spreading > 3 * kHosts);
  fixture.run(1);
  CHECK(fixture.pps(ipv4(kVictim)) < 4 * 110'000);
}

TEST_CASE("a host that leaves the networks takes with it what is spread") {
  RecordFixture fixture;
  fixture.run(1);
  fixture.countRecords({udpRecord({.packets = 600, .rate = 100, .durationMs = 6'000})});
  fixture.run(20);
  CHECK(fixture.pps(ipv4(kVictim)) == doctest::Approx(10'000).epsilon(0.02));
  setNetworks(fixture.engine, {{ipv4(kForeign), 120, 0, 0}});
  fixture.run(70);
  CHECK(fixture.group(0).incoming(Metric::pps) == 0);
  CHECK(fixture.shard->recordStats().spreading == 0);
}

TEST_CASE("frames of a sampled mirror count with the rate, the stats with the frames") {
  RecordFixture fixture;
  fixture.shard->setSamplingRate(50);
  fixture.count(udpFrame(kForeign + 1, kVictim), 20);
  fixture.tick();
  const HostRow row = *fixture.host(ipv4(kVictim));
  CHECK(row.incoming(Metric::pps) == 1000);
  CHECK(row.weights[0] == doctest::Approx(49));
  CHECK(fixture.shard->stats().receivedPackets == 20);
  CHECK(fixture.shard->stats().countedPackets == 20);
  CHECK(standingFor(fixture.samples(ipv4(kVictim))) == 1000);
}

TEST_CASE("samples stand for all packets, whatever the records have of them") {
  RecordFixture fixture;
  double sent = 0, stood = 0;
  for (std::uint32_t round = 0; round < 30; round++) {
    std::vector<FlowRecord> records;
    for (std::uint32_t i = 0; i < 3000; i++) {
      const std::uint64_t packets = i % 1000 == 0 ? 1'000'000 : 1 + i % 7;
      records.push_back(udpRecord({.packets = packets, .bytes = packets * 100, .rate = 10}));
      sent += static_cast<double>(packets) * 10;
    }
    fixture.countRecords(records);
    fixture.tick();
    double newest = 0;
    for (const sample_record& sample : fixture.samples(ipv4(kVictim))) {
      if (sample.age_ms == 100) newest += sample.stands_for;
    }
    stood += newest;
  }
  CHECK(stood == doctest::Approx(sent).epsilon(0.02));
}

TEST_CASE("a sample says where it was taken, and a record's header what the record has") {
  RecordFixture fixture;
  FlowRecord record = synRecord(4711, 100);
  // Each field has a number of its own, with all of its bits.
  std::uint32_t last = 0;
#define IN_SAMPLE(name, bits, ...) record.name = static_cast<std::uint##bits##_t>(~++last);
#include "flow_fields_abi.h"
  fixture.countRecords({record});
  fixture.tick();
  const auto samples = fixture.samples(ipv4(kVictim));
  REQUIRE(samples.size() == 1);
  last = 0;
#define IN_SAMPLE(name, bits, ...) CHECK(samples[0].name == static_cast<std::uint##bits##_t>(~++last));
#include "flow_fields_abi.h"
  CHECK(samples[0].is_made == 1);
  CHECK(samples[0].verdict == FILTER_VERDICTS);
  CHECK(samples[0].stands_for == 100);
  const Bytes header = udpFrame(kForeign + 1, kVictim);
  FlowRecord sampled = udpRecord({});
  sampled.header = header.data();
  sampled.headerBytes = static_cast<std::uint32_t>(header.size());
  sampled.link = Link::ethernet;
  fixture.countRecords({sampled});
  fixture.tick();
  const sample_record newest = fixture.samples(ipv4(kVictim)).back();
  CHECK(newest.is_made == 0);
  CHECK(newest.captured_bytes == header.size());
}

TEST_CASE("the header that is made of a record reads as the record's packet") {
  const auto check = [](const Packet& packet) {
    FlowRecord record;
    record.packet = packet;
    RecordHeader bytes;
    Packet read;
    const Frame frame = frameOf(record, bytes);
    REQUIRE(frame.captured <= bytes.size());
    REQUIRE(parsePacket(frame, Link::ethernet, read) == ParseError::none);
    CHECK(read.source == packet.source);
    CHECK(read.destination == packet.destination);
    CHECK(read.protocol == packet.protocol);
    CHECK(read.transport == packet.transport);
    CHECK(read.sourcePort == packet.sourcePort);
    CHECK(read.destinationPort == packet.destinationPort);
    CHECK(read.tcpFlags == packet.tcpFlags);
    CHECK(read.isSyn == packet.isSyn);
    CHECK(read.isFragment == packet.isFragment);
    CHECK(read.isLaterFragment == packet.isLaterFragment);
  };
  const Bytes v6Tcp = ethernet(0x86dd) + ipv6Packet({.nextHeader = 6}, tcp(80, 1025, tcp_flag::kSyn));
  const Bytes fragments = ipv4Packet({.fragment = 0x2000}, udp(53, 4000, 500));
  const std::vector<Bytes> frames = {
      udpFrame(kForeign + 1, kVictim),
      v6Tcp,
      ethernet(0x86dd) + ipv6Packet({.nextHeader = 44}, Bytes{17, 0, 0, 1, 0, 0, 0, 9} + udp(53, 99, 8)),
      ethernet(0x86dd) + ipv6Packet({.nextHeader = 44}, Bytes{17, 0, 0, 9, 0, 0, 0, 9} + udp(53, 99, 8)),
      ethernet(0x0800) + fragments,
      ethernet(0x0800) + ipv4Packet({.fragment = 0x2001}, Bytes(100, 0)),
      ethernet(0x0800) + ipv4Packet({.protocol = 6}, tcp(80, 1025, 0xff)),
      ethernet(0x0800) + ipv4Packet({.protocol = 1}, Bytes(64, 0)),
      ethernet(0x0800) + ipv4Packet({.protocol = 47}, Bytes(64, 0)),
  };
  for (const Bytes& frame : frames) {
    Packet packet;
    REQUIRE(parsePacket(frameOf(frame), Link::ethernet, packet) == ParseError::none);
    check(packet);
    // A record without bytes has no length.
    packet.wire = 0;
    check(packet);
  }
}

TEST_CASE(
    "of a record that names two packets the one counts that is in a network, of both as tunnels are taken apart") {
  const Bytes ours = {10, 1, 0, 9}, others = {198, 51, 100, 9};
  const auto hostsOf = [&](std::uint32_t inner, const Bytes& outer, Encapsulations kinds) {
    RecordFixture fixture;
    std::vector<FlowRecord> records = {udpRecord({.destination = inner})};
    records[0].outerBytes = 4;
    records[0].outerProtocol = 4;
    records[0].outerDestination = outer.data();
    fixture.shard->leaveIdle();
    fixture.shard->chooseLayers(records, kinds);
    fixture.shard->enterIdle();
    return records[0].packet;
  };
  const Encapsulations none{}, some{Encapsulation::ipip};
  CHECK(hostsOf(kVictim, others, none).destination == ipv4(kVictim));
  CHECK(hostsOf(kVictim, others, some).destination == ipv4(kVictim));
  CHECK(hostsOf(kForeign, ours, some).destination == ipv4(0x0a010009));
  CHECK(hostsOf(kVictim, ours, some).destination == ipv4(kVictim));
  const Packet around = hostsOf(kVictim, ours, none);
  CHECK(around.destination == ipv4(0x0a010009));
  CHECK(around.protocol == 4);
  CHECK(around.transport == Class::other);
}
