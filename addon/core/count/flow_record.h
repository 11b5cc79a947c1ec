// One flow record, or one sampled packet, as a decoder hands it to a shard. Knows nothing of datagrams or hosts.
#pragma once

#include <cstdint>

#include "parse/packet_parser.h"

namespace floodwall {

/// At which side of the exporter's interface the packets were observed (RFC 5102, 5.11.5: flowDirection).
enum class FlowDirection : std::uint8_t { unknown, ingress, egress };

struct FlowRecord {
  /// The fields of each of its packets. `wire` is the mean length of a frame. `isSyn` and `isFragment` hold for all of
  /// them.
  Packet packet;
  /// As the exporter counted them, before they are multiplied by `samplingRate`.
  std::uint64_t packets = 0;
  /// Bytes of the frames on the wire without check sum: exports of layer 3 have 14 bytes a packet added.
  std::uint64_t bytes = 0;
  /// One packet in this number was counted. 0: not known.
  std::uint32_t samplingRate = 1;
  /// From the first packet to the last; 0 for a sampled packet.
  std::uint32_t durationMs = 0;
  /// When the first packet came, ms by a clock of the exporter; 0: not known.
  std::int64_t startMs = 0;
  /// From the last packet until the exporter sent the record, by the exporter's own clock.
  std::uint32_t ageMs = 0;
  FlowDirection direction = FlowDirection::unknown;
  /// Fields that are carried as they are; 0: not known.
#define IN_RECORD(name, bits, ...) std::uint##bits##_t name = 0;
#include "flow_fields_abi.h"
  /// The value in the record of the way back for a field that has no counterpart.
  static constexpr std::uint8_t unknown = 0;
  /// How much the record has of the key by which its exporter distinguishes flows. `whole`: addresses, ports, protocol,
  /// type of service and interface, as NetFlow v5. `partial`: too little to know a flow again, or its times are not
  /// known.
  enum class Key : std::uint8_t { partial, ports, whole };
  Key key = Key::partial;
  /// A counter has a value that none can have, as -1.
  bool hasImpossibleCount = false;
  /// The packet around that of the record, in a tunnel: addresses of 4 or 16 bytes, valid during the call; 0: none.
  std::uint8_t outerBytes = 0;
  std::uint8_t outerProtocol = 0;
  const std::uint8_t* outerSource = nullptr;
  const std::uint8_t* outerDestination = nullptr;
  /// Whether it counts to the host that it goes to, and to the host that it comes from; see InterfaceRoles.
  bool countsIncoming = true;
  bool countsOutgoing = true;
  /// The sampled packet's first bytes, valid during the call, and what they begin with; null for a flow record.
  const std::uint8_t* header = nullptr;
  std::uint32_t headerBytes = 0;
  /// Bytes of the whole frame that the header is of, as `packet.wire` is of the packet within.
  std::uint32_t frameBytes = 0;
  Link link = Link::rawIp;
};

}  // namespace floodwall
