// Which hosts a flow record is of: those of its packets, or of the packets within a tunnel that it names beside them.
#pragma once

#include <cstdint>

#include "count/flow_record.h"
#include "flow/flow_transport.h"
#include "flow/record_layout.h"
#include "flow/slot_values.h"

namespace floodwall {

/// Sets the addresses, protocol, ports and flags of `made.packet`, and `outer…` of a record that names two packets (as
/// SRv6 of Cisco IOS XR and Huawei, or VMware's tunnels): then `packet` is the inner one, and who knows the networks
/// chooses. False if the record has no address that it goes to.
bool setPacket(const RecordLayout& layout, const SlotValues& values, const std::uint8_t* record,
               FlowRecord& made) noexcept;

/// Fragments, ports and flags, of the ports that hold.
inline void setPorts(const SlotValues& values, std::uint64_t source, std::uint64_t destination,
                     Packet& packet) noexcept {
  constexpr std::uint64_t kMoreFragments = 0x20, kOffsetMask = 0x1fff;
  const std::uint64_t offset = values[Slot::fragmentOffset] & kOffsetMask;
  packet.isLaterFragment = offset != 0;
  packet.isFragment = offset != 0 || (values[Slot::fragmentFlags] & kMoreFragments) != 0;
  setTransport(packet, static_cast<std::uint16_t>(source), static_cast<std::uint16_t>(destination),
               static_cast<std::uint8_t>(values[Slot::tcpFlags]));
}

/// Whether records of the layout name one IPv4 packet and nothing else: most do, and need no more than setPlainPacket.
[[nodiscard]] bool namesOnlyIpv4(const RecordLayout& layout) noexcept;

inline void setPlainPacket(const RecordLayout& layout, const SlotValues& values, const std::uint8_t* record,
                           Packet& packet) noexcept {
  setIpv4(packet.source, record + layout.part(Part::source4).offset);
  setIpv4(packet.destination, record + layout.part(Part::destination4).offset);
  packet.protocol = static_cast<std::uint8_t>(values[Slot::protocol]);
  setPorts(values, values[Slot::sourcePort], values[Slot::destinationPort], packet);
}

/// Whether records of the layout name any IP address or prefix.
[[nodiscard]] bool namesHosts(const RecordLayout& layout) noexcept;

}  // namespace floodwall
