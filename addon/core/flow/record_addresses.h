// Which hosts a flow record is of: those of its packets, or of the packets within a tunnel that it names beside them.
#pragma once

#include <cstdint>

#include "count/flow_record.h"
#include "flow/record_layout.h"
#include "flow/slot_values.h"

namespace floodwall {

/// Sets the addresses, protocol, ports and flags of `made.packet`, and `outer…` of a record that names two packets (as
/// SRv6 of Cisco IOS XR and Huawei, or VMware's tunnels): then `packet` is the inner one, and who knows the networks
/// chooses. False if the record has no address that it goes to.
bool setPacket(const RecordLayout& layout, const SlotValues& values, const std::uint8_t* record,
               FlowRecord& made) noexcept;

/// Whether records of the layout name any IP address.
[[nodiscard]] bool namesHosts(const RecordLayout& layout) noexcept;

}  // namespace floodwall
