// The classes by which packets are counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace floodwall {

/// A class of packets. `other` is neither TCP, UDP nor ICMP, so that the total is a sum and is not stored.
/// `tcpSyn` (SYN without ACK) and `fragment` overlap with the four protocols.
enum class Class : std::uint8_t { tcp = 0, udp = 1, icmp = 2, other = 3, tcpSyn = 4, fragment = 5 };
inline constexpr std::size_t kClasses = 6;

}  // namespace floodwall
