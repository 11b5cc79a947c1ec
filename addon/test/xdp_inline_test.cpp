#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "inline_box.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

constexpr std::uint8_t kTcp = 6, kUdp = 17, kIcmp = 1, kIcmp6 = 58, kGre = 47;
const Bytes kIpv4 = ethernet(0x0800);
const Bytes kIpv6 = ethernet(0x86dd);

Bytes padded(Bytes frame) {
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

Bytes cut(Bytes frame, std::size_t length) {
  frame.resize(length);
  return frame;
}

std::uint32_t packetsOf(const Counters& totals, Class ofClass) {
  return totals.packets[static_cast<std::size_t>(ofClass)];
}

std::uint64_t sumOfOutcomes(const inline_stats& stats) {
  std::uint64_t sum = stats.counted_packets + stats.untracked_packets + stats.foreign_packets;
  for (const __u64 count : stats.errors) sum += count;
  return sum;
}

/// The frame with this as the last byte of its destination, which is 10.1.0.1 or 2001:db8:1::1.
Bytes withHost(Bytes frame, bool isIpv6, std::uint8_t host) {
  const Address destination = isIpv6 ? ipv6(1, 1) : ipv4(kProtected + 1);
  const auto* from = destination.bytes.data() + (isIpv6 ? 0 : 12);
  const auto at = std::search(frame.begin(), frame.end(), from, destination.bytes.data() + 16);
  REQUIRE(at != frame.end());
  *(at + (isIpv6 ? 15 : 3)) = host;
  return frame;
}

struct CountedShape {
  const char* name;
  Bytes frame;
  std::vector<Class> classes;
  bool isNewFlow = true;
  bool isIpv6 = false;
};

std::vector<CountedShape> countedShapes() {
  const Bytes udpPacket = ipv4Packet({}, udp(4000, 53));
  const auto tcpPacket = [](std::uint8_t flags) { return ipv4Packet({.protocol = kTcp}, tcp(4000, 80, flags)); };
  // Next header, length 0 (8 bytes), then padding.
  const auto extension = [](std::uint8_t next) { return Bytes{next, 0, 0, 0, 0, 0, 0, 0}; };
  return {
      {"UDP over IPv4", kIpv4 + udpPacket, {Class::udp}},
      {"UDP over IPv4, padded to the least frame", padded(kIpv4 + udpPacket), {Class::udp}},
      {"802.1Q", ethernet(0x8100) + vlanTag(0x0800) + udpPacket, {Class::udp}},
      {"QinQ", ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x0800) + udpPacket, {Class::udp}},
      {"TCP SYN", kIpv4 + tcpPacket(tcp_flag::kSyn), {Class::tcp, Class::tcpSyn}},
      {"TCP SYN with ACK", kIpv4 + tcpPacket(tcp_flag::kSyn | tcp_flag::kAck), {Class::tcp}},
      {"TCP ACK", kIpv4 + tcpPacket(tcp_flag::kAck), {Class::tcp}},
      {"TCP whose header is cut", cut(kIpv4 + tcpPacket(tcp_flag::kSyn), 14 + 20 + 13), {Class::tcp}},
      {"ICMP", kIpv4 + ipv4Packet({.protocol = kIcmp}, Bytes(8)), {Class::icmp}},
      {"GRE", kIpv4 + ipv4Packet({.protocol = kGre}, Bytes(8)), {Class::other}},
      {"IPv4 with options", kIpv4 + ipv4Packet({.options = 10}, udp(4000, 53)), {Class::udp}},
      {"a first fragment", kIpv4 + ipv4Packet({.fragment = 0x2000}, udp(4000, 53)), {Class::udp, Class::fragment}},
      {"a later fragment", kIpv4 + ipv4Packet({.fragment = 185}, Bytes(64)), {Class::udp, Class::fragment}, false},
      {"a total length of 0", kIpv4 + ipv4Packet({.totalLength = 0}, udp(4000, 53)), {Class::udp}},
      {"UDP over IPv6", kIpv6 + ipv6Packet({}, udp(4000, 53)), {Class::udp}, true, true},
      {"ICMPv6", kIpv6 + ipv6Packet({.nextHeader = kIcmp6}, Bytes(8)), {Class::icmp}, true, true},
      {"IPv6 with extension headers",
       kIpv6 + ipv6Packet({.nextHeader = 0}, extension(60) + extension(43) + extension(kUdp) + udp(4000, 53)),
       {Class::udp},
       true,
       true},
      {"a later fragment of IPv6",
       kIpv6 + ipv6Packet({.nextHeader = 44}, Bytes{kUdp, 0, 5, 0xa0, 0, 0, 0, 1}),
       {Class::udp, Class::fragment},
       false,
       true},
      {"an extension header that is cut",
       kIpv6 + ipv6Packet({.nextHeader = 60}, Bytes{kUdp}),
       {Class::other},
       true,
       true},
  };
}

struct RefusedShape {
  const char* name;
  Bytes frame;
  inline_error error;
};

std::vector<RefusedShape> refusedShapes() {
  const Bytes ipv4Frame = kIpv4 + ipv4Packet({}, udp(4000, 53));
  const Bytes ipv6Frame = kIpv6 + ipv6Packet({}, udp(4000, 53));
  Bytes wrongVersion = ipv4Frame, shortHeader = ipv4Frame, wrongVersion6 = ipv6Frame;
  wrongVersion[14] = 0x65;
  shortHeader[14] = 0x44;
  wrongVersion6[14] = 0x40;
  Bytes nineTags = ethernet(0x88a8);
  for (int i = 0; i < 8; i++) nineTags = nineTags + vlanTag(0x8100);
  nineTags = nineTags + vlanTag(0x0800);
  return {
      {"a tag that is cut", cut(ethernet(0x8100) + vlanTag(0x0800), 16), INLINE_TRUNCATED_ETHERNET},
      {"nine tags", nineTags + ipv4Packet({}, udp(4000, 53)), INLINE_TOO_MANY_VLAN_TAGS},
      {"ARP", padded(ethernet(0x0806)), INLINE_NOT_IP},
      {"an IPv4 header that is cut", cut(ipv4Frame, 14 + 19), INLINE_TRUNCATED_IPV4},
      {"IPv4 of another version", wrongVersion, INLINE_BAD_IPV4_HEADER},
      {"an IPv4 header of 16 bytes", shortHeader, INLINE_BAD_IPV4_HEADER},
      {"a total length below the header's", kIpv4 + ipv4Packet({.totalLength = 19}, udp(1, 2)), INLINE_BAD_IPV4_HEADER},
      {"an IPv6 header that is cut", cut(ipv6Frame, 14 + 39), INLINE_TRUNCATED_IPV6},
      {"IPv6 of another version", wrongVersion6, INLINE_BAD_IPV6_HEADER},
      {"IPv6 to a mapped address", kIpv6 + ipv6Packet({.destination = ipv4(kProtected + 1)}, udp(1, 2)),
       INLINE_BAD_IPV6_HEADER},
  };
}

}  // namespace

TEST_CASE("xdp inline: counts every shape of packet to its host and passes it on unchanged") {
  if (cannotRunXdp("xdp inline: counts every shape of packet")) return;
  InlineBox box;
  std::uint8_t number = 0;
  for (const CountedShape& shape : countedShapes()) {
    CAPTURE(shape.name);
    // A flow and a host of its own.
    const Bytes frame = withHost(shape.frame, shape.isIpv6, ++number);
    const inline_stats before = box.program.stats();
    CHECK(box.run(frame) == XDP_PASS);
    const Counters totals = box.host(shape.isIpv6 ? ipv6(1, number) : ipv4(kProtected + number));
    Counters expected;
    for (const Class counted : shape.classes) {
      expected.packets[static_cast<std::size_t>(counted)] = 1;
      expected.bytes[static_cast<std::size_t>(counted)] = static_cast<std::uint32_t>(frame.size());
    }
    expected.newFlows = shape.isNewFlow ? 1 : 0;
    CHECK(isSame(totals, expected));
    const inline_stats after = box.program.stats();
    CHECK(after.received_packets - before.received_packets == 1);
    CHECK(after.received_bytes - before.received_bytes == frame.size());
    CHECK(after.counted_packets - before.counted_packets == 1);
  }
}

TEST_CASE("xdp inline: counts what cannot be read by reason and passes it on unchanged") {
  if (cannotRunXdp("xdp inline: counts what cannot be read by reason")) return;
  const InlineBox box;
  for (const RefusedShape& shape : refusedShapes()) {
    CAPTURE(shape.name);
    const inline_stats before = box.program.stats();
    CHECK(box.run(shape.frame) == XDP_PASS);
    const inline_stats after = box.program.stats();
    CHECK(after.received_packets - before.received_packets == 1);
    CHECK(after.errors[shape.error] - before.errors[shape.error] == 1);
    CHECK(sumOfOutcomes(after) - sumOfOutcomes(before) == 1);
  }
}

TEST_CASE("xdp inline: makes no row for an address outside the networks") {
  if (cannotRunXdp("xdp inline: makes no row for an address outside")) return;
  InlineBox box;
  // The first does not get through the filter of first bits; the second does, and fits no prefix.
  CHECK(box.run(udpFrame(kForeign, kForeign + 7)) == XDP_PASS);
  CHECK(box.run(kIpv6 + ipv6Packet({.destination = ipv6(2, 1)}, udp(1, 2))) == XDP_PASS);
  CHECK(box.program.stats().foreign_packets == 2);
  CHECK_FALSE(box.hasHost(ipv4(kForeign + 7)));
  CHECK_FALSE(box.hasHost(ipv6(2, 1)));
}

TEST_CASE("xdp inline: counts the source only where outgoing traffic is counted") {
  if (cannotRunXdp("xdp inline: counts the source only where asked")) return;
  const Bytes outgoing = udpFrame(kProtected + 1, kForeign), both = udpFrame(kProtected + 1, kProtected + 2);
  {
    InlineBox box;
    box.run(outgoing);
    CHECK(box.program.stats().foreign_packets == 1);
  }
  InlineBox box({.maxHosts = 16, .countOutgoing = true});
  box.run(outgoing);
  box.run(both);
  // What goes to a host of ours anyone can send in the name of another.
  CHECK(packetsOf(box.host(ipv4(kProtected + 1), Direction::outgoing), Class::udp) == 1);
  CHECK(packetsOf(box.host(ipv4(kProtected + 2), Direction::incoming), Class::udp) == 1);
  CHECK_FALSE(box.hasHost(ipv4(kProtected + 1), Direction::incoming));
  CHECK(box.program.stats().counted_packets == 2);
  CHECK(sumOfOutcomes(box.program.stats()) == box.program.stats().received_packets);
}

TEST_CASE("xdp inline: counts hosts beyond the bound to their network") {
  if (cannotRunXdp("xdp inline: counts hosts beyond the bound to their network")) return;
  InlineBox box({.maxHosts = 64});
  constexpr std::uint32_t kHosts = 200;
  for (std::uint32_t host = 0; host < kHosts; host++) box.run(udpFrame(kForeign, kProtected + host));
  std::uint32_t rows = 0;
  for (std::uint32_t host = 0; host < kHosts; host++) rows += box.hasHost(ipv4(kProtected + host)) ? 1U : 0U;
  CHECK(rows == 64);
  const inline_stats stats = box.program.stats();
  CHECK(stats.counted_packets == rows);
  CHECK(stats.untracked_packets == kHosts - rows);
  CHECK(packetsOf(box.network(kIpv4Network), Class::udp) == kHosts - rows);
  CHECK(packetsOf(box.network(kIpv6Network), Class::udp) == 0);
}

TEST_CASE("xdp inline: counts in a table that grows with its hosts as in one that is whole at first") {
  if (cannotRunXdp("xdp inline: counts in a table that grows with its hosts")) return;
  InlineBox box({.maxHosts = 1U << 24, .countOutgoing = true});
  box.run(udpFrame(kForeign, kProtected + 2), 3);
  box.run(udpFrame(kProtected + 1, kForeign), 3);
  CHECK(packetsOf(box.host(ipv4(kProtected + 2)), Class::udp) == 3);
  CHECK(packetsOf(box.host(ipv4(kProtected + 1), Direction::outgoing), Class::udp) == 3);
}

TEST_CASE("xdp inline: counts a flow once, and another one for each part that differs") {
  if (cannotRunXdp("xdp inline: counts a flow once")) return;
  InlineBox box;
  const auto flows = [&box] { return box.host(ipv4(kProtected + 1)).newFlows; };
  box.run(udpFrame(kForeign, kProtected + 1, 1000), 10);
  CHECK(flows() == 1);
  box.run(udpFrame(kForeign, kProtected + 1, 1001));
  CHECK(flows() == 2);
  box.run(udpFrame(kForeign + 1, kProtected + 1, 1000));
  CHECK(flows() == 3);
  box.run(kIpv4 + ipv4Packet({.source = kForeign, .protocol = kTcp}, tcp(1000, 53, tcp_flag::kAck)));
  CHECK(flows() == 4);
  box.run(udpFrame(kForeign, kProtected + 1, 1000));
  CHECK(flows() == 4);
}

TEST_CASE("xdp inline: counts a million flows within 2 %, and knows them when they come again") {
  if (cannotRunXdp("xdp inline: counts a million flows within 2 %")) return;
  InlineBox box;
  constexpr std::uint32_t kFlows = 1'000'000;
  Bytes frame = udpFrame(kForeign, kProtected + 1);
  const auto feedAll = [&] {
    for (std::uint32_t flow = 0; flow < kFlows; flow++) {
      // The last bytes of the source's address.
      frame[28] = static_cast<std::uint8_t>(flow >> 8);
      frame[29] = static_cast<std::uint8_t>(flow);
      frame[27] = static_cast<std::uint8_t>(flow >> 16);
      box.feed(frame);
    }
  };
  feedAll();
  const double first = box.host(ipv4(kProtected + 1)).newFlows;
  CHECK(first == doctest::Approx(kFlows).epsilon(0.02));
  feedAll();
  CHECK(box.host(ipv4(kProtected + 1)).newFlows - first < 0.02 * kFlows);
}

TEST_CASE("xdp inline: replaces the networks as a whole") {
  if (cannotRunXdp("xdp inline: replaces the networks as a whole")) return;
  InlineBox box;
  const Bytes toNew = udpFrame(kProtected, kForeign + 1), toOld = udpFrame(kForeign, kProtected + 9);
  const std::vector<PrefixValue> other{{.address = ipv4(kForeign), .length = 120, .value = 0}};
  box.program.setNetworks(other, 1);
  box.run(toNew);
  box.run(toOld);
  CHECK(box.hasHost(ipv4(kForeign + 1)));
  CHECK_FALSE(box.hasHost(ipv4(kProtected + 9)));
  CHECK(box.program.stats().foreign_packets == 1);
}

TEST_CASE("xdp inline: matches the longest of nested prefixes, the whole of a family and single hosts") {
  if (cannotRunXdp("xdp inline: matches the longest of nested prefixes")) return;
  InlineBox box({.maxHosts = 1});
  const std::vector<PrefixValue> nested{{.address = ipv4(0), .length = 96, .value = 0},
                                        {.address = ipv4(kProtected), .length = 112, .value = 1},
                                        {.address = ipv4(kProtected + 5), .length = 128, .value = 2},
                                        {.address = {}, .length = 0, .value = 3},
                                        {.address = ipv6(1, 0), .length = 48, .value = 4}};
  box.program.setNetworks(nested, 5);
  // The one row goes to the first host, so that all others show the network that they fit.
  box.run(udpFrame(0, kProtected + 77));
  const auto countedTo = [&box](std::uint32_t network) { return packetsOf(box.network(network), Class::udp); };
  box.run(udpFrame(0, kForeign));
  box.run(udpFrame(0, kProtected + 4));
  box.run(udpFrame(0, kProtected + 5));
  box.run(kIpv6 + ipv6Packet({.destination = ipv6(2, 1)}, udp(1, 2)));
  box.run(kIpv6 + ipv6Packet({.destination = ipv6(1, 1)}, udp(1, 2)));
  for (std::uint32_t network = 0; network < nested.size(); network++) {
    CAPTURE(network);
    CHECK(countedTo(network) == 1);
  }
}
