// What the kernel has counted for one host or network over all CPUs, and the difference between two readings in the
// form that a shard takes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "counters.h"
#include "inline_abi.h"
#include "packet_parser.h"

namespace floodwall {

static_assert(INLINE_TCP == static_cast<int>(Class::tcp) && INLINE_UDP == static_cast<int>(Class::udp));
static_assert(INLINE_ICMP == static_cast<int>(Class::icmp) && INLINE_OTHER == static_cast<int>(Class::other));
static_assert(INLINE_TCP_SYN == static_cast<int>(Class::tcpSyn));
static_assert(INLINE_FRAGMENT == static_cast<int>(Class::fragment) && INLINE_CLASSES == kClasses);
static_assert(INLINE_TRUNCATED_ETHERNET == static_cast<int>(ParseError::truncatedEthernet));
static_assert(INLINE_TOO_MANY_VLAN_TAGS == static_cast<int>(ParseError::tooManyVlanTags));
static_assert(INLINE_NOT_IP == static_cast<int>(ParseError::notIp));
static_assert(INLINE_TRUNCATED_IPV4 == static_cast<int>(ParseError::truncatedIpv4));
static_assert(INLINE_BAD_IPV4_HEADER == static_cast<int>(ParseError::badIpv4Header));
static_assert(INLINE_TRUNCATED_IPV6 == static_cast<int>(ParseError::truncatedIpv6));
static_assert(INLINE_BAD_IPV6_HEADER == static_cast<int>(ParseError::badIpv6Header));
static_assert(INLINE_ERRORS == kParseErrors && sizeof(inline_address) == sizeof(Address));

struct InlineTotals {
  std::array<std::uint64_t, kClasses> bytes{};
  /// Packets wrap around, as the counters that they are compared for do.
  std::array<std::uint32_t, kClasses> packets{};
  std::uint32_t newFlows = 0;

  void add(const inline_counts& ofCpu) noexcept {
    for (std::size_t i = 0; i < kClasses; i++) {
      bytes[i] += ofCpu.classes[i].bytes;
      packets[i] += static_cast<std::uint32_t>(ofCpu.classes[i].packets);
    }
    newFlows += static_cast<std::uint32_t>(ofCpu.new_flows);
  }

  friend bool operator==(const InlineTotals&, const InlineTotals&) = default;
};

/// Hands `hand` what came between two readings. More than one call where 32 bits do not hold the bytes.
template <typename Hand>
void handOver(const InlineTotals& before, const InlineTotals& now, Hand&& hand) {
  Counters delta;
  std::array<std::uint64_t, kClasses> bytesLeft;
  bool isMore = false;
  for (std::size_t i = 0; i < kClasses; i++) {
    delta.packets[i] = now.packets[i] - before.packets[i];
    bytesLeft[i] = now.bytes[i] - before.bytes[i];
  }
  delta.newFlows = now.newFlows - before.newFlows;
  do {
    isMore = false;
    for (std::size_t i = 0; i < kClasses; i++) {
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
      const std::uint64_t part = bytesLeft[i] < kMost ? bytesLeft[i] : kMost;
      delta.bytes[i] = static_cast<std::uint32_t>(part);
      bytesLeft[i] -= part;
      isMore = isMore || bytesLeft[i] != 0;
    }
    hand(delta);
    delta.packets = {};
    delta.newFlows = 0;
  } while (isMore);
}

}  // namespace floodwall
