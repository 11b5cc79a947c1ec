// Which protocol a datagram is of, by its first bytes: one port takes all of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace floodwall {

enum class FlowProtocol : std::uint8_t {
  netflow5,
  netflow9,
  ipfix,
  sflow5,
  // What is not decoded, by what it is.
  netflow1,
  netflow7,
  netflow8,
  sflow2,
  sflow4,
  tooShort,
  unknown,
};
inline constexpr std::size_t kFlowProtocols = 4;
inline constexpr std::array<const char*, kFlowProtocols> kFlowProtocolNames = {"netflow5", "netflow9", "ipfix",
                                                                               "sflow5"};
inline constexpr std::size_t kUndecodedProtocols = 7;
inline constexpr std::array<const char*, kUndecodedProtocols> kUndecodedProtocolNames = {
    "NetFlow version 1",
    "NetFlow version 7",
    "NetFlow version 8",
    "sFlow version 2",
    "sFlow version 4",
    "a datagram shorter than a version number",
    "a datagram that begins with no known version"};

[[nodiscard]] constexpr bool isDecoded(FlowProtocol protocol) noexcept {
  return static_cast<std::size_t>(protocol) < kFlowProtocols;
}

/// NetFlow and IPFIX begin with a version of 16 bits (RFC 3954, 5.1; RFC 7011, 3.1), sFlow with one of 32 (sFlow version
/// 5, section 5), whose first half is zero.
[[nodiscard]] constexpr FlowProtocol protocolOf(std::span<const std::uint8_t> datagram) noexcept {
  if (datagram.size() < 2) return FlowProtocol::tooShort;
  const unsigned first = datagram[0] << 8U | datagram[1];
  switch (first) {
    case 0:
      break;
    case 1:
      return FlowProtocol::netflow1;
    case 5:
      return FlowProtocol::netflow5;
    case 7:
      return FlowProtocol::netflow7;
    case 8:
      return FlowProtocol::netflow8;
    case 9:
      return FlowProtocol::netflow9;
    case 10:
      return FlowProtocol::ipfix;
    default:
      return FlowProtocol::unknown;
  }
  if (datagram.size() < 4) return FlowProtocol::tooShort;
  switch (datagram[2] << 8U | datagram[3]) {
    case 2:
      return FlowProtocol::sflow2;
    case 4:
      return FlowProtocol::sflow4;
    case 5:
      return FlowProtocol::sflow5;
    default:
      return FlowProtocol::unknown;
  }
}

}  // namespace floodwall
