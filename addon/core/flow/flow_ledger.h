// The counts that an exporter has reported of each flow so far, where its records have totals, so that a flow counts by
// the difference to its last record. Knows flows by a number of their key.
#pragma once

#include <cstdint>
#include <vector>

namespace floodwall {

/// Both directions of a flow.
struct FlowSums {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t backPackets = 0;
  std::uint64_t backBytes = 0;

  friend FlowSums operator+(const FlowSums& a, const FlowSums& b) noexcept {
    return {a.packets + b.packets, a.bytes + b.bytes, a.backPackets + b.backPackets, a.backBytes + b.backBytes};
  }
  friend FlowSums operator-(const FlowSums& a, const FlowSums& b) noexcept {
    return {a.packets - b.packets, a.bytes - b.bytes, a.backPackets - b.backPackets, a.backBytes - b.backBytes};
  }
};

/// One record of a flow. Times are ms since 1970 of the exporter's clock.
struct FlowReport {
  std::uint64_t key = 0;
  FlowSums sums;
  std::int64_t startMs = 0;
  std::int64_t endMs = 0;
  bool hasStart = false;
  /// Counters of bytes have 32 bits or fewer, and may wrap; 64: they do not.
  std::uint8_t bytesBits = 64;
  /// Time since the first datagram of the exporter, by its clock.
  std::int64_t reportedForMs = 0;
  /// Nothing more of the flow will be reported, as its record says.
  bool isOver = false;
};

/// The counts that a record adds to those of its flow, and the time over which they came.
struct FlowGrowth {
  FlowSums sums;
  std::uint32_t durationMs = 0;
};

/// Bounded by kLedgerFlowsMax flows; grows to that as they come. A flow that was reported again keeps its place until
/// it was not for kKeptMs: a flood of new flows takes the places of flows that were reported once.
///
/// A flow that may have been reported before, and is not known, is taken to have grown evenly, and its last part
/// counts: one that began before the first datagram of the exporter, and all where flows found no place.
class FlowLedger {
 public:
  static constexpr std::uint64_t kKeptMs = 180'000;

  FlowLedger();

  /// A record with the totals of a flow (elements 85 and 86): one that has less than before, or another start, is of a
  /// new flow. One of the same start with less, and an earlier end, came late: it has nothing new.
  [[nodiscard]] FlowGrowth ofTotals(const FlowReport& report, std::uint64_t nowMs);
  /// A record with the counts of a flow since the last one: counts as it is.
  [[nodiscard]] FlowGrowth ofUpdate(const FlowReport& report, std::uint64_t nowMs);
  /// The last record of a flow, with its totals; less than its updates had is no total, and counts as it is. An update
  /// that comes after it, and a second end, have nothing new. Flows that ended take no place of those that go on.
  [[nodiscard]] FlowGrowth ofEnd(const FlowReport& report, std::uint64_t nowMs);

  /// Flows that found no place, and flows that lost theirs before kKeptMs.
  [[nodiscard]] std::uint64_t untracked() const noexcept { return untracked_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::size_t memoryBytes() const noexcept { return flows_.capacity() * sizeof(Flow); }

 private:
  static constexpr std::size_t kWays = 4;
  /// Starts within it are the same.
  static constexpr std::int64_t kSameMs = 500;

  struct Flow {
    std::uint64_t key = 0;
    FlowSums sums;
    std::int64_t startMs = 0;
    std::int64_t endMs = 0;
    std::uint64_t reportedMs = 0;
    bool isRepeated = false;
    /// Its last record came.
    bool isEnded = false;
  };

  [[nodiscard]] Flow* find(std::uint64_t key) noexcept;
  [[nodiscard]] Flow* findOfTime(const FlowReport& report) noexcept;
  [[nodiscard]] static bool hasEnded(const Flow& flow, const FlowReport& report) noexcept;
  [[nodiscard]] static bool isOver(const Flow& flow, std::uint64_t nowMs) noexcept {
    return flow.key == 0 || nowMs > flow.reportedMs + kKeptMs;
  }
  /// Whether nothing is lost of what is still to be reported if another flow takes its place.
  [[nodiscard]] static bool isFree(const Flow& flow, std::uint64_t nowMs) noexcept {
    return flow.isEnded || isOver(flow, nowMs);
  }
  /// The flow whose place one of this key is to take: where the table cannot grow, one that ended before one that was
  /// reported once, and that before one that was reported again.
  Flow& placeFor(std::uint64_t key, std::uint64_t nowMs);
  void begin(const FlowReport& report, std::uint64_t nowMs);
  [[nodiscard]] static std::uint32_t lifeOf(const FlowReport& report) noexcept;
  std::uint32_t sinceLast(const Flow& flow, const FlowReport& report, std::uint64_t nowMs) noexcept;
  [[nodiscard]] FlowGrowth unknown(const FlowReport& report, std::uint64_t nowMs) noexcept;
  bool grow();

  std::vector<Flow> flows_;
  std::uint64_t seed_;
  std::uint64_t untracked_ = 0;
  /// The longest time between two reports of a flow, learned at `learnedMs_`; 0: flows are reported once.
  std::uint32_t intervalMs_ = 0;
  std::uint64_t learnedMs_ = 0;
};

}  // namespace floodwall
