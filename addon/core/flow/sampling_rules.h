// How exporters say their sampling rate in a record, of flows or of options: one table of rules. SamplingTable
// knows for which records a rate holds.
#pragma once

#include <cstdint>

#include "flow/sampling_table.h"
#include "flow/slot_values.h"

namespace floodwall {

/// The highest rate: one packet in this number. sFlow agents and routers have rates up to 2^20 (Arista's default of
/// sFlow); what is beyond was written by mistake.
inline constexpr std::uint32_t kRateMost = 1U << 20;

struct SaidRate {
  /// One packet in this number; 0: nothing says it.
  std::uint32_t rate = 0;
  /// The elements have a value that no rate can have.
  bool isImpossible = false;
};

/// Where a rate is said: routers that say it in each record of flows have an interval of at most 65,535 packets.
enum class RatePlace : std::uint8_t { flowRecord, options };

[[nodiscard]] SaidRate rateIn(const RecordLayout& layout, const SlotValues& values, RatePlace place) noexcept;

/// Whether records of the layout have the elements of a rule.
[[nodiscard]] bool hasRate(const RecordLayout& layout) noexcept;

/// The scope of the rates in options of the layout: the nearest one that they name. Where an interface's number is 0, a
/// record's rate is of the next one.
[[nodiscard]] SamplingScope scopeOf(const RecordLayout& layout, bool hasInterface) noexcept;

/// The line card or the metering process that a record names, as a number that distinguishes both; 0: none.
[[nodiscard]] std::uint64_t partIn(const RecordLayout& layout, const SlotValues& values) noexcept;

}  // namespace floodwall
