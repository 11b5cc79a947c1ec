// The first bytes of a sampled packet, of any link layer that exporters have, through the packet parser.
#pragma once

#include <cstdint>

#include "count/flow_record.h"
#include "flow/big_endian.h"
#include "flow/flow_exporter_status.h"
#include "parse/encapsulation.h"

namespace floodwall {

/// sFlow v5's header_protocol. NetFlow and IPFIX have Ethernet and IP (ipv4, of either version) alone.
enum class HeaderProtocol : std::uint32_t {
  ethernet = 1,
  ppp = 7,
  ipv4 = 11,
  ipv6 = 12,
  mpls = 13,
  packetOverSonet = 14
};

/// The part of a frame before its IP header that is not in a length of layer 3.
inline constexpr std::uint32_t kEthernetHeaderBytes = 14;

enum class HeaderOutcome : std::uint8_t { parsed, notTakenApart, refused };

struct ParsedHeader {
  HeaderOutcome outcome;
  /// The error of parsePacket, if refused.
  ParseError error;
};

struct SampledHeader {
  /// See HeaderProtocol.
  std::uint32_t protocol = 0;
  ByteSpan bytes;
  /// The frame's length without check sum for Ethernet, else the length from the header's first byte, of layer 3 or
  /// what stands before it.
  std::uint32_t frameBytes = 0;
  /// `frameBytes` may be the header's: then it is at least what the IP header says. Not believed of others, since an
  /// attacker writes the IP header.
  bool isLengthDoubtful = false;
};

/// Sets `packet`, `header`, `headerBytes`, `frameBytes` and `link` of the record. The packet is the innermost one of
/// `decapsulated`.
[[nodiscard]] ParsedHeader parseSampledHeader(const SampledHeader& sampled, Encapsulations decapsulated,
                                              FlowRecord& record) noexcept;

/// The kind of a header that was refused as not IP.
[[nodiscard]] inline NotForUs notForUs(const FlowRecord& record) noexcept {
  return record.packet.inside == Encapsulation::none ? NotForUs::notIpFrame : NotForUs::encapsulatedFrame;
}

/// The length that an IPv4 or IPv6 header says, the header included; 0 if it says none.
[[nodiscard]] std::uint32_t ipLengthOf(ByteSpan packet) noexcept;

}  // namespace floodwall
