// The counters of one host in one direction, and the address that names the host.
// Shared by everything that counts; knows nothing of packets, threads or windows.
#pragma once

#include <array>
#include <cstddef>
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

enum class Direction : std::uint8_t { incoming = 0, outgoing = 1 };

/// What is counted. `other` is what is neither TCP, UDP nor ICMP, so that the total is a sum and is not stored.
/// `tcpSyn` (SYN without ACK) and `fragment` overlap with the four protocols.
enum class Class : std::uint8_t { tcp = 0, udp = 1, icmp = 2, other = 3, tcpSyn = 4, fragment = 5 };
inline constexpr std::size_t kClasses = 6;

/// Packets, bytes (length of the frame on the wire, without the Ethernet check sum) and new flows.
/// Wraps around at 2^32: readers take differences at least once a tick.
struct Counters {
  std::array<std::uint32_t, kClasses> packets{};
  std::array<std::uint32_t, kClasses> bytes{};
  std::uint32_t newFlows = 0;
};
static_assert(sizeof(Counters) == 52);

/// The 13 metrics, in the order in which thresholds are judged (src/traffic/rates.ts has the same order).
enum class Metric : std::uint8_t {
  pps,
  mbps,
  flowsPerSec,
  tcpPps,
  tcpMbps,
  udpPps,
  udpMbps,
  icmpPps,
  icmpMbps,
  tcpSynPps,
  tcpSynMbps,
  fragPps,
  fragMbps,
};
inline constexpr std::size_t kMetrics = 13;

}  // namespace floodwall
