// The Ethernet header of a frame with all that may be between it and what it carries: tags of switches, what mirrors
// and taps insert, and LLC. For the few frames that packet_parser.cpp does not read by itself. Knows no IP header.
#pragma once

#include <cstdint>

#include "parse/layers.h"

namespace floodwall {

/// Ethernet types that are followed by a tag and by the next type. VLAN tags are read in the XDP programs too, the
/// others are only seen on mirrors and taps.
inline constexpr std::uint16_t kTypeVlan = 0x8100, kTypeServiceVlan = 0x88a8, kTypeOldServiceVlan = 0x9100;
/// Cisco's VN-tag and IEEE 802.1BR's E-tag: ports of extenders.
inline constexpr std::uint16_t kTypeVnTag = 0x8926, kTypeETag = 0x893f;
/// Cisco metadata (TrustSec): the sender's security group.
inline constexpr std::uint16_t kTypeCiscoMetadata = 0x8909;
/// Arista's own type, of which the time stamp is read.
inline constexpr std::uint16_t kTypeArista = 0xd28b;
/// Up to here the type is the length of an LLC frame (IEEE 802.3, 3.2.6).
inline constexpr std::uint16_t kLengthMax = 1500;

/// Steps over the header and VLAN_TAGS_MAX tags, of which SNAP is one: `type` is that of what the cursor is at
/// afterwards, or, of an LLC frame that is not IP, its destination service access point, which is below 256. An
/// error, or ParseError::none.
[[nodiscard]] ParseError readEthernet(Cursor& cursor, std::uint16_t& type) noexcept;

}  // namespace floodwall
