// The fold: takes over what the shards counted since the last one, beside workers that go on counting and readers that
// wait a moment at most. It goes through its parts in the order in which they are named here.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/fair_lock.h"
#include "base/guarded.h"
#include "count/columns.h"
#include "count/engine_options.h"
#include "count/folded_state.h"
#include "count/handed_over.h"
#include "count/intervals.h"
#include "count/light_hosts.h"
#include "count/networks.h"
#include "count/recent_hosts.h"
#include "count/rising.h"
#include "count/screening.h"
#include "count/shard_ledger.h"
#include "count/watched_counts.h"

namespace floodwall {

/// Settings since the last fold.
struct NewSettings {
  /// null: no others.
  std::shared_ptr<const Networks> networks;
  std::shared_ptr<const WatchedHosts> watched = std::make_shared<WatchedHosts>();
  std::shared_ptr<const Screens> screens = std::make_shared<Screens>();
  std::optional<Intervals> intervals;
  std::vector<std::shared_ptr<ShardLedger>> ledgers;
};

struct TickSummary {
  std::uint32_t trackedHosts = 0;
  std::uint32_t screened = 0;
  std::uint32_t foldMicros = 0;
  std::uint32_t foldedRows = 0;
  /// Hosts that may reach their screen before the next fold: readRising() is worth a look until then.
  std::uint32_t rising = 0;
};

/// Members that are not const are for one thread at a time; the rest is for any.
class Fold {
 public:
  Fold(const EngineOptions& options, std::shared_ptr<Control> control, Guarded<NewSettings>& settings);

  /// See Engine::fold().
  TickSummary run(std::uint64_t nowNs);
  /// See Engine::readRising().
  std::uint32_t readRising(const HostColumns& out) { return rising_.read(state_.read(), out); }

  /// Reads wait for a fold a millisecond at most; while one runs, a host's rates may lack the bucket that is being
  /// folded.
  [[nodiscard]] const OneWriter<FoldedState, FairLock>& state() const noexcept { return state_; }
  [[nodiscard]] const Guarded<HandedOver>& handedOver() const noexcept { return handedOver_; }
  [[nodiscard]] std::shared_ptr<const Control> control() const noexcept { return control_; }
  [[nodiscard]] std::size_t residentBytes() const { return recent_.residentBytes(); }

 private:
  // The holder of a FoldedState that is not const holds its lock.
  void takeSettings(std::uint64_t nowNs);
  void takeNetworks(std::shared_ptr<const Networks> networks);
  void leaveBuckets(std::uint64_t nowNs);
  void keepErrors();
  void awaitShards(std::uint32_t epoch);
  void foldShard(ShardLedger& ledger, std::uint32_t epoch);
  void foldRow(FoldedState& state, ShardLedger& ledger, std::uint32_t row);
  std::uint32_t hostOfRow(FoldedState& state, ShardLedger& ledger, std::uint32_t row,
                          const std::array<Totals, 2>& totals);
  void addUntracked(FoldedState& state, std::uint32_t place, Direction direction, const Weighed& delta);
  void touch(FoldedState& state, std::uint32_t host);
  void dropClosedShards();
  void sweepHosts();

  const std::shared_ptr<Control> control_;
  Guarded<NewSettings>& settings_;
  OneWriter<FoldedState, FairLock> state_;
  Guarded<HandedOver> handedOver_;

  // The following members are reached by nothing but a fold.
  std::vector<std::shared_ptr<ShardLedger>> ledgers_;
  WatchedCounts watched_;
  LightHosts lightHosts_;
  Rising rising_;
  Screening screening_;
  RecentHosts recent_;
  /// By place: the number that stands for its untracked packets, or HostTable::kNone.
  std::vector<std::uint32_t> untrackedHosts_;
  std::uint32_t foldNumber_ = 0;
  std::uint32_t foldedRows_ = 0;
  std::uint32_t sweepAt_ = 0;
};

}  // namespace floodwall
