// The counters of one host in one direction.
// Shared by everything that counts; knows nothing of packets, threads or windows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "parse/traffic_class.h"

namespace floodwall {

enum class Direction : std::uint8_t { incoming = 0, outgoing = 1 };

/// Packets, bytes (length of the frame on the wire, without the Ethernet check sum) and new flows.
/// Wraps around at 2^32: readers take differences at least once a tick.
struct Counters {
  std::array<std::uint32_t, kClasses> packets{};
  std::array<std::uint32_t, kClasses> bytes{};
  std::uint32_t newFlows = 0;
};
static_assert(sizeof(Counters) == 52);

/// The 13 metrics, in the order in which thresholds are judged.
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
/// As the interface writes them, in the order of Metric.
inline constexpr std::array<const char*, kMetrics> kMetricNames = {
    "pps",      "mbps",      "flows_per_sec", "tcp_pps",      "tcp_mbps", "udp_pps",   "udp_mbps",
    "icmp_pps", "icmp_mbps", "tcp_syn_pps",   "tcp_syn_mbps", "frag_pps", "frag_mbps",
};

}  // namespace floodwall
