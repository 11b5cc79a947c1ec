// The part of a shard that any thread may read while its worker counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "count/ether_type_table.h"
#include "count/host_profiles.h"
#include "count/samples.h"
#include "count/shard_control.h"
#include "parse/not_ip_kind.h"
#include "parse/packet_parser.h"

namespace floodwall {

/// received = counted + untracked + foreign + the sum of parseErrors, whenever the worker is between two batches.
/// Frames as they arrive, also where they are a sample of the traffic; of flow records, the packets that they stand
/// for, in the moment in which the record came.
struct ShardStats {
  std::uint64_t receivedPackets = 0;
  std::uint64_t receivedBytes = 0;
  /// To or from a host that has a row.
  std::uint64_t countedPackets = 0;
  /// To or from a network, but its host has no row: counted to the network.
  std::uint64_t untrackedPackets = 0;
  /// No counted address lies in the networks. Sources are only looked at when outgoing traffic is counted.
  std::uint64_t foreignPackets = 0;
  std::array<std::uint64_t, kParseErrors> parseErrors{};
  /// Beside these outcomes: packets whose inside was not looked at, by what they carry. The inline counter estimates
  /// them from one packet in some hundreds.
  std::array<std::uint64_t, kEncapsulations> encapsulated{};
  /// Kinds of frames that are not IP, as far as this shard read them: the inline counter does not distinguish them.
  std::array<std::uint64_t, kNotIpKinds> notIp{};
  /// The same by Ethernet type. What `notIp` has beyond these is of other types.
  EtherTypeCounts etherTypes{};
};

/// Flow records that could not be counted as they are, by reason.
struct RecordStats {
  /// With more packets, bytes, time or a higher sampling rate than there can be: counted as kRecordPacketsMax and so
  /// on.
  std::uint64_t clamped = 0;
  /// Longer than a window and counted at once, since there was no room to spread them.
  std::uint64_t unspread = 0;
  /// Entries that are being spread: the records of a host, a direction and a kind are one.
  std::uint64_t spreading = 0;
};

/// For each outcome, so that a flood that is dropped takes no room of passed packets.
inline constexpr std::uint32_t kRecentSamples = 4096;
inline constexpr std::uint32_t kSampledOutcomes = 3;
static_assert(FILTER_PASSED < kSampledOutcomes && FILTER_DROPPED < kSampledOutcomes &&
              FILTER_ANSWERED < kSampledOutcomes);
inline constexpr std::uint32_t kWatchedSamples = 128;

/// Part of a Shard, in which the worker writes what this has.
class ShardReaderSide {
 public:
  ShardReaderSide(const ShardReaderSide&) = delete;
  ShardReaderSide& operator=(const ShardReaderSide&) = delete;

  [[nodiscard]] ShardStats stats() const noexcept;
  [[nodiscard]] std::uint64_t refusedHosts() const noexcept { return refusedHosts_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t evictedRows() const noexcept { return evictedRows_.load(std::memory_order_relaxed); }
  [[nodiscard]] RecordStats recordStats() const noexcept;
  /// Whether it ever counted what stands for more than itself; until then there is nothing in the wide rows.
  [[nodiscard]] bool isWide() const noexcept { return isWide_.load(std::memory_order_acquire); }
  /// Rows that packets find.
  [[nodiscard]] std::uint32_t rowsInUse() const noexcept { return rowsInUse_.load(std::memory_order_relaxed); }
  /// Whether readers that add counts from elsewhere should read more often: see ReadingPace.
  [[nodiscard]] bool hasRising() const noexcept { return control_.hasRising.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t foldedMs() const noexcept { return control_.foldedMs.load(std::memory_order_relaxed); }
  /// A ring for each of the first kSampledOutcomes of filter_outcome; what nothing judged is in that of what passed.
  [[nodiscard]] const SampleRings& recentSamples() const noexcept { return recent_; }
  [[nodiscard]] const SampleRings& watchedSamples() const noexcept { return watchedRings_; }
  [[nodiscard]] const HostProfiles& profiles() const noexcept { return profiles_; }

 protected:
  explicit ShardReaderSide(std::shared_ptr<const Control> control);
  ~ShardReaderSide() = default;

  /// Counters of the stats.
  enum Stat : std::uint8_t { kReceivedPackets, kReceivedBytes, kCounted, kUntracked, kForeign, kErrors };
  static constexpr std::size_t kEncapsulated = kErrors + kParseErrors;
  static constexpr std::size_t kNotIp = kEncapsulated + kEncapsulations;
  static constexpr std::size_t kStats = kNotIp + kNotIpKinds;

  const std::shared_ptr<const Control> shared_;
  const Control& control_;
  std::atomic<bool> isWide_{false};
  SampleRings recent_;
  SampleRings watchedRings_;
  HostProfiles profiles_;
  EtherTypeTable etherTypes_;
  std::array<std::atomic<std::uint64_t>, kStats> stats_{};
  std::atomic<std::uint32_t> rowsInUse_{0};
  std::atomic<std::uint64_t> refusedHosts_{0};
  std::atomic<std::uint64_t> evictedRows_{0};
  std::atomic<std::uint64_t> clampedRecords_{0}, unspreadRecords_{0}, spreadingRecords_{0};
};

}  // namespace floodwall
