// The kernel's counts of one host or network, in the form that a shard takes.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "count/counters.h"
#include "inline_abi.h"
#include "parse/packet_parser.h"

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
static_assert(INLINE_ERRORS == kParseErrors && sizeof(ip_address) == sizeof(Address));

/// The counts of one CPU up to now. The CPU goes on counting: each number is whole, and later ones may be newer.
[[nodiscard]] inline Counters countersOf(const inline_counts& counts) noexcept {
  Counters counters;
  for (std::size_t i = 0; i < kClasses; i++) {
    counters.packets[i] = __atomic_load_n(&counts.classes[i].packets, __ATOMIC_RELAXED);
    counters.bytes[i] = __atomic_load_n(&counts.classes[i].bytes, __ATOMIC_RELAXED);
  }
  counters.newFlows = __atomic_load_n(&counts.new_flows, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return counters;
}

inline void addTo(Counters& sum, const Counters& more) noexcept {
  for (std::size_t i = 0; i < kClasses; i++) {
    sum.packets[i] += more.packets[i];
    sum.bytes[i] += more.bytes[i];
  }
  sum.newFlows += more.newFlows;
}

/// The difference of two readings.
[[nodiscard]] inline Counters difference(const Counters& now, const Counters& before) noexcept {
  Counters delta;
  for (std::size_t i = 0; i < kClasses; i++) {
    delta.packets[i] = now.packets[i] - before.packets[i];
    delta.bytes[i] = now.bytes[i] - before.bytes[i];
  }
  delta.newFlows = now.newFlows - before.newFlows;
  return delta;
}

[[nodiscard]] inline bool isSame(const Counters& one, const Counters& other) noexcept {
  return one.packets == other.packets && one.bytes == other.bytes && one.newFlows == other.newFlows;
}

}  // namespace floodwall
