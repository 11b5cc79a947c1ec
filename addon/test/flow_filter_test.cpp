#include "count/flow_filter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "count/address_hash.h"
#include "packets.h"
#include "random.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint32_t kEpochsPerSecond = 10;

}  // namespace

TEST_CASE("a flow is new once") {
  FlowFilter filter;
  CHECK(filter.isNew(42, 1));
  CHECK_FALSE(filter.isNew(42, 1));
  CHECK_FALSE(filter.isNew(42, 5));
  CHECK(filter.isNew(43, 5));
}

TEST_CASE("a million new flows a second are counted within two percent, beside long-lived flows that send on") {
  SHOW_SEED();
  Random random;
  FlowFilter filter;
  // Each long-lived flow sends once a second for five seconds; a million others come once, or twice in a row.
  std::vector<std::uint64_t> longLived(100'000);
  for (auto& flow : longLived) flow = random.bits();
  std::uint64_t counted = 0;
  const auto send = [&](std::uint64_t flow, std::uint32_t epoch) { counted += filter.isNew(flow, epoch) ? 1U : 0U; };
  std::uint32_t epoch = 0;
  for (int second = 0; second < 5; second++) {
    const std::uint64_t before = counted;
    for (std::uint32_t tick = 0; tick < kEpochsPerSecond; tick++, epoch++) {
      filter.prepareGrowth();
      for (std::size_t i = tick; i < longLived.size(); i += kEpochsPerSecond) send(longLived[i], epoch);
      for (std::uint32_t i = 0; i < 1'000'000 / kEpochsPerSecond; i++) {
        const std::uint64_t flow = random.bits();
        send(flow, epoch);
        if (i % 4 == 0) send(flow, epoch);
      }
    }
    // Of 64 random bits none is drawn twice.
    const double exact = 1'000'000.0 + (second == 0 ? static_cast<double>(longLived.size()) : 0.0);
    CAPTURE(second);
    CHECK(static_cast<double>(counted - before) == doctest::Approx(exact).epsilon(0.02));
  }
}

TEST_CASE("a long-lived flow is not counted again while few flows are new") {
  SHOW_SEED();
  Random random;
  FlowFilter filter;
  std::vector<std::uint64_t> flows(10'000);
  for (auto& flow : flows) flow = random.bits();
  std::uint64_t counted = 0;
  for (std::uint32_t second = 0; second < 30; second++) {
    for (const std::uint64_t flow : flows) counted += filter.isNew(flow, second * kEpochsPerSecond) ? 1U : 0U;
    for (int i = 0; i < 10'000; i++) (void)filter.isNew(random.bits(), second * kEpochsPerSecond);
  }
  // By chance a set may get more than its 16 flows within a second.
  CHECK(static_cast<double>(counted) == doctest::Approx(static_cast<double>(flows.size())).epsilon(0.001));
}

TEST_CASE("the flow that was unused for longest makes room, not one of the present epoch") {
  FlowFilter filter;
  // Hashes that differ in their lowest bits are flows of one set, which has room for 16.
  const auto flow = [](std::uint64_t n) { return (n + 1) << 1; };
  for (std::uint64_t n = 0; n < 16; n++) CHECK(filter.isNew(flow(n), static_cast<std::uint32_t>(n)));
  CHECK(filter.isNew(flow(16), 16));
  CHECK(filter.isNew(flow(17), 16));
  for (std::uint64_t n = 2; n < 18; n++) CHECK_FALSE(filter.isNew(flow(n), 16));
}

TEST_CASE("memory follows the number of flows, and no flow is lost while it grows") {
  SHOW_SEED();
  Random random;
  FlowFilter filter;
  std::vector<std::uint64_t> flows(100'000);
  for (auto& flow : flows) flow = random.bits();
  std::uint64_t counted = 0;
  for (std::size_t first = 0; first < flows.size(); first += 1000) {
    for (std::size_t i = first; i < first + 1000; i++) counted += filter.isNew(flows[i], 1) ? 1U : 0U;
    for (std::size_t i = 0; i < first; i += 97) counted += filter.isNew(flows[i], 1) ? 1U : 0U;
  }
  CHECK(filter.residentBytes() <= std::size_t{4} << 20);
  // Of 100,000, two are taken for known ones.
  CHECK(static_cast<double>(counted) == doctest::Approx(static_cast<double>(flows.size())).epsilon(0.001));
}

TEST_CASE("beyond its first memory the filter grows only into memory that is committed, a part with each call") {
  SHOW_SEED();
  Random random;
  FlowFilter filter;
  const auto flood = [&] {
    for (int i = 0; i < 1'000'000; i++) (void)filter.isNew(random.bits(), 1);
  };
  flood();
  const std::size_t before = filter.residentBytes();
  CHECK(before <= std::size_t{4} << 20);
  filter.prepareGrowth();
  CHECK(filter.residentBytes() == before + (std::size_t{2} << 20));
  for (int i = 0; i < 6; i++) {
    flood();
    filter.prepareGrowth();
  }
  CHECK(filter.residentBytes() >= std::size_t{16} << 20);
  const std::size_t most = filter.residentBytes();
  flood();
  filter.prepareGrowth();
  CHECK(filter.residentBytes() == most);
}

TEST_CASE("every part of the five-tuple makes another flow, and its direction does too") {
  const AddressHash hash;
  Packet packet;
  packet.source = ipv4(kForeign);
  packet.destination = ipv4(kProtected);
  packet.protocol = 6;
  packet.sourcePort = 1000;
  packet.destinationPort = 2000;
  std::vector<Packet> packets(7, packet);
  packets[1].source = ipv4(kForeign + 1);
  packets[2].destination = ipv4(kProtected + 1);
  packets[3].protocol = 17;
  packets[4].sourcePort++;
  packets[5].destinationPort++;
  std::swap(packets[6].source, packets[6].destination);
  std::swap(packets[6].sourcePort, packets[6].destinationPort);
  std::unordered_set<std::uint64_t> hashes;
  for (const Packet& each : packets) hashes.insert(hash.ofFlow(each, hash.of(each.destination)));
  CHECK(hashes.size() == packets.size());
  CHECK(hash.of(packet.source) != AddressHash().of(packet.source));
}
