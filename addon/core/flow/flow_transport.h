// What a flow record's protocol number makes of it, as the packet parser does for a packet.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

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

/// In its mapped form, in two words as the packet parser does.
inline void setIpv4(Address& address, const std::uint8_t* ipv4) noexcept {
  static constexpr std::array<std::uint8_t, 4> kPrefix = {0, 0, 0xff, 0xff};
  const std::uint64_t high = 0;
  std::uint32_t prefix, host;
  std::memcpy(&prefix, kPrefix.data(), 4);
  std::memcpy(&host, ipv4, 4);
  const std::uint64_t low = std::endian::native == std::endian::little ? std::uint64_t{host} << 32 | prefix
                                                                       : std::uint64_t{prefix} << 32 | host;
  std::memcpy(address.bytes.data(), &high, 8);
  std::memcpy(address.bytes.data() + 8, &low, 8);
}

[[nodiscard]] inline bool isMappedIpv4(const Address& address) noexcept {
  constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(address.bytes.data(), kPrefix.data(), kPrefix.size()) == 0;
}

/// The longest frame of a SYN with the usual options. Of several packets whose flags are SYN alone, longer ones on
/// average are no SYNs: some exporters report the flags of a flow's first packet.
[[nodiscard]] inline std::uint32_t longestSyn(const Packet& packet) noexcept {
  return isMappedIpv4(packet.destination) ? 74 : 94;
}

}  // namespace floodwall
