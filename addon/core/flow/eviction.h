// Which template or source is evicted where there is no room: one that never decoded a record before one that did, so
// that a sender that forges an exporter's address takes nothing from it.
#pragma once

#include <cstdint>

#include "flow/record_layout.h"

namespace floodwall {

/// The first rank is evicted first, and the oldest within it. From `unproven` on, from the source (of sources: from the
/// port) with the most: each has its share.
enum class EvictionRank : std::uint8_t {
  /// Neither sent nor used for kFlowIdleMs.
  idle,
  /// Never decoded a record, of a source that never did.
  strange,
  /// Never decoded a record.
  unproven,
  /// Decoded records recently: evicted only where its source has more than the source of the newcomer.
  proven,
  /// Has decoded records for kEstablishedMs: stays.
  kept,
};

[[nodiscard]] EvictionRank evictionRankOf(std::uint64_t seenMs, const Use& use, bool isOfStranger,
                                          std::uint64_t nowMs) noexcept;

}  // namespace floodwall
