#include "parse/packet_parser.h"

#include <cstddef>

#include "parse/ethernet_tags.h"
#include "parse/layers.h"

namespace floodwall {
namespace {

/// RFC 8200 names seven kinds of header; more than eight in one packet is no packet that anybody needs.
constexpr int kExtensionsMax = 8;

namespace ip_protocol {
constexpr std::uint8_t kHopByHop = 0, kIcmp = 1, kTcp = 6, kUdp = 17, kRouting = 43, kAuthentication = 51, kIcmp6 = 58,
                       kDestination = 60, kMobility = 135, kHostIdentity = 139, kShim6 = 140;
}

bool isVlanTag(std::uint16_t type) noexcept {
  return type == kTypeVlan || type == kTypeServiceVlan || type == kTypeOldServiceVlan;
}

Class classOf(std::uint8_t protocol) noexcept {
  switch (protocol) {
    case ip_protocol::kTcp:
      return Class::tcp;
    case ip_protocol::kUdp:
      return Class::udp;
    case ip_protocol::kIcmp:
    case ip_protocol::kIcmp6:
      return Class::icmp;
    default:
      return Class::other;
  }
}

/// The encapsulation that a packet carries, by its protocol. GRE may also be ERSPAN.
Encapsulation carriedByIp(std::uint8_t protocol) noexcept {
  switch (protocol) {
    case PROTOCOL_IPV4:
      return Encapsulation::ipip;
    case PROTOCOL_IPV6:
      return Encapsulation::sixInFour;
    case PROTOCOL_GRE:
      return Encapsulation::gre;
    case PROTOCOL_MPLS:
      return Encapsulation::mpls;
    default:
      return Encapsulation::none;
  }
}

/// The same of UDP by the port; of VXLAN by its usual one.
Encapsulation carriedByUdp(std::uint16_t port) noexcept {
  if (port == PORT_VXLAN) return Encapsulation::vxlan;
  if (port == PORT_GENEVE) return Encapsulation::geneve;
  return port == PORT_GTP_U ? Encapsulation::gtpU : Encapsulation::none;
}

[[gnu::always_inline]] inline void parseTransport(const Cursor& cursor, Packet& packet) noexcept {
  packet.transport = classOf(packet.protocol);
  if (packet.isLaterFragment || !hasPorts(packet.protocol) || !cursor.has(4)) {
    packet.inside = carriedByIp(packet.protocol);
    return;
  }
  packet.sourcePort = cursor.u16(0);
  packet.destinationPort = cursor.u16(2);
  if (packet.protocol != ip_protocol::kTcp) {
    if (packet.protocol == ip_protocol::kUdp) packet.inside = carriedByUdp(packet.destinationPort);
    return;
  }
  if (!cursor.has(14)) return;
  packet.tcpFlags = cursor.at[13];
  packet.isSyn = (packet.tcpFlags & (tcp_flag::kSyn | tcp_flag::kAck)) == tcp_flag::kSyn;
}

/// `rest`, where it is not null, becomes what begins with the transport header.
[[gnu::always_inline]] inline ParseError parseIpv4(Cursor cursor, Packet& packet, Cursor* rest = nullptr) noexcept {
  constexpr std::size_t kHeader = 20;
  if (!cursor.has(kHeader)) return ParseError::truncatedIpv4;
  const std::size_t headerLength = (cursor.at[0] & 0x0fU) * 4;
  const std::size_t totalLength = cursor.u16(2);
  // A total length of 0 is what segmentation offload leaves in frames that are captured before they are cut.
  if (cursor.at[0] >> 4 != 4 || headerLength < kHeader || (totalLength != 0 && totalLength < headerLength)) {
    return ParseError::badIpv4Header;
  }
  setIpv4(packet.source, cursor.at + 12);
  setIpv4(packet.destination, cursor.at + 16);
  packet.protocol = cursor.at[9];
  const std::uint16_t fragment = cursor.u16(6);
  packet.isFragment = (fragment & 0x3fff) != 0;
  packet.isLaterFragment = (fragment & 0x1fff) != 0;
  if (totalLength != 0) cursor.limit(totalLength);
  // Options that the capture cuts off leave nothing of the transport header.
  cursor.skip(headerLength < cursor.left ? headerLength : cursor.left);
  parseTransport(cursor, packet);
  if (rest != nullptr) *rest = cursor;
  return ParseError::none;
}

/// Steps over one extension header, which `packet.protocol` names. False where the chain ends: at a transport header,
/// in a later fragment, or where no more can be read.
bool skipExtension(Cursor& cursor, Packet& packet) noexcept {
  const std::size_t length = extensionBytes(cursor, packet.protocol);
  if (length == 0) return false;
  if (packet.protocol == kFragmentHeader) {
    // Offset 0 and no more to come is an atomic fragment (RFC 6946): whole, but sent as a fragment.
    packet.isFragment = true;
    packet.isLaterFragment = (cursor.u16(2) & 0xfff8) != 0;
  }
  if (!cursor.has(length)) return false;
  packet.protocol = cursor.at[0];
  cursor.skip(length);
  // After a later fragment's header comes the middle of a payload, whatever the next number says.
  return !packet.isLaterFragment;
}

ParseError parseIpv6(Cursor cursor, Packet& packet, Cursor* rest = nullptr) noexcept {
  constexpr std::size_t kHeader = 40;
  if (!cursor.has(kHeader)) return ParseError::truncatedIpv6;
  // A mapped address is not routed (RFC 4291, 2.5.5.2), and it must not be taken for the IPv4 host.
  if (cursor.at[0] >> 4 != 6 || isIpv4Mapped(cursor.at + 24)) return ParseError::badIpv6Header;
  if (isIpv4Mapped(cursor.at + 8)) {
    packet.source = {};
  } else {
    std::memcpy(packet.source.bytes.data(), cursor.at + 8, 16);
  }
  std::memcpy(packet.destination.bytes.data(), cursor.at + 24, 16);
  packet.protocol = cursor.at[6];
  const std::size_t payloadLength = cursor.u16(4);
  cursor.skip(kHeader);
  // A payload length of 0 stands for a jumbogram or for segmentation offload.
  if (payloadLength != 0) cursor.limit(payloadLength);
  for (int i = 0; i < kExtensionsMax && skipExtension(cursor, packet); i++) {
  }
  parseTransport(cursor, packet);
  if (rest != nullptr) *rest = cursor;
  return ParseError::none;
}

/// VLAN tags only: frames with others are read by takeApart(), with all that is not IP at once.
[[gnu::always_inline]] inline ParseError skipEthernet(Cursor& cursor, std::uint16_t& type) noexcept {
  constexpr std::size_t kHeader = 14, kTag = 4;
  if (!cursor.has(kHeader)) return ParseError::truncatedEthernet;
  type = cursor.u16(12);
  cursor.skip(kHeader);
  for (std::size_t tags = 0; isVlanTag(type); tags++) {
    if (tags == VLAN_TAGS_MAX) return ParseError::tooManyVlanTags;
    if (!cursor.has(kTag)) return ParseError::truncatedEthernet;
    type = cursor.u16(2);
    cursor.skip(kTag);
  }
  return ParseError::none;
}

ParseError parseEthernet(Cursor cursor, Packet& packet) noexcept {
  std::uint16_t type = 0;
  const ParseError error = skipEthernet(cursor, type);
  if (error != ParseError::none) return error;
  if (type == kTypeIpv4) return parseIpv4(cursor, packet);
  if (type == kTypeIpv6) return parseIpv6(cursor, packet);
  return ParseError::notIp;
}

ParseError parseRawIp(const Cursor& cursor, Packet& packet) noexcept {
  if (!cursor.has(1)) return ParseError::truncatedIpv4;
  const int version = cursor.at[0] >> 4;
  if (version == 4) return parseIpv4(cursor, packet);
  if (version == 6) return parseIpv6(cursor, packet);
  return ParseError::notIp;
}

}  // namespace

std::size_t extensionBytes(const Cursor& cursor, std::uint8_t number) noexcept {
  switch (number) {
    case ip_protocol::kHopByHop:
    case ip_protocol::kRouting:
    case ip_protocol::kDestination:
    case ip_protocol::kMobility:
    case ip_protocol::kHostIdentity:
    case ip_protocol::kShim6:
      return cursor.has(2) ? (cursor.at[1] + 1U) * 8 : 0;
    case ip_protocol::kAuthentication:
      return cursor.has(2) ? (cursor.at[1] + 2U) * 4 : 0;
    case kFragmentHeader:
      return cursor.has(8) ? 8 : 0;
    default:
      return 0;
  }
}

ParseError readNetwork(Cursor& cursor, std::uint16_t type, Packet& packet) noexcept {
  if (type == kTypeIpv4) return parseIpv4(cursor, packet, &cursor);
  if (type == kTypeIpv6) return parseIpv6(cursor, packet, &cursor);
  return ParseError::notIp;
}

ParseError parsePacket(const Frame& frame, Link link, Packet& packet, Decapsulation wanted) noexcept {
  clear(packet, frame.wire);
  const Cursor cursor{frame.data, frame.captured};
  const ParseError error = link == Link::ethernet ? parseEthernet(cursor, packet) : parseRawIp(cursor, packet);
  if (packet.inside == Encapsulation::none && error != ParseError::notIp) [[likely]] {
    if (wanted.vxlanPorts.isUsual()) [[likely]]
      return error;
    const bool isUdp = error == ParseError::none && packet.protocol == ip_protocol::kUdp;
    if (!isUdp || !wanted.vxlanPorts.has(packet.destinationPort)) return error;
  }
  return takeApart(frame, link, packet, wanted, error);
}

}  // namespace floodwall
