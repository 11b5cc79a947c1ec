// The address that names a host.
#pragma once

#include <array>
#include <bit>
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

/// Whether the 16 bytes of an IPv6 address are a mapped IPv4 address.
[[nodiscard]] inline bool isIpv4Mapped(const std::uint8_t* ipv6) noexcept {
  static constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(ipv6, kMapped.data(), kMapped.size()) == 0;
}

[[nodiscard]] inline bool isIpv4Mapped(const Address& address) noexcept { return isIpv4Mapped(address.bytes.data()); }

/// In its mapped form, in two words: the hash of the address reads it in words right after, and a processor cannot
/// forward single bytes into them.
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

}  // namespace floodwall
