#include "flow/sampled_header.h"

#include <algorithm>

#include "parse/ethernet_tags.h"
#include "parse/layers.h"

namespace floodwall {
namespace {

/// Label stacks that anybody needs are shorter.
constexpr std::size_t kLabelsMax = 16;

/// The part before the IP header; `isFound` is false unless an IP header follows.
struct IpStart {
  std::size_t offset;
  bool isFound;
};

/// Steps over a label stack to the bottom (RFC 3032, 2.1). The version of the IP header says what follows.
IpStart skipLabels(ByteSpan header, std::size_t offset) noexcept {
  for (std::size_t labels = 0; labels < kLabelsMax && offset + 4 < header.size(); labels++) {
    const bool isBottom = (header[offset + 2] & 1) != 0;
    offset += 4;
    if (isBottom) return {offset, true};
  }
  return {offset, false};
}

/// PPP's protocol numbers (RFC 1332, RFC 5072, RFC 3032), with or without address and control, the number of one or
/// two bytes (RFC 1661, 6.5).
IpStart skipPpp(ByteSpan header) noexcept {
  constexpr std::uint16_t kIpv4 = 0x0021, kIpv6 = 0x0057, kMpls = 0x0281, kEtherIpv4 = 0x0800, kEtherIpv6 = 0x86dd;
  if (header.size() < 4) return {0, false};
  // Cisco's HDLC has an Ethernet type where PPP has its number.
  const bool isCisco = header[0] == 0x0f || header[0] == 0x8f;
  std::size_t offset = isCisco || (header[0] == 0xff && header[1] == 0x03) ? 2 : 0;
  if (isCisco) {
    const std::uint16_t type = big16(&header[2]);
    return {4, type == kEtherIpv4 || type == kEtherIpv6};
  }
  std::uint16_t protocol = header[offset];
  if ((protocol & 1) != 0) {
    offset += 1;
  } else {
    protocol = big16(&header[offset]);
    offset += 2;
  }
  if (protocol == kMpls) return skipLabels(header, offset);
  return {offset, protocol == kIpv4 || protocol == kIpv6};
}

/// The length of the frame by its IP header; 0 if it has none.
std::uint32_t lengthByIp(ByteSpan packet, Link link) noexcept {
  if (link == Link::rawIp) return ipLengthOf(packet) + kEthernetHeaderBytes;
  Cursor cursor{packet.data(), packet.size()};
  std::uint16_t type = 0;
  const bool isRead = readEthernet(cursor, type) == ParseError::none && (type == kTypeIpv4 || type == kTypeIpv6);
  return isRead ? static_cast<std::uint32_t>(packet.size() - cursor.left) + ipLengthOf({cursor.at, cursor.left}) : 0;
}

}  // namespace

ParsedHeader parseSampledHeader(const SampledHeader& sampled, Encapsulations decapsulated,
                                FlowRecord& record) noexcept {
  const ByteSpan header = sampled.bytes;
  IpStart start{0, true};
  Link link = Link::rawIp;
  switch (static_cast<HeaderProtocol>(sampled.protocol)) {
    case HeaderProtocol::ethernet:
      link = Link::ethernet;
      break;
    case HeaderProtocol::ipv4:
    case HeaderProtocol::ipv6:
      break;
    case HeaderProtocol::mpls:
      start = skipLabels(header, 0);
      break;
    case HeaderProtocol::ppp:
    case HeaderProtocol::packetOverSonet:
      start = skipPpp(header);
      break;
    default:
      return {HeaderOutcome::notTakenApart, ParseError::none};
  }
  if (!start.isFound) return {HeaderOutcome::refused, ParseError::notIp};
  const std::uint32_t before = static_cast<std::uint32_t>(std::min<std::size_t>(start.offset, header.size()));
  const ByteSpan packet = header.subspan(before);
  const auto captured = static_cast<std::uint32_t>(packet.size());
  // Whatever stood before the IP header on the wire, it counts as the frame that a mirror would show.
  std::uint32_t wire = sampled.frameBytes;
  if (link == Link::rawIp) wire = (wire > before ? wire - before : 0) + kEthernetHeaderBytes;
  if (sampled.isLengthDoubtful) wire = std::max(wire, lengthByIp(packet, link));
  const Frame frame{packet.data(), captured, std::max(wire, captured)};
  const ParseError error = parsePacket(frame, link, record.packet, {.kinds = decapsulated});
  if (error != ParseError::none) return {HeaderOutcome::refused, error};
  record.header = packet.data();
  record.headerBytes = captured;
  record.frameBytes = frame.wire;
  record.link = link;
  return {HeaderOutcome::parsed, ParseError::none};
}

std::uint32_t ipLengthOf(ByteSpan packet) noexcept {
  if (packet.size() < 6) return 0;
  const int version = packet[0] >> 4;
  if (version == 4) return big16(&packet[2]);
  const std::uint32_t payload = big16(&packet[4]);
  return version == 6 && payload != 0 ? 40 + payload : 0;
}

}  // namespace floodwall
