// All that is known of hosts as of the last fold: the windows, the hosts in them, and what they are measured by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/address.h"
#include "count/address_hash.h"
#include "count/bucket_clock.h"
#include "count/columns.h"
#include "count/counters.h"
#include "count/engine_options.h"
#include "count/host_table.h"
#include "count/intervals.h"
#include "count/networks.h"
#include "count/sampling_errors.h"
#include "count/screens.h"
#include "count/shard_ledger.h"
#include "count/totals.h"
#include "count/window_sums.h"

namespace floodwall {

/// The fold changes it under the lock of Fold::state(). Who has it as `const` only reads.
struct FoldedState {
  FoldedState(const EngineOptions& with, const AddressHash& hash);

  [[nodiscard]] std::uint32_t nowMs() const noexcept { return static_cast<std::uint32_t>(nowNs / 1'000'000); }
  [[nodiscard]] std::uint32_t groupOf(std::uint32_t host) const noexcept {
    return networks->places()[hosts[host].place].group;
  }
  [[nodiscard]] HostRates ratesOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] HostRates ratesOfTotals(const std::array<Totals, 2>& totals) const noexcept;
  [[nodiscard]] RowWeights weightsOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] double idleMsOf(std::uint32_t host) const noexcept;
  [[nodiscard]] std::uint64_t sizeOfHost(std::uint32_t host) const noexcept {
    const std::uint64_t incoming = sizeOf(sums.of(host, Direction::incoming));
    return sums.counts(Direction::outgoing) ? incoming + sizeOf(sums.of(host, Direction::outgoing)) : incoming;
  }
  [[nodiscard]] ScreenedHost screenedHost(std::uint32_t host) const noexcept;
  /// A share of its screen, in any metric. Cheaper than the excess, and true wherever that is at least as much.
  [[nodiscard]] bool mayReach(std::uint32_t host, double shareOfScreen) const noexcept;
  void writeRow(const ScreenedHost& host, const HostColumns& out, std::size_t row) const noexcept;
  void writeInterval(std::uint32_t host, const IntervalColumns& out, std::size_t row) const noexcept;

  const EngineOptions options;
  std::shared_ptr<const Networks> networks = std::make_shared<Networks>();
  std::shared_ptr<const Screens> screens;
  std::vector<std::shared_ptr<const ShardLedger>> ledgers;
  HostTable hosts;
  BucketClock clock;
  WindowSums sums;
  /// Absent: they are not taken. Readers who take them clear them, under the lock too.
  mutable std::optional<Intervals> intervals;
  /// Absent: nothing was ever sampled.
  std::optional<SamplingErrors> errors;
  SamplingError::Time errorTime{};
  /// By direction, by group.
  std::array<std::vector<SamplingError>, 2> groupErrors;
  /// Always the sum over the group's hosts, replaced ones, and untracked packets.
  std::array<std::vector<Totals>, 2> groupSums;
  std::vector<std::uint64_t> untrackedByNetwork;
  std::uint64_t nowNs = 0;
  std::uint64_t refusedHosts = 0;
  std::uint64_t replacedHosts = 0;
  /// Rows of shards that are gone.
  std::uint64_t evictedRows = 0;
};

/// Hosts that may be replaced in one fold at most.
[[nodiscard]] std::uint32_t replacedEachFold(const EngineOptions& options) noexcept;

}  // namespace floodwall
