// What is kept of a host's packets from before an attack.
#include "count/host_profiles.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "engine_fixture.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kTicksPerSecond = 10;

Bytes frameTo(std::uint32_t host, std::uint16_t port, std::uint8_t ttl = 0) {
  Bytes bytes =
      ethernet(0x0800) + ipv4Packet({.source = kForeign + 1, .destination = kProtected + host}, udp(port, 53));
  if (ttl != 0) bytes[22] = ttl;
  return bytes;
}
std::vector<profile_record> profileOf(const Engine& engine, const Address& address, std::size_t most = 1000) {
  std::vector<profile_record> records(most);
  records.resize(engine.readProfile(address, records));
  return records;
}
double weightOf(const std::vector<profile_record>& records, std::uint16_t port) {
  double own = 0, all = 0;
  for (const profile_record& record : records) {
    all += record.stands_for;
    if (record.source_port == port) own += record.stands_for;
  }
  return own / all;
}
void watch(Engine& engine, const Address& address) { engine.setWatched(address.bytes); }

/// Seconds of packets: `each` says how many of a host in a tick, and their ports.
template <typename Each>
void run(EngineFixture& fixture, unsigned seconds, Each&& each) {
  for (unsigned tick = 0; tick < seconds * kTicksPerSecond; tick++) {
    each(tick);
    fixture.tick();
  }
}

const Address kHost = ipv4(kProtected + 1);

}  // namespace

TEST_CASE("a host with a two-thousandth of the traffic has a profile within a minute, and its headers are whole") {
  EngineFixture fixture;
  const Bytes quiet = frameTo(1, 4000, 57);
  std::vector<Bytes> busy;
  for (std::uint32_t i = 2; i < 102; i++) busy.push_back(frameTo(i, 1));
  run(fixture, 60, [&](unsigned) {
    fixture.count(quiet, 4);
    for (const Bytes& frame : busy) fixture.count(frame, 80);
  });
  const auto records = profileOf(fixture.engine, kHost);
  CHECK(records.size() >= 48);
  CHECK(records.size() <= kProfilePackets + kProfileYoung);
  const profile_record& one = records.at(0);
  CHECK(std::memcmp(one.source, ipv4(kForeign + 1).bytes.data() + 12, 4) == 0);
  CHECK(one.source_port == 4000);
  CHECK(one.destination_port == 53);
  CHECK(one.protocol == 17);
  CHECK(one.ttl == 57);
  CHECK(one.header_bits == RECORD_PORTS);
  CHECK(one.packet_bytes + one.frame_bytes == quiet.size());
}

TEST_CASE("ten seconds of a small host are enough to distinguish its users") {
  EngineFixture fixture;
  const Bytes often = frameTo(1, 1), seldom = frameTo(1, 2);
  run(fixture, 10, [&](unsigned) {
    fixture.count(often, 6);
    fixture.count(seldom, 2);
  });
  const auto records = profileOf(fixture.engine, kHost);
  CHECK(records.size() >= 48);
  CHECK(weightOf(records, 2) > 0.1);
  CHECK(weightOf(records, 2) < 0.45);
}

TEST_CASE("the shares of a profile are those of the packets, whatever the rate was at their time") {
  SHOW_SEED();
  Random random;
  const std::vector<Bytes> frames = {frameTo(1, 1), frameTo(1, 2), frameTo(1, 3)};
  double share = 0;
  constexpr int kRuns = 8;
  // First half of the time ten times as many packets, of which none has port 2; a quarter of all later ones have.
  for (int i = 0; i < kRuns; i++) {
    EngineFixture one;
    run(one, 40, [&](unsigned tick) {
      const bool isBusy = tick < 200;
      for (int n = isBusy ? 50 : 5; n != 0; n--) one.count(frames[!isBusy && random.below(4) == 0 ? 1 : 0]);
    });
    share += weightOf(profileOf(one.engine, kHost), 2) / kRuns;
  }
  // Of 11,000 packets 250 have it.
  CHECK(share > 0.01);
  CHECK(share < 0.05);
}

TEST_CASE("the first packet after a silence is not all that a profile shows") {
  EngineFixture fixture;
  // A connection every half second: one packet opens it, nine follow at once.
  const Bytes first = frameTo(1, 1), next = frameTo(1, 2);
  run(fixture, 300, [&](unsigned tick) {
    if (tick % 5 != 0) return;
    fixture.count(first);
    fixture.count(next, 9);
  });
  const double share = weightOf(profileOf(fixture.engine, kHost), 1);
  CHECK(share < 0.25);
}

TEST_CASE("what comes shortly before an attack is found, and while it lasts, is not part of the profile") {
  EngineFixture fixture;
  fixture.engine.setProfileDelay(1500);
  const Bytes user = frameTo(1, 1), attack = frameTo(1, 2);
  run(fixture, 30, [&](unsigned) { fixture.count(user, 5); });
  const std::size_t before = profileOf(fixture.engine, kHost).size();
  run(fixture, 1, [&](unsigned) { fixture.count(attack, 500); });
  CHECK(weightOf(profileOf(fixture.engine, kHost), 2) == 0);
  watch(fixture.engine, kHost);
  run(fixture, 20, [&](unsigned) { fixture.count(attack, 500); });
  watch(fixture.engine, ipv4(kProtected + 9));
  run(fixture, 1, [&](unsigned) { fixture.count(user, 5); });
  const auto after = profileOf(fixture.engine, kHost);
  CHECK(after.size() >= before);
  // Young packets of the first second are as old as the delay by now; what came while it was watched is not there.
  std::size_t attacked = 0;
  for (const profile_record& record : after) attacked += record.source_port == 2 ? 1 : 0;
  CHECK(attacked <= 3);
}

TEST_CASE("an attack that is found late leaves the packets of before it") {
  EngineFixture fixture;
  fixture.engine.setProfileDelay(60'000);
  run(fixture, 120, [&, user = frameTo(1, 1)](unsigned) { fixture.count(user, 5); });
  const std::size_t before = profileOf(fixture.engine, kHost).size();
  CHECK(before > 0);
  run(fixture, 50, [&, attack = frameTo(1, 2)](unsigned) { fixture.count(attack, 500); });
  const auto records = profileOf(fixture.engine, kHost);
  CHECK(records.size() >= before);
  CHECK(weightOf(records, 2) == 0);
}

TEST_CASE("what a host received before its attack weighs nothing of the attack afterwards") {
  EngineFixture fixture;
  const Bytes user = frameTo(1, 1), other = frameTo(1, 3);
  run(fixture, 30, [&](unsigned) { fixture.count(user, 5); });
  watch(fixture.engine, kHost);
  run(fixture, 5, [&](unsigned) { fixture.count(user, 2000); });
  watch(fixture.engine, ipv4(kProtected + 9));
  run(fixture, 20, [&](unsigned) { fixture.count(other, 5); });
  // A packet that stood for the attack would outweigh all others.
  const double share = weightOf(profileOf(fixture.engine, kHost), 3);
  CHECK(share > 0.05);
  CHECK(share < 0.8);
}

TEST_CASE("flow records are in the profile by their packets") {
  EngineFixture fixture;
  FlowRecord one;
  Packet& packet = one.packet;
  packet.source = ipv4(kForeign + 1);
  packet.destination = kHost;
  packet.protocol = 17;
  packet.transport = Class::udp;
  packet.sourcePort = 1;
  packet.destinationPort = 53;
  packet.wire = 100;
  one.packets = 30;
  one.bytes = 3000;
  one.samplingRate = 1;
  one.countsIncoming = true;
  FlowRecord other = one;
  other.packet.sourcePort = 2;
  other.packets = 10;
  other.bytes = 1000;
  run(fixture, 120, [&](unsigned) {
    fixture.shard->leaveIdle();
    // In turn, so that each is as often the next one.
    const std::array<FlowRecord, 4> records = {one, other, other, one};
    for (const FlowRecord& record : records) fixture.shard->countRecords(std::span(&record, 1));
    fixture.shard->enterIdle();
  });
  const auto records = profileOf(fixture.engine, kHost);
  REQUIRE(records.size() > 20);
  CHECK(weightOf(records, 1) > 0.5);
  CHECK(weightOf(records, 1) < 0.95);
}

TEST_CASE("headers that the kernel sampled are in the profile") {
  EngineFixture fixture;
  const Bytes bytes = frameTo(1, 7);
  Counters counters;
  counters.packets[1] = 50;
  counters.bytes[1] = 5000;
  run(fixture, 30, [&](unsigned) {
    fixture.shard->leaveIdle();
    fixture.shard->addHostCounts(kHost, Direction::incoming, counters);
    fixture.shard->addSample(frameOf(bytes), Link::ethernet, FILTER_VERDICTS);
    fixture.shard->enterIdle();
  });
  CHECK(weightOf(profileOf(fixture.engine, kHost), 7) == 1);
}

TEST_CASE("the same packets give the same profile") {
  const auto once = [] {
    EngineFixture fixture;
    std::mt19937_64 random(3);
    run(fixture, 60, [&](unsigned) {
      for (int i = 0; i < 20; i++) fixture.count(frameTo(1, static_cast<std::uint16_t>(random() % 50'000)));
    });
    return profileOf(fixture.engine, kHost);
  };
  const auto first = once(), second = once();
  REQUIRE(first.size() == second.size());
  CHECK(std::memcmp(first.data(), second.data(), first.size() * sizeof(profile_record)) == 0);
}

TEST_CASE("profiles are handed over in chunks, each host once") {
  EngineFixture fixture;
  run(fixture, 20, [&](unsigned) {
    for (std::uint32_t host = 0; host < 10; host++) fixture.count(frameTo(host, 1), 5);
  });
  std::set<std::uint8_t> hosts;
  std::vector<profile_row> rows(3);
  for (std::int64_t cursor = 0; cursor >= 0;) {
    const HostChunk chunk = fixture.engine.readProfiles(cursor, rows);
    for (std::uint32_t i = 0; i < chunk.count; i++) {
      CHECK(rows[i].count > 0);
      CHECK(hosts.insert(rows[i].address[15]).second);
    }
    cursor = chunk.next;
  }
  CHECK(hosts.size() == 10);
}

TEST_CASE("a profile that is read while it is written is whole, and of the requested host" *
          doctest::test_suite("threads")) {
  const auto control = std::make_shared<ProfileControl>();
  control->delayEpochs = 1;
  HostProfiles profiles(control, kTicksPerSecond);
  const AddressHash hash(1);
  std::atomic<bool> isOver = false;
  std::uint64_t read = 0, torn = 0;
  // Every packet says of which host it is.
  const auto addressOf = [](std::uint32_t host) { return ipv4(0x0a000000 + host); };
  std::thread reader([&] {
    std::vector<profile_record> records;
    while (!isOver.load(std::memory_order_relaxed)) {
      for (std::uint32_t host = 0; host < 4; host++) {
        records.clear();
        profiles.read(addressOf(host), hash.of(addressOf(host)), 1'000'000, records);
        read += records.size();
        for (const profile_record& record : records) {
          torn += record.source_port == host && record.destination_port == host && record.ttl == host ? 0 : 1;
        }
      }
    }
  });
  HeaderSummary header;
  header.bits = RECORD_PORTS;
  for (std::uint32_t epoch = 1; epoch < 20'000; epoch++) {
    profiles.adopt(epoch, 4);
    const std::uint32_t host = epoch % 4;
    header.packet.sourcePort = header.packet.destinationPort = static_cast<std::uint16_t>(host);
    header.ttl = static_cast<std::uint8_t>(host);
    const Address address = addressOf(host);
    profiles.take({address, hash.of(address), host, epoch}, header, 1);
    if (epoch % 64 == 0) std::this_thread::yield();
  }
  isOver = true;
  reader.join();
  CHECK(read > 0);
  CHECK(torn == 0);
}

namespace {

/// Profiles by themselves: a packet of each host at each of its turns.
class Table {
 public:
  explicit Table(std::shared_ptr<ProfileControl> control) : profiles(std::move(control), kTicksPerSecond) {}

  void epochs(std::uint32_t count, std::uint32_t first, std::uint32_t end) {
    for (; count != 0; count--) {
      profiles.adopt(++epoch_, end - first);
      for (std::uint32_t host = first; host < end; host++) {
        if (!profiles.isTurnOf(host)) continue;
        const Address address = ipv4(0x0a000000 + host);
        const HostProfiles::Host at{address, hash_.of(address), host, ++packets_};
        if (profiles.isDue(at)) profiles.take(at, header_, 1);
      }
    }
  }
  [[nodiscard]] std::size_t packetsOf(std::uint32_t host) const {
    std::vector<profile_record> records;
    const Address address = ipv4(0x0a000000 + host);
    profiles.read(address, hash_.of(address), epoch_ + 100, records);
    return records.size();
  }

  HostProfiles profiles;

 private:
  AddressHash hash_{1};
  HeaderSummary header_;
  std::uint32_t epoch_ = 0;
  std::uint32_t packets_ = 0;
};

}  // namespace

TEST_CASE("all workers together have a bounded number of profiles, and a late one has a few of its own") {
  const auto control = std::make_shared<ProfileControl>();
  {
    Table first(control), second(control);
    first.epochs(200, 0, 100'000);
    CHECK(control->hosts == kProfiledHostsMax);
    CHECK(first.profiles.end() == kProfiledHostsMax);
    second.epochs(40, 0, 10'000);
    CHECK(second.profiles.end() == kProfiledHostsOwn);
    CHECK(first.profiles.residentBytes() < std::size_t{70} << 20);
  }
  CHECK(control->hosts == 0);
}

TEST_CASE("hosts that are seen keep their profiles, and those that are gone make room") {
  const auto control = std::make_shared<ProfileControl>();
  Table table(control);
  table.epochs(200, 0, 100'000);
  std::uint32_t kept = 0;
  for (std::uint32_t host = 0; host < 100'000; host++) kept += table.packetsOf(host) > 0 ? 1U : 0U;
  CHECK(kept == kProfiledHostsMax);
  // A minute and more without a packet of them.
  table.epochs(900, 200'000, 210'000);
  std::uint32_t others = 0;
  for (std::uint32_t host = 200'000; host < 210'000; host++) others += table.packetsOf(host) > 0 ? 1U : 0U;
  CHECK(others > 9'000);
  CHECK(control->hosts <= kProfiledHostsMax);
}

TEST_CASE("hosts of a packet or two do not push out hosts that are seen") {
  const auto control = std::make_shared<ProfileControl>();
  Table table(control);
  table.epochs(100, 0, 1'000);
  for (std::uint32_t round = 0; round < 40; round++) {
    table.epochs(4, 10'000 + round * 2'000, 12'000 + round * 2'000);
    table.epochs(4, 0, 1'000);
  }
  std::uint32_t kept = 0;
  for (std::uint32_t host = 0; host < 1'000; host++) kept += table.packetsOf(host) > 10 ? 1U : 0U;
  CHECK(kept == 1'000);
}
