// Which template or source gives way where there is no room: what never decoded a record goes before what did, so that
// whoever sends in an exporter's name takes nothing from it.
#pragma once

#include <cstdint>

#include "flow/record_layout.h"

namespace floodwall {

/// The first goes first, of those the oldest. From `unproven` on, of the source (of sources: of the port) that has the
/// most: each has its share.
enum class GivingWay : std::uint8_t {
  /// Neither said nor used for kFlowIdleMs.
  idle,
  /// Never decoded a record, of a source that never did.
  strange,
  /// Never decoded a record.
  unproven,
  /// Decoded records lately: goes only where its source has more than that of what comes.
  proven,
  /// Has decoded records for kEstablishedMs: stays.
  kept,
};

[[nodiscard]] GivingWay givingWayOf(std::uint64_t seenMs, const Use& use, bool isOfStranger,
                                    std::uint64_t nowMs) noexcept;

}  // namespace floodwall
