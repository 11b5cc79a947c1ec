// The kind of a frame that is not IP: a closed set of names, by its Ethernet type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace floodwall {

enum class NotIpKind : std::uint8_t { arp, lldp, lacp, stp, llc, pppoeDiscovery, pppoe, mpls, macsec, fcoe, other };
inline constexpr std::size_t kNotIpKinds = static_cast<std::size_t>(NotIpKind::other) + 1;

/// Labels of metrics, in the order of NotIpKind.
inline constexpr std::array<const char*, kNotIpKinds> kNotIpKindNames = {
    "arp", "lldp", "lacp", "stp", "llc", "pppoe_discovery", "pppoe", "mpls", "macsec", "fcoe", "other"};

/// Below this a type is the destination service access point of an LLC frame, and 0 none that could be read.
inline constexpr std::uint16_t kLlcEnd = 0x100;

/// The kind of a type that etherTypeOf() returns.
[[nodiscard]] constexpr NotIpKind notIpKindOf(std::uint16_t type) noexcept {
  switch (type) {
    case 0:
      return NotIpKind::other;
    case 0x0042:
      return NotIpKind::stp;
    case 0x0806:
      return NotIpKind::arp;
    case 0x8809:
      return NotIpKind::lacp;
    case 0x8847:
    case 0x8848:
      return NotIpKind::mpls;
    case 0x8863:
      return NotIpKind::pppoeDiscovery;
    case 0x8864:
      return NotIpKind::pppoe;
    case 0x88cc:
      return NotIpKind::lldp;
    case 0x88e5:
      return NotIpKind::macsec;
    case 0x8906:
    case 0x8914:
      return NotIpKind::fcoe;
    default:
      return type < kLlcEnd ? NotIpKind::llc : NotIpKind::other;
  }
}

}  // namespace floodwall
