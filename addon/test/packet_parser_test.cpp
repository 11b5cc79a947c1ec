#include "parse/packet_parser.h"

#include <doctest/doctest.h>

#include <memory>

#include "packets.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

struct Parsed {
  ParseError error;
  Packet packet;
};

/// Parses a copy that ends exactly where the frame ends, so that the address sanitizer sees every read beyond it.
Parsed parse(const Bytes& bytes, Link link = Link::ethernet) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const auto length = static_cast<std::uint32_t>(bytes.size());
  Parsed parsed{};
  parsed.error = parsePacket({exact.get(), length, length}, link, parsed.packet);
  return parsed;
}

const Bytes kIpv4 = ethernet(0x0800);
const Bytes kIpv6 = ethernet(0x86dd);

}  // namespace

TEST_CASE("reads addresses, ports and the wire length of a UDP packet over IPv4") {
  const Bytes bytes = kIpv4 + ipv4Packet({.source = 0xc0000207, .destination = 0x0a010203}, udp(4000, 53, 10));
  Packet packet;
  REQUIRE(parsePacket({bytes.data(), static_cast<std::uint32_t>(bytes.size()), 1500}, Link::ethernet, packet) ==
          ParseError::none);
  CHECK(packet.source == ipv4(0xc0000207));
  CHECK(packet.destination == ipv4(0x0a010203));
  CHECK(packet.protocol == 17);
  CHECK(packet.transport == Class::udp);
  CHECK(packet.sourcePort == 4000);
  CHECK(packet.destinationPort == 53);
  CHECK(packet.wire == 1500);
  CHECK_FALSE(packet.isFragment);
}

TEST_CASE("reads the same packet behind one tag, two tags and no Ethernet header") {
  const Bytes ip = ipv4Packet({}, udp(4000, 53));
  CHECK(parse(ethernet(0x8100) + vlanTag(0x0800) + ip).packet.destinationPort == 53);
  CHECK(parse(ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(0x0800) + ip).packet.destinationPort == 53);
  CHECK(parse(ethernet(0x9100) + vlanTag(0x0800) + ip).packet.destinationPort == 53);
  CHECK(parse(ip, Link::rawIp).packet.destinationPort == 53);
  CHECK(parse(ipv6Packet({}, udp(4000, 53)), Link::rawIp).packet.destinationPort == 53);
}

TEST_CASE("distinguishes a SYN from a SYN with ACK") {
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kSyn))).packet.isSyn);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kSyn | tcp_flag::kUrg))).packet.isSyn);
  CHECK_FALSE(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kSyn | tcp_flag::kAck))).packet.isSyn);
  CHECK_FALSE(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kAck))).packet.isSyn);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, tcp_flag::kRst))).packet.tcpFlags == tcp_flag::kRst);
}

TEST_CASE("classes by protocol number in both families") {
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 6}, tcp(1, 80, 0))).packet.transport == Class::tcp);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 1}, Bytes(8))).packet.transport == Class::icmp);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 47}, Bytes(8))).packet.transport == Class::other);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 47}, Bytes(8))).packet.protocol == 47);
  CHECK(parse(kIpv4 + ipv4Packet({.protocol = 132}, udp(7, 8))).packet.destinationPort == 8);
  CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = 58}, Bytes(8))).packet.transport == Class::icmp);
  CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = 6}, tcp(1, 80, 0))).packet.transport == Class::tcp);
  CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = 59}, {})).packet.transport == Class::other);
}

TEST_CASE("finds the ports behind IPv4 options") {
  for (unsigned options = 1; options <= 10; options++) {
    CHECK(parse(kIpv4 + ipv4Packet({.options = options}, udp(4000, 53))).packet.destinationPort == 53);
  }
}

TEST_CASE("takes ports from the first fragment and from no later one") {
  const Parsed first = parse(kIpv4 + ipv4Packet({.fragment = 0x2000}, udp(4000, 53)));
  CHECK(first.packet.isFragment);
  CHECK_FALSE(first.packet.isLaterFragment);
  CHECK(first.packet.destinationPort == 53);
  const Parsed later = parse(kIpv4 + ipv4Packet({.fragment = 0x2001}, udp(4000, 53)));
  CHECK(later.packet.isFragment);
  CHECK(later.packet.isLaterFragment);
  CHECK(later.packet.destinationPort == 0);
  CHECK(later.packet.transport == Class::udp);
  CHECK(parse(kIpv4 + ipv4Packet({.fragment = 0x0001}, udp(1, 2))).packet.isLaterFragment);
  // "Do not fragment" makes no fragment.
  CHECK_FALSE(parse(kIpv4 + ipv4Packet({.fragment = 0x4000}, udp(1, 2))).packet.isFragment);
}

TEST_CASE("steps over IPv6 extension headers") {
  const Bytes options{17, 0, 1, 4, 0, 0, 0, 0};
  const Bytes longOptions = Bytes{17, 1} + Bytes(14);
  const Bytes authentication = Bytes{17, 4} + Bytes(22);
  for (const std::uint8_t header : Bytes{0, 43, 60, 135, 139, 140}) {
    CAPTURE(header);
    CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = header}, options + udp(1, 53))).packet.destinationPort == 53);
    CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = header}, longOptions + udp(1, 53))).packet.destinationPort == 53);
  }
  CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = 51}, authentication + udp(1, 53))).packet.destinationPort == 53);
  const Bytes chain = Bytes{43, 0, 1, 4, 0, 0, 0, 0} + Bytes{60, 0, 0, 0, 0, 0, 0, 0} + options;
  CHECK(parse(kIpv6 + ipv6Packet({.nextHeader = 0}, chain + udp(1, 53))).packet.destinationPort == 53);
}

TEST_CASE("reads IPv6 fragments") {
  const Bytes first{17, 0, 0, 1, 0, 0, 0, 9};
  const Bytes later{17, 0, 0, 8, 0, 0, 0, 9};
  const Parsed parsedFirst = parse(kIpv6 + ipv6Packet({.nextHeader = 44}, first + udp(1, 53)));
  CHECK(parsedFirst.packet.isFragment);
  CHECK(parsedFirst.packet.destinationPort == 53);
  const Parsed parsedLater = parse(kIpv6 + ipv6Packet({.nextHeader = 44}, later + udp(1, 53)));
  CHECK(parsedLater.packet.isLaterFragment);
  CHECK(parsedLater.packet.transport == Class::udp);
  CHECK(parsedLater.packet.destinationPort == 0);
}

TEST_CASE("counts a packet to its host when the chain of extension headers has no end") {
  Bytes chain;
  for (int i = 0; i < 9; i++) append(chain, {60, 0, 1, 4, 0, 0, 0, 0});
  const Parsed parsed = parse(kIpv6 + ipv6Packet({.nextHeader = 60}, chain + udp(1, 53)));
  CHECK(parsed.error == ParseError::none);
  CHECK(parsed.packet.destination == ipv6(1, 1));
  CHECK(parsed.packet.transport == Class::other);
}

TEST_CASE("does not take Ethernet's padding for a transport header") {
  const Bytes padded = kIpv4 + ipv4Packet({.totalLength = 20}, udp(4000, 53));
  CHECK(parse(padded).error == ParseError::none);
  CHECK(parse(padded).packet.destinationPort == 0);
  const Bytes padded6 = kIpv6 + ipv6Packet({.payloadLength = 3}, udp(4000, 53));
  CHECK(parse(padded6).packet.destinationPort == 0);
}

TEST_CASE("reads on when segmentation offload left the length at zero") {
  CHECK(parse(kIpv4 + ipv4Packet({.totalLength = 0}, udp(1, 53))).packet.destinationPort == 53);
  CHECK(parse(kIpv6 + ipv6Packet({.payloadLength = 0}, udp(1, 53))).packet.destinationPort == 53);
}

TEST_CASE("does not trust a length beyond what was captured") {
  CHECK(parse(kIpv4 + ipv4Packet({.totalLength = 65535}, udp(1, 53))).packet.destinationPort == 53);
  CHECK(parse(kIpv6 + ipv6Packet({.payloadLength = 65535}, udp(1, 53))).packet.destinationPort == 53);
}

TEST_CASE("says why a frame is counted to no host") {
  const Bytes ip = ipv4Packet({}, udp(1, 53));
  SUBCASE("truncated Ethernet") {
    CHECK(parse({}).error == ParseError::truncatedEthernet);
    CHECK(parse(Bytes(13)).error == ParseError::truncatedEthernet);
    CHECK(parse(ethernet(0x8100) + Bytes(3)).error == ParseError::truncatedEthernet);
  }
  SUBCASE("too many tags") {
    Bytes tags = ethernet(0x88a8);
    for (int i = 1; i < VLAN_TAGS_MAX; i++) append(tags, vlanTag(0x8100));
    CHECK(parse(tags + vlanTag(0x0800) + ip).error == ParseError::none);
    CHECK(parse(tags + vlanTag(0x8100) + vlanTag(0x0800) + ip).error == ParseError::tooManyVlanTags);
  }
  SUBCASE("not IP") {
    CHECK(parse(ethernet(0x0806) + Bytes(28)).error == ParseError::notIp);
    CHECK(parse(ethernet(38) + Bytes(38)).error == ParseError::notIp);
    CHECK(parse(Bytes(40, 0x50), Link::rawIp).error == ParseError::notIp);
  }
  SUBCASE("bad IPv4 header") {
    Bytes wrongVersion = kIpv4 + ip;
    wrongVersion[14] = 0x65;
    CHECK(parse(wrongVersion).error == ParseError::badIpv4Header);
    Bytes shortHeader = kIpv4 + ip;
    shortHeader[14] = 0x44;
    CHECK(parse(shortHeader).error == ParseError::badIpv4Header);
    CHECK(parse(kIpv4 + ipv4Packet({.totalLength = 19}, {})).error == ParseError::badIpv4Header);
  }
  SUBCASE("bad IPv6 header") {
    Bytes wrongVersion = kIpv6 + ipv6Packet({}, udp(1, 53));
    wrongVersion[14] = 0x40;
    CHECK(parse(wrongVersion).error == ParseError::badIpv6Header);
    CHECK(parse(kIpv6 + ipv6Packet({.destination = ipv4(kProtected)}, udp(1, 53))).error == ParseError::badIpv6Header);
  }
}

TEST_CASE("does not take a mapped source in an IPv6 packet for the IPv4 host") {
  const Parsed parsed = parse(kIpv6 + ipv6Packet({.source = ipv4(kProtected)}, udp(1, 53)));
  CHECK(parsed.error == ParseError::none);
  CHECK(parsed.packet.source == Address{});
}

TEST_CASE("has exactly one outcome at every length at which a frame may be cut") {
  struct Shape {
    const char* name;
    Bytes bytes;
    /// From this number of bytes on the destination is known, and before that the cut is named.
    std::size_t headerEnd;
    ParseError cut;
  };
  const Bytes extensions = Bytes{44, 0, 1, 4, 0, 0, 0, 0} + Bytes{51, 0, 0, 1, 0, 0, 0, 9} + Bytes{6, 4} + Bytes(22);
  const std::vector<Shape> shapes = {
      {"udp", kIpv4 + ipv4Packet({}, udp(1, 53, 20)), 34, ParseError::truncatedIpv4},
      {"tcp with options and a tag",
       ethernet(0x8100) + vlanTag(0x0800) + ipv4Packet({.protocol = 6, .options = 3}, tcp(1, 80, tcp_flag::kSyn)), 38,
       ParseError::truncatedIpv4},
      {"IPv6 with extension headers", kIpv6 + ipv6Packet({.nextHeader = 0}, extensions + tcp(1, 80, tcp_flag::kSyn)),
       54, ParseError::truncatedIpv6},
  };
  for (const Shape& shape : shapes) {
    CAPTURE(shape.name);
    for (std::size_t length = 0; length <= shape.bytes.size(); length++) {
      CAPTURE(length);
      const Parsed parsed =
          parse(Bytes(shape.bytes.begin(), shape.bytes.begin() + static_cast<std::ptrdiff_t>(length)));
      if (length >= shape.headerEnd) {
        CHECK(parsed.error == ParseError::none);
      } else {
        CHECK((parsed.error == shape.cut || parsed.error == ParseError::truncatedEthernet));
      }
    }
    CHECK(parse(shape.bytes).packet.destinationPort != 0);
  }
  for (const Bytes& raw : {ipv4Packet({}, udp(1, 53)), ipv6Packet({}, udp(1, 53))}) {
    for (std::size_t length = 0; length < 20; length++) {
      const Bytes cut(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(length));
      CHECK(parse(cut, Link::rawIp).error != ParseError::none);
    }
  }
}

TEST_CASE("names every reason once") {
  for (std::size_t i = 0; i < kParseErrors; i++) {
    for (std::size_t j = 0; j < i; j++) CHECK(std::string(kParseErrorNames[i]) != kParseErrorNames[j]);
  }
}
