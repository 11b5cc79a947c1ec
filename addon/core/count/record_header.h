// A frame made of a flow record: what classifies sampled packets and makes rules of them reads headers.
#pragma once

#include <array>
#include <cstdint>

#include "count/flow_record.h"
#include "parse/frame.h"

namespace floodwall {

/// Ethernet without addresses, IPv6 with a fragment header, and TCP up to its flags.
using RecordHeader = std::array<std::uint8_t, 14 + 40 + 8 + 14>;

/// Writes addresses, protocol, ports, TCP flags, length and fragmentation of the record's packets into `bytes`, and
/// returns the frame that they are. All that the record does not say is zero or not captured: parsePacket() reads from
/// it what the record's `packet` has.
[[nodiscard]] Frame frameOf(const FlowRecord& record, RecordHeader& bytes) noexcept;

}  // namespace floodwall
