// Shared by the two parts of the parser: the position of reading, and one IP header with all that follows it up to the
// transport header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parse/packet_parser.h"

namespace floodwall {

inline constexpr std::uint16_t kTypeIpv4 = 0x0800, kTypeIpv6 = 0x86dd;

[[nodiscard]] inline bool hasPorts(std::uint8_t protocol) noexcept {
  constexpr std::uint8_t kTcp = 6, kUdp = 17, kDccp = 33, kSctp = 132, kUdpLite = 136;
  return protocol == kTcp || protocol == kUdp || protocol == kSctp || protocol == kUdpLite || protocol == kDccp;
}

/// The bytes left to read. Every read checks `has` first.
struct Cursor {
  const std::uint8_t* at;
  std::size_t left;

  [[nodiscard]] bool has(std::size_t bytes) const noexcept { return left >= bytes; }
  [[nodiscard]] std::uint16_t u16(std::size_t offset) const noexcept {
    return static_cast<std::uint16_t>(at[offset] << 8 | at[offset + 1]);
  }
  void skip(std::size_t bytes) noexcept {
    at += bytes;
    left -= bytes;
  }
  /// Ends the packet where its IP header says, which drops Ethernet's padding. Never makes it longer.
  void limit(std::size_t bytes) noexcept {
    if (bytes < left) left = bytes;
  }
};

/// The fragment header of IPv6 (RFC 8200, 4.5).
inline constexpr std::uint8_t kFragmentHeader = 44;

/// Bytes of the extension header of IPv6 that the number names and the cursor is at. 0: it names none, or there is too
/// little of it to say.
[[nodiscard]] std::size_t extensionBytes(const Cursor& cursor, std::uint8_t number) noexcept;

/// Reads an IP packet of the type into a packet that is cleared; the cursor is at the transport header afterwards.
[[nodiscard]] ParseError readNetwork(Cursor& cursor, std::uint16_t type, Packet& packet) noexcept;

/// All but the addresses, which are set with every header that is counted.
inline void clear(Packet& packet, std::uint32_t wire) noexcept {
  // Field by field: a temporary Packet is copied in words that the processor cannot forward from the smaller stores
  // just before.
  packet.wire = wire;
  packet.sourcePort = packet.destinationPort = packet.innerAt = 0;
  packet.protocol = packet.tcpFlags = 0;
  packet.transport = Class::other;
  packet.isSyn = packet.isFragment = packet.isLaterFragment = false;
  packet.inside = Encapsulation::none;
}

/// For a packet that may carry another, by its protocol or port, or a frame that is not IP: see parsePacket.
/// `error` is what the outermost headers gave, none or notIp.
[[nodiscard]] ParseError takeApart(const Frame& frame, Link link, Packet& packet, const Decapsulation& wanted,
                                   ParseError error) noexcept;

}  // namespace floodwall
