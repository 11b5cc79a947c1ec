// What mirrors and taps put between the Ethernet header and the IP header, and what a frame is that is not IP.
#include "parse/ethernet_tags.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>

#include "link_tags.h"
#include "parse/not_ip_kind.h"
#include "tunnels.h"

using namespace floodwall;
using namespace floodwall::test;

namespace {

struct Parsed {
  ParseError error;
  Packet packet;
  std::uint16_t type;
};

/// A copy that ends where the frame ends, for the address sanitizer.
Parsed parse(const Bytes& bytes, const Decapsulation& wanted = {}) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  const auto length = static_cast<std::uint32_t>(bytes.size());
  const Frame frame{exact.get(), length, length};
  Parsed parsed{};
  parsed.error = parsePacket(frame, Link::ethernet, parsed.packet, wanted);
  parsed.type = etherTypeOf(frame, Link::ethernet);
  return parsed;
}

const Bytes kPacket = ipv4Packet({}, udp(4000, 53, 10));
const Bytes kPacket6 = ipv6Packet({}, udp(4000, 53, 10));

}  // namespace

TEST_CASE("tags: IP behind each of them counts to its host, with the whole frame") {
  for (const LinkTag& tag : linkTags()) {
    CAPTURE(tag.name);
    const Bytes frame = tag.behind(0x0800, kPacket);
    const Parsed parsed = parse(frame);
    CHECK(parsed.error == ParseError::none);
    CHECK(parsed.packet.destination == ipv4(kProtected + 1));
    CHECK(parsed.packet.destinationPort == 53);
    CHECK(parsed.packet.wire == frame.size());
    // As behind a VLAN tag: nothing was taken out of anything.
    CHECK(parsed.packet.innerAt == 0);
    CHECK(parsed.packet.inside == Encapsulation::none);
    CHECK(parse(tag.behind(0x86dd, kPacket6)).packet.destination == ipv6(1, 1));
  }
}

TEST_CASE("tags: any two in a row are read, also around VLAN tags, and before labels and tunnels") {
  for (const LinkTag& outer : linkTags()) {
    for (const LinkTag& inner : linkTags()) {
      CAPTURE(outer.name);
      CAPTURE(inner.name);
      CHECK(parse(ethernet(outer.type) + outer.tag + number16(inner.type) + inner.tag + number16(0x0800) + kPacket)
                .packet.destination == ipv4(kProtected + 1));
    }
    CAPTURE(outer.name);
    CHECK(parse(ethernet(0x88a8) + vlanTag(0x8100) + vlanTag(outer.type) + outer.tag + number16(0x0800) + kPacket)
              .packet.destination == ipv4(kProtected + 1));
    CHECK(parse(outer.behind(0x8847, labels(2, kPacket)), {.kinds = {Encapsulation::mpls}}).packet.destination ==
          ipv4(kProtected + 1));
    const Bytes carrier =
        ipv4Packet({.destination = kForeign + 9, .protocol = 17}, vxlan(outer.behind(0x0800, kPacket)));
    CHECK(parse(ethernet(0x0800) + carrier, {.kinds = {Encapsulation::vxlan}}).packet.destination ==
          ipv4(kProtected + 1));
  }
}

TEST_CASE("tags: as many as VLAN tags, whichever they are") {
  for (const LinkTag& tag : linkTags()) {
    CAPTURE(tag.name);
    Bytes frame = ethernet(tag.type) + tag.tag;
    for (int tags = 1; tags < VLAN_TAGS_MAX; tags++) append(frame, number16(tag.type) + tag.tag);
    CHECK(parse(frame + number16(0x0800) + kPacket).error == ParseError::none);
    CHECK(parse(frame + number16(tag.type) + tag.tag + number16(0x0800) + kPacket).error ==
          ParseError::tooManyVlanTags);
  }
}

TEST_CASE("tags: every cut has one outcome, and reads nothing beyond it") {
  for (const LinkTag& tag : linkTags()) {
    CAPTURE(tag.name);
    const Bytes whole = tag.behind(0x0800, kPacket);
    for (std::size_t length = 0; length < whole.size(); length++) {
      CAPTURE(length);
      const Parsed parsed = parse(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      if (length < 14) CHECK(parsed.error == ParseError::truncatedEthernet);
      if (length >= whole.size() - kPacket.size() + 20) CHECK(parsed.error == ParseError::none);
    }
  }
}

TEST_CASE("tags: what is not of the known form is no tag") {
  const Bytes behind = number16(0x0800) + kPacket;
  const Bytes unknown[] = {
      ethernet(0x8909) + Bytes{2, 1, 0, 1, 0, 16} + behind,                      // another version
      ethernet(0x8909) + Bytes{1, 0} + behind,                                   // without options
      ethernet(0xd28b) + Bytes{0, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0} + behind,  // another subtype
      ethernet(0xd28b) + Bytes{0, 1, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0} + behind,  // another version
      ethernet(40) + Bytes{0xaa, 0xaa, 3, 0, 0, 0x0c} + behind,                  // of another organization
      ethernet(40) + Bytes{0xaa, 0xaa, 0x13, 0, 0, 0} + behind,                  // no unnumbered information
      ethernet(40) + Bytes{0x06, 0x06, 0x13} + kPacket,
      ethernet(0x05dd) + Bytes{0xaa, 0xaa, 3, 0, 0, 0} + behind,  // neither length nor type
  };
  for (const Bytes& frame : unknown) {
    CAPTURE(frame);
    CHECK(parse(frame).error == ParseError::notIp);
  }
}

TEST_CASE("LLC: IPv4 by its own service access point") {
  CHECK(parse(ethernet(41) + Bytes{0x06, 0x06, 3} + kPacket).packet.destination == ipv4(kProtected + 1));
  CHECK(parse(ethernet(0x8100) + vlanTag(41) + Bytes{0x06, 0x06, 3} + kPacket).packet.destinationPort == 53);
}

TEST_CASE("not IP: a frame is named by the type behind its tags, of LLC by its service access point") {
  CHECK(parse(ethernet(0x0806) + Bytes(28)).type == 0x0806);
  CHECK(parse(ethernet(0x8926) + Bytes(4) + number16(0x88cc) + Bytes(28)).type == 0x88cc);
  CHECK(parse(ethernet(0x8100) + vlanTag(39) + Bytes{0x42, 0x42, 3} + Bytes(36)).type == 0x42);
  CHECK(parse(ethernet(0xd28b) + Bytes(28)).type == 0xd28b);
  CHECK(parse(ethernet(0x8847) + labels(1, kPacket)).type == 0x8847);
  CHECK(parse(Bytes(13)).type == 0);
  CHECK(parse(ethernet(2) + Bytes(2)).type == 0);
  CHECK(notIpKindOf(0x0806) == NotIpKind::arp);
  CHECK(notIpKindOf(0x88cc) == NotIpKind::lldp);
  CHECK(notIpKindOf(0x8848) == NotIpKind::mpls);
  CHECK(notIpKindOf(0x42) == NotIpKind::stp);
  CHECK(notIpKindOf(0xfe) == NotIpKind::llc);
  CHECK(notIpKindOf(0x100) == NotIpKind::other);
  CHECK(notIpKindOf(0) == NotIpKind::other);
}
