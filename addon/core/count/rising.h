// Hosts that may reach their screen before the next fold, so that they can be looked at in between.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "count/folded_state.h"
#include "count/shard_ledger.h"
#include "count/totals.h"
#include "count/watched_hosts.h"

namespace floodwall {

/// Hosts that are looked at between two folds at most: those that grow the fastest.
inline constexpr std::uint32_t kRisingMax = 1024;
/// Rows that a fold considers for it at most.
inline constexpr std::uint32_t kRisingRowsMax = 32'768;

/// The fold's.
class Rising {
 public:
  void beginFold(const FoldedState& state, std::uint32_t fold);
  /// Whether a row that counted this much since the fold before is to be noted. Of most this is the only look.
  [[nodiscard]] bool isMuch(const std::array<Totals, 2>& totals) const noexcept {
    return !few_[0].hold(totals[0]) || !few_[1].hold(totals[1]);
  }
  void note(const FoldedState& state, const ShardLedger& ledger, std::uint32_t row, std::uint32_t host,
            const ShardLedger::RowDelta& delta);
  void dropClosedShards();
  /// Returns how many hosts are rising.
  std::uint32_t choose(const FoldedState& state, const WatchedHosts& watched);
  /// See Engine::readRising().
  std::uint32_t read(const FoldedState& state, const HostColumns& out);

 private:
  /// A row in which much was counted since the fold before.
  struct Row {
    const ShardLedger* ledger;
    std::uint32_t row;
    std::uint32_t host;
    /// Its addition to the host's excess over its screen.
    double growth;
  };
  struct Host {
    std::uint32_t host;
    /// As it was last handed over, or at the fold; see Screens::excess.
    double excess;
    /// The rate in the last tick, in parts of that in the window.
    double rise;
    /// Where its rows are among the rising ones.
    std::uint32_t firstRow;
    std::uint32_t endRow;
  };
  /// With fewer packets, bytes and new flows in all of a tick, no row is one of them.
  struct FewCounts {
    std::uint64_t packets, bytes, newFlows;
    [[nodiscard]] bool hold(const Totals& totals) const noexcept {
      return totals.packets() < packets && totals.bytes() < bytes && totals.counts[Totals::kNewFlows] < newFlows;
    }
  };

  void takeStaying(const FoldedState& state);

  std::uint32_t fold_ = 0;
  /// Those of the last fold, by number.
  std::vector<Row> rows_;
  std::vector<Host> hosts_;
  /// For each of them, by direction: the counts in the window that will be in it at the next fold.
  std::vector<std::array<Totals, 2>> staying_;
  double scale_ = 0;
  /// By direction.
  std::array<FewCounts, 2> few_{};
};

}  // namespace floodwall
