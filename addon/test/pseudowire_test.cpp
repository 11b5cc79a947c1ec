// What is behind a stack of labels: IP, or the Ethernet frame of a pseudowire, whatever its addresses look like.
#include <doctest/doctest.h>

#include <array>
#include <memory>

#include "parse/packet_parser.h"
#include "tunnels.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

const Decapsulation kMpls{.kinds = {Encapsulation::mpls}};
const Bytes kPacket = ipv4Packet({}, udp(4000, 53, 40));
const Bytes kPacket6 = ipv6Packet({}, udp(4000, 53, 40));

/// An Ethernet frame to an address that begins so.
Bytes frameTo(const Bytes& begin, std::uint32_t type, const Bytes& packet) {
  Bytes frame = ethernet(type) + packet;
  std::copy(begin.begin(), begin.end(), frame.begin());
  return frame;
}
Bytes behindLabels(const Bytes& payload) { return ethernet(0x8847) + labels(2, payload); }

/// The address, or none where the frame counts to no host.
Address destination(const Bytes& frame, std::uint32_t captured = 0) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  Packet packet;
  const Frame one{frame.data(), captured == 0 ? length : captured, length};
  return parsePacket(one, Link::ethernet, packet, kMpls) == ParseError::none ? packet.destination : Address{};
}

void setChecksum(Bytes& packet) {
  packet[10] = packet[11] = 0;
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(packet[i] << 8 | packet[i + 1]);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  packet[10] = static_cast<std::uint8_t>(~sum >> 8);
  packet[11] = static_cast<std::uint8_t>(~sum);
}

/// Beginnings of MAC addresses that look like IPv4, IPv6, a control word, and like none of these. The fifth is that of
/// VRRP.
const std::vector<Bytes> kAddresses = {{0x45, 0, 0x12, 0x34}, {0x4c, 0x5e, 0x0c},    {0x60, 0, 0, 0, 0x90, 0x6b},
                                       {0x68, 5, 0xca},       {0, 0, 0x5e, 0, 1, 7}, {0, 0x50, 0x56},
                                       {0x02, 0x12},          {0x10, 0, 0},          {0x28, 0x99},
                                       {0xf4, 0x8e}};

}  // namespace

TEST_CASE("pseudowires: the frame inside counts to its host, whatever its addresses begin with") {
  const Address host = ipv4(kProtected + 1), host6 = ipv6(1, 1);
  for (const Bytes& begin : kAddresses) {
    CAPTURE(begin);
    CHECK(destination(behindLabels(frameTo(begin, 0x0800, kPacket))) == host);
    CHECK(destination(behindLabels(frameTo(begin, 0x86dd, kPacket6))) == host6);
    CHECK(destination(behindLabels(frameTo(begin, 0x8100, vlanTag(0x0800) + kPacket))) == host);
    CHECK(destination(behindLabels(frameTo(begin, 0x8847, labels(1, kPacket)))) == host);
    // The same behind a control word, also one with a sequence number.
    CHECK(destination(behindLabels(Bytes(4) + frameTo(begin, 0x0800, kPacket))) == host);
    CHECK(destination(behindLabels(Bytes{0, 0, 0x12, 0x34} + frameTo(begin, 0x86dd, kPacket6))) == host6);
  }
}

TEST_CASE("pseudowires: a frame that is not IP makes up no host") {
  for (const Bytes& begin : kAddresses) {
    CAPTURE(begin);
    CHECK(destination(behindLabels(frameTo(begin, 0x0806, Bytes(46)))) == Address{});
    CHECK(destination(behindLabels(frameTo(begin, 0x88cc, Bytes(200, 0x45)))) == Address{});
    CHECK(destination(behindLabels(Bytes(4) + frameTo(begin, 0x0806, Bytes(46)))) == Address{});
  }
}

TEST_CASE("labels: IP counts with what a link adds, cut short, and before a card had computed its checksum") {
  Bytes summed = kPacket;
  setChecksum(summed);
  for (const Bytes& packet : {kPacket, summed}) {
    CHECK(destination(behindLabels(packet)) == ipv4(kProtected + 1));
    CHECK(destination(behindLabels(packet + Bytes(CHECK_SEQUENCE))) == ipv4(kProtected + 1));
    CHECK(destination(behindLabels(packet), 14 + 8 + 20) == ipv4(kProtected + 1));
  }
  CHECK(destination(behindLabels(ipv4Packet({.options = 2}, udp(1, 2)))) == ipv4(kProtected + 1));
  CHECK(destination(behindLabels(kPacket6 + Bytes(CHECK_SEQUENCE))) == ipv6(1, 1));
  CHECK(destination(behindLabels(kPacket6), 14 + 8 + 40) == ipv6(1, 1));
  // In the shortest frame.
  for (const Bytes& packet : {ipv4Packet({}, udp(1, 2)), ipv4Packet({.options = 1}, {}), ipv4Packet({}, {})}) {
    CHECK(destination(behindLabels(packet + Bytes(PADDED_MAX - packet.size()))) == ipv4(kProtected + 1));
  }
  const Bytes empty = ipv6Packet({.nextHeader = 59}, {});
  CHECK(destination(behindLabels(empty + Bytes(PADDED_MAX - empty.size()))) == ipv6(1, 1));
  // Where more follows only a checksum shows that it is IP.
  CHECK(destination(behindLabels(kPacket + Bytes(CHECK_SEQUENCE + 1))) == Address{});
  CHECK(destination(behindLabels(kPacket6 + Bytes(CHECK_SEQUENCE + 1))) == Address{});
  CHECK(destination(behindLabels(summed + Bytes(CHECK_SEQUENCE + 1))) == ipv4(kProtected + 1));
}

TEST_CASE("labels: a source address that looks like the type of a frame hides nothing") {
  // 8.0.69.0: read as Ethernet, the type is IPv4, and an IPv4 header follows it.
  Bytes packet = ipv4Packet({.source = 0x08004500}, udp(0x4500, 53, 40));
  setChecksum(packet);
  CHECK(destination(behindLabels(packet)) == ipv4(kProtected + 1));
  CHECK(destination(behindLabels(ipv4Packet({.source = 0x08004500, .options = 3}, udp(1, 53)))) ==
        ipv4(kProtected + 1));
  Address source = ipv6(9, 1);
  source.bytes[4] = 0x08;
  source.bytes[5] = 0;
  source.bytes[6] = 0x45;
  CHECK(destination(behindLabels(ipv6Packet({.source = source}, udp(1, 53, 30)))) == ipv6(1, 1));
}
