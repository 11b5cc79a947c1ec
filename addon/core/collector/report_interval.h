// How often one exporter reports a flow that lasts, where its records do not say so.
#pragma once

#include <array>
#include <cstdint>

#include "count/flow_record.h"

namespace floodwall {

/// Some exporters, as Open vSwitch with NetFlow v5 and Junos inline, report a flow that lasts again and again: with
/// what it had since the last record, but with the time at which it began. Spread over all of that time it would count
/// for too little, and ever less. Learns it from a few flows whose records begin at the same time and end at different
/// ones.
///
/// A sender of traffic must not be able to teach it: two flows that begin together and differ in a field that the
/// record lacks must not be taken for one, by which a long record would count as a burst. So records with the whole key
/// of a flow teach it; and records of UDP that come while the flow goes on, since a sender cannot choose the end of a
/// UDP flow. A flow whose next record begins where the last one ended shows that the exporter does not do so. Records
/// of protocols without ports teach nothing; what was learned holds for them.
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
    if (record.key == FlowRecord::Key::partial || record.startMs == 0) return record.durationMs;
    return record.durationMs < kLeastMs ? record.durationMs : bounded(record, nowMs);
  }

  /// The longest time between two records of a flow that is reported again and again; 0: none is.
  [[nodiscard]] std::uint32_t longestMs() const noexcept { return longestMs_; }

 private:
  static constexpr std::uint8_t kTcp = 6, kUdp = 17;

  struct Flow {
    std::uint64_t key = 0;
    std::int64_t startMs = 0;
    std::int64_t endMs = 0;
    std::uint64_t reportedMs = 0;
  };

  [[nodiscard]] static bool canTeach(const FlowRecord& record) noexcept;
  [[nodiscard]] std::uint32_t bounded(const FlowRecord& record, std::uint64_t nowMs) noexcept;

  std::array<Flow, 64> flows_{};
  std::uint64_t learnedMs_ = 0;
  /// When a flow last showed that its exporter restarts start times; 0: none has.
  std::uint64_t refutedMs_ = 0;
  /// 0: it reports flows as others do.
  std::uint32_t longestMs_ = 0;
};

}  // namespace floodwall
