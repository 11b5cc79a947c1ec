// What is inside an engine: hosts, their sums over the window, and the shards' ledgers. engine.cpp sets and reads,
// fold.cpp folds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/fair_lock.h"
#include "count/bucket_clock.h"
#include "count/engine.h"
#include "count/host_table.h"
#include "count/screens.h"
#include "count/shard_ledger.h"
#include "count/window_sums.h"

namespace floodwall {

class EngineState {
 public:
  explicit EngineState(const EngineOptions& options);

  std::shared_ptr<Shard> addShard();
  void setNetworks(const NetworksColumns& columns);
  void setScreens(std::span<const double> screens);
  void setWatched(std::span<const std::uint8_t> addresses);

  TickSummary fold(std::uint64_t nowNs);

  std::uint32_t readScreened(const HostColumns& out) const;
  HostChunk readHosts(std::int64_t cursor, const HostColumns& out) const;
  bool readHost(const Address& address, const HostColumns& out) const;
  std::uint32_t readGroups(const HostColumns& out) const;
  std::uint32_t readSamples(const Address& address, std::span<std::uint8_t> out, std::uint32_t length) const;
  EngineStats stats() const;

 private:
  // fold.cpp, in the order in which a fold goes through them.
  void takeSettings();
  void takeNetworks(std::shared_ptr<const Networks> networks);
  void leaveBuckets(std::uint64_t nowNs);
  void awaitShards(std::uint32_t epoch);
  void foldShard(ShardLedger& ledger, std::uint32_t epoch);
  void foldRow(ShardLedger& ledger, std::uint32_t row);
  std::uint32_t hostOfRow(const ShardLedger& ledger, std::uint32_t row);
  std::uint32_t untrackedHost(std::uint32_t place);
  void addUntracked(std::uint32_t place, Direction direction, const Totals& delta);
  void addToHost(std::uint32_t host, Direction direction, const Totals& delta);
  void touch(std::uint32_t host);
  void dropClosedShards();
  void sweepHosts();
  void sweepHost(std::uint32_t host);

  // screening.cpp
  void screenHosts();
  struct Candidate {
    std::uint32_t host;
    double excess;
  };
  void gatherReached(std::uint32_t host, std::vector<Candidate>& reached) const;
  void handOver(std::vector<Candidate> reached);
  [[nodiscard]] ScreenedHost screenedHost(std::uint32_t host) const noexcept;

  [[nodiscard]] HostRates ratesOfHost(std::uint32_t host) const noexcept;
  [[nodiscard]] double idleMsOf(std::uint32_t host) const noexcept;
  [[nodiscard]] std::uint32_t nowMs() const noexcept;
  void writeHost(std::uint32_t host, const HostColumns& out, std::size_t row) const noexcept;

  const EngineOptions options_;
  std::shared_ptr<Control> control_;

  /// What was set since the last fold. Held for moments only.
  mutable std::mutex settingsLock_;
  std::shared_ptr<const Networks> newNetworks_;
  std::shared_ptr<const WatchedHosts> newWatched_;
  std::shared_ptr<const Screens> newScreens_;
  std::vector<std::unique_ptr<ShardLedger>> newLedgers_;
  std::uint32_t generation_ = 0;

  /// What follows is written by the fold alone, in pieces, under this lock; the fold itself reads it without.
  mutable FairLock lock_;
  std::shared_ptr<const Networks> networks_;
  std::shared_ptr<const Screens> screens_;
  std::vector<std::unique_ptr<ShardLedger>> ledgers_;
  HostTable hosts_;
  BucketClock clock_;
  WindowSums sums_;
  /// By group, by direction: always the sum over the group's hosts and untracked packets.
  std::array<std::vector<Totals>, 2> groupSums_;
  /// By place: the number that stands for its untracked packets, or HostTable::kNone.
  std::vector<std::uint32_t> untrackedHosts_;
  std::vector<std::uint64_t> untrackedByNetwork_;
  std::uint64_t nowNs_ = 0;
  std::uint64_t refusedHosts_ = 0;

  /// The fold's own.
  std::shared_ptr<const WatchedHosts> watched_;
  std::uint32_t foldNumber_ = 0;
  std::uint32_t foldedRows_ = 0;
  std::uint32_t sweepAt_ = 0;
  bool screensAll_ = false;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> screenedBefore_;

  mutable std::mutex screenedLock_;
  std::vector<ScreenedHost> screened_;
  std::uint32_t screenedCount_ = 0;
};

}  // namespace floodwall
