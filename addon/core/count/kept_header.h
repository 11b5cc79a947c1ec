// The part of a frame that a sample keeps. Knows nothing of rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "parse/frame.h"

namespace floodwall {

/// Copies the beginning of a frame, and returns how many bytes that is. A packet without an Ethernet header gets one of
/// zeros with its type.
///
/// Where extension headers of IPv6 put the transport header out of reach, each of them is shortened to its first eight
/// bytes, which say so, or is left out where not even these have room. So what is kept has the addresses, the length,
/// the last protocol, the fragment, the ports and the flags that the parser reads in the frame; `to` must have room for
/// kKeptHeaderMin bytes.
std::size_t keepHeader(const Frame& frame, Link link, std::span<std::uint8_t> to) noexcept;

/// Ethernet with eight VLAN tags, IPv6 with a fragment header, and TCP.
inline constexpr std::size_t kKeptHeaderMin = 14 + 8 * 4 + 40 + 8 + 20;

}  // namespace floodwall
