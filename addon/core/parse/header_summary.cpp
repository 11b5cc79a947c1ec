#include "parse/header_summary.h"

#include <algorithm>

#include "parse/ethernet_tags.h"
#include "parse/layers.h"
#include "record_abi.h"

namespace floodwall {
namespace {

constexpr std::size_t kIpv6Length = 40;

std::uint8_t bitsOf(const Packet& packet, const Cursor& transport) noexcept {
  unsigned bits = 0;
  if (packet.isFragment) bits |= packet.isLaterFragment ? RECORD_LATER_FRAGMENT : RECORD_FIRST_FRAGMENT;
  if (!packet.isLaterFragment && hasPorts(packet.protocol) && transport.has(4)) {
    bits |= RECORD_PORTS;
    if (packet.transport == Class::tcp && transport.has(14)) bits |= RECORD_TCP_FLAGS;
  }
  return static_cast<std::uint8_t>(bits);
}

}  // namespace

bool summarize(const Frame& frame, Link link, HeaderSummary& summary) noexcept {
  summary = {};
  clear(summary.packet, frame.wire);
  Cursor cursor{frame.data, frame.captured};
  std::uint16_t type = 0;
  if (link == Link::ethernet) {
    if (readEthernet(cursor, type) != ParseError::none) return false;
  } else if (cursor.has(1)) {
    type = cursor.at[0] >> 4 == 4 ? kTypeIpv4 : kTypeIpv6;
  }
  const Cursor ip = cursor;
  if (readNetwork(cursor, type, summary.packet) != ParseError::none) return false;
  if (type == kTypeIpv4) {
    summary.packetBytes = ip.u16(2);
    summary.ttl = ip.at[8];
  } else {
    const std::size_t payload = ip.u16(4);
    summary.packetBytes =
        static_cast<std::uint16_t>(payload == 0 ? 0 : std::min<std::size_t>(payload + kIpv6Length, 0xffff));
    summary.ttl = ip.at[7];
  }
  summary.bits = bitsOf(summary.packet, cursor);
  return true;
}

}  // namespace floodwall
