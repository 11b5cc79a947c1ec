// Reads the headers of one frame. Knows nothing of networks, hosts or counters, keeps no state and trusts no length
// that the frame claims: every read is inside what was captured.
#pragma once

#include <array>
#include <cstdint>

#include "base/address.h"
#include "parse/encapsulation.h"
#include "parse/frame.h"
#include "parse/traffic_class.h"

namespace floodwall {

/// Why a frame is counted to no host. Only what every router must discard (RFC 1812, 5.2.2; RFC 8200, 3) or what is
/// not IP: whatever can reach a host is counted to it, see parsePacket.
enum class ParseError : std::uint8_t {
  truncatedEthernet,
  tooManyVlanTags,
  notIp,
  truncatedIpv4,
  badIpv4Header,
  truncatedIpv6,
  badIpv6Header,
  /// Not an error, and not counted as one.
  none,
};
inline constexpr std::size_t kParseErrors = static_cast<std::size_t>(ParseError::none);

/// Labels of metrics, in the order of ParseError.
inline constexpr std::array<const char*, kParseErrors> kParseErrorNames = {
    "truncated_ethernet", "too_many_vlan_tags", "not_ip",          "truncated_ipv4",
    "bad_ipv4_header",    "truncated_ipv6",     "bad_ipv6_header",
};

namespace tcp_flag {
inline constexpr std::uint8_t kFin = 0x01, kSyn = 0x02, kRst = 0x04, kPsh = 0x08, kAck = 0x10, kUrg = 0x20;
}

/// The header fields of one packet.
struct Packet {
  Address source;
  Address destination;
  /// Length of the frame on the wire in bytes; of a packet out of a tunnel see parsePacket.
  std::uint32_t wire = 0;
  /// Zero where the protocol has none, in later fragments, and where the capture ends before them.
  std::uint16_t sourcePort = 0;
  std::uint16_t destinationPort = 0;
  /// For a packet that was taken out of something, where in the frame its IP header begins; else 0.
  std::uint8_t innerAt = 0;
  /// IP protocol number after all extension headers that could be read.
  std::uint8_t protocol = 0;
  std::uint8_t tcpFlags = 0;
  /// Exactly one of tcp, udp, icmp and other: what the packet is counted as.
  Class transport = Class::other;
  /// SYN without ACK.
  bool isSyn = false;
  /// Part of a datagram, the first part included.
  bool isFragment = false;
  /// A part without transport header: it does not show to which flow it belongs.
  bool isLaterFragment = false;
  /// The encapsulation that it carries and that is not configured to be removed; also of a frame that is not IP.
  Encapsulation inside = Encapsulation::none;
};

/// Which packets to take out of which tunnels.
struct Decapsulation {
  Encapsulations kinds{};
  /// Packets in tunnels count only if their IP header begins before this byte of the frame.
  std::uint8_t before = NETWORK_AT_MAX + 1;
  VxlanPorts vxlanPorts{};
};

/// Reads one frame and returns ParseError::none, or why not; then `packet` holds nothing of use.
///
/// Between the Ethernet header and what it carries up to VLAN_TAGS_MAX tags are read: see ethernet_tags.h.
///
/// A frame has exactly one outcome. As soon as a sound IP header names the destination, the packet is counted to it:
/// an attacker must not be able to hide volume behind a cut transport header, an endless chain of extension headers or
/// a length field that lies. Such a packet counts by the last protocol number that could be read, without ports.
///
/// Of packets in tunnels of the wanted kinds it is the innermost whose headers can be read, through TUNNELS_MAX tunnels
/// in one another. What else is inside leaves the packet around it: a later fragment, what is not IP, damaged headers.
/// The `wire` of a packet out of a tunnel is that of its own frame: the bytes from where the tunnel's header ends to
/// the end of the frame, and 14 for an Ethernet header where the tunnel carries none. No length field of the inner
/// headers has a part in it. With `before` = innerAt of a packet, the same frame
/// gives the packet around that one, or, of the outermost, the same.
[[nodiscard]] ParseError parsePacket(const Frame& frame, Link link, Packet& packet, Decapsulation wanted = {}) noexcept;

/// For a frame that parsePacket found not to be IP: the Ethernet type behind all tags that it reads; below 256, of an
/// LLC frame, its destination service access point; 0: none that can be read. Reads the frame once more.
[[nodiscard]] std::uint16_t etherTypeOf(const Frame& frame, Link link) noexcept;

}  // namespace floodwall
