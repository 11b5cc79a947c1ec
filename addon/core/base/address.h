// The address that names a host.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace floodwall {

/// An IPv6 address, or an IPv4 address in its mapped form ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), in network order.
/// One form for both families keeps one table, one hash and one prefix match.
struct Address {
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const Address& a, const Address& b) noexcept {
    return std::memcmp(a.bytes.data(), b.bytes.data(), 16) == 0;
  }
};

[[nodiscard]] inline bool isIpv4Mapped(const Address& address) noexcept {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(address.bytes.data(), kMapped.data(), kMapped.size()) == 0;
}

}  // namespace floodwall
