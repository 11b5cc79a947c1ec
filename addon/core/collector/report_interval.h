// How often one exporter reports a flow that lasts, where its records do not say so.
#pragma once

#include <array>
#include <cstdint>

#include "count/flow_record.h"

namespace floodwall {

/// Some exporters, as Open vSwitch with NetFlow v5, report a flow that lasts again and again: with what it had since
/// the last record, but with the time at which it began. Spread over all of that time it would count for too little,
/// and ever less. Learns it from a few flows whose records begin at the same time and end at different ones. Of TCP and
/// UDP with NetFlow v5 alone: there a record has all by which the exporter tells flows apart, so that no two flows,
/// which anybody could send who wants a long record to count as a burst, are taken for one that is reported again.
class ReportInterval {
 public:
  /// Shorter ones are taken as they are, ms.
  static constexpr std::uint32_t kLeastMs = 1000;
  /// Times within it are the same: clocks of exporters, and the way from them, are not exact.
  static constexpr std::uint32_t kSameMs = 500;
  /// After which a flow that was not reported again gives its place to another one, and what was learned is forgotten.
  static constexpr std::uint64_t kKeptMs = 180'000;

  /// Over which the record is to be spread, ms: not over more than the time since the flow's last record, or, of a flow
  /// that is not known, than the longest such time. `nowMs`: monotonic, when it came.
  [[nodiscard]] std::uint32_t durationOf(const FlowRecord& record, std::uint64_t nowMs) noexcept {
    const bool hasPorts = record.packet.protocol == 6 || record.packet.protocol == 17;
    if (record.service == FlowRecord::kNoService || !hasPorts) return record.durationMs;
    return record.durationMs < kLeastMs ? record.durationMs : bounded(record, nowMs);
  }

 private:
  struct Flow {
    std::uint64_t key = 0;
    std::int64_t startMs = 0;
    std::int64_t endMs = 0;
    std::uint64_t heardMs = 0;
  };

  [[nodiscard]] std::uint32_t bounded(const FlowRecord& record, std::uint64_t nowMs) noexcept;

  std::array<Flow, 64> flows_{};
  std::uint64_t learnedMs_ = 0;
  /// 0: it reports flows as others do.
  std::uint32_t longestMs_ = 0;
};

}  // namespace floodwall
