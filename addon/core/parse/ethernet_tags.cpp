#include "parse/ethernet_tags.h"

#include <cstring>

namespace floodwall {
namespace {

constexpr std::size_t kTypeBytes = 2;

/// Version 1, then how many words of four bytes follow: options, the first of which has the security group.
std::size_t metadataBytes(const Cursor& cursor) noexcept {
  constexpr std::size_t kVersionAndLength = 2, kWord = 4;
  if (!cursor.has(kVersionAndLength)) return kVersionAndLength + kTypeBytes;
  const std::size_t words = cursor.at[1];
  return cursor.at[0] == 1 && words > 0 ? kVersionAndLength + words * kWord + kTypeBytes : 0;
}

/// Subtype 1, then the version: TAI or UTC in 64 or 48 bits (0x0010, 0x0110, 0x0020, 0x0120), then the time.
std::size_t timeStampBytes(const Cursor& cursor) noexcept {
  constexpr std::size_t kSubtypeAndVersion = 4;
  if (!cursor.has(kSubtypeAndVersion)) return kSubtypeAndVersion + kTypeBytes;
  if (cursor.u16(0) != 1) return 0;
  // The high byte names the clock, and may name others; the low byte says how long the time is.
  switch (cursor.at[3]) {
    case 0x10:
      return kSubtypeAndVersion + 8 + kTypeBytes;
    case 0x20:
      return kSubtypeAndVersion + 6 + kTypeBytes;
    default:
      return 0;
  }
}

/// SNAP with an Ethernet type (RFC 1042).
std::size_t snapBytes(const Cursor& cursor) noexcept {
  static constexpr std::uint8_t kSnap[6] = {0xaa, 0xaa, 0x03, 0, 0, 0};
  return cursor.has(sizeof kSnap) && std::memcmp(cursor.at, kSnap, sizeof kSnap) == 0 ? sizeof kSnap + kTypeBytes : 0;
}

/// Bytes from here to the end of the next type, which are the last two of them; 0: no tag that can be read.
std::size_t tagBytes(const Cursor& cursor, std::uint16_t type) noexcept {
  switch (type) {
    case kTypeVlan:
    case kTypeServiceVlan:
    case kTypeOldServiceVlan:
      return 2 + kTypeBytes;
    case kTypeVnTag:
      return 4 + kTypeBytes;
    case kTypeETag:
      return 6 + kTypeBytes;
    case kTypeCiscoMetadata:
      return metadataBytes(cursor);
    case kTypeArista:
      return timeStampBytes(cursor);
    default:
      return type <= kLengthMax ? snapBytes(cursor) : 0;
  }
}

/// IPv4 has a service access point of its own (RFC 948); IPv6 has none.
std::uint16_t readLlc(Cursor& cursor) noexcept {
  static constexpr std::uint8_t kIpv4[3] = {0x06, 0x06, 0x03};
  if (!cursor.has(sizeof kIpv4)) return 0;
  if (std::memcmp(cursor.at, kIpv4, sizeof kIpv4) != 0) return cursor.at[0];
  cursor.skip(sizeof kIpv4);
  return kTypeIpv4;
}

}  // namespace

ParseError readEthernet(Cursor& cursor, std::uint16_t& type) noexcept {
  constexpr std::size_t kHeader = 14;
  if (!cursor.has(kHeader)) return ParseError::truncatedEthernet;
  type = cursor.u16(kHeader - kTypeBytes);
  cursor.skip(kHeader);
  for (int tags = 0;; tags++) {
    const std::size_t bytes = tagBytes(cursor, type);
    if (bytes == 0) break;
    if (tags == VLAN_TAGS_MAX) return ParseError::tooManyVlanTags;
    if (!cursor.has(bytes)) return ParseError::truncatedEthernet;
    type = cursor.u16(bytes - kTypeBytes);
    cursor.skip(bytes);
  }
  if (type <= kLengthMax) type = readLlc(cursor);
  return ParseError::none;
}

std::uint16_t etherTypeOf(const Frame& frame, Link link) noexcept {
  if (link != Link::ethernet) return 0;
  Cursor cursor{frame.data, frame.captured};
  std::uint16_t type = 0;
  return readEthernet(cursor, type) == ParseError::none ? type : 0;
}

}  // namespace floodwall
