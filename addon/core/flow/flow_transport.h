// The fields that follow from a flow record's protocol number, as the packet parser does it for a packet.
#pragma once

#include <cstdint>

#include "parse/packet_parser.h"

namespace floodwall {

[[nodiscard]] inline Class transportOf(std::uint8_t protocol) noexcept {
  constexpr std::uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmp6 = 58;
  switch (protocol) {
    case kTcp:
      return Class::tcp;
    case kUdp:
      return Class::udp;
    case kIcmp:
    case kIcmp6:
      return Class::icmp;
    default:
      return Class::other;
  }
}

/// Exporters put other things into the ports of other protocols, as ICMP's type and code.
[[nodiscard]] inline bool hasFlowPorts(std::uint8_t protocol) noexcept {
  constexpr std::uint8_t kTcp = 6, kUdp = 17, kDccp = 33, kSctp = 132, kUdpLite = 136;
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kUdpLite || protocol == kDccp;
}

/// Sets class, flags and ports of `packet`, whose protocol is set.
inline void setTransport(Packet& packet, std::uint16_t sourcePort, std::uint16_t destinationPort,
                         std::uint8_t tcpFlags) noexcept {
  packet.transport = transportOf(packet.protocol);
  if (packet.isLaterFragment || !hasFlowPorts(packet.protocol)) return;
  packet.sourcePort = sourcePort;
  packet.destinationPort = destinationPort;
  if (packet.transport != Class::tcp) return;
  packet.tcpFlags = tcpFlags;
  packet.isSyn = (tcpFlags & (tcp_flag::kSyn | tcp_flag::kAck)) == tcp_flag::kSyn;
}

/// The longest frame of a SYN with the usual options. Of several packets whose flags are SYN alone, longer ones on
/// average are no SYNs: some exporters report the flags of a flow's first packet.
[[nodiscard]] inline std::uint32_t longestSyn(const Packet& packet) noexcept {
  return isIpv4Mapped(packet.destination) ? 74 : 94;
}

}  // namespace floodwall
