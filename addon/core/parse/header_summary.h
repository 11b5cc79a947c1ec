// The headers of one sampled frame as a few numbers, in the form of records. Decodes as parsePacket() does.
#pragma once

#include <cstdint>

#include "parse/packet_parser.h"

namespace floodwall {

struct HeaderSummary {
  Packet packet;
  /// Length of the IP packet by its header, and its time to live or hop limit; 0: not said.
  std::uint16_t packetBytes = 0;
  std::uint8_t ttl = 0;
  /// RECORD_PORTS and so on.
  std::uint8_t bits = 0;
};

/// False for a frame without an IP header that names a destination. Takes nothing out of tunnels: a sample of a packet
/// out of one begins with that packet.
[[nodiscard]] bool summarize(const Frame& frame, Link link, HeaderSummary& summary) noexcept;

}  // namespace floodwall
