// The fold's record of one shard: how far it has taken its counters over, and what it lent to the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "count/crowding.h"
#include "count/host_table.h"
#include "count/shard_fold_side.h"
#include "count/totals.h"

namespace floodwall {

class ShardLedger {
 public:
  ShardLedger(const std::shared_ptr<Shard>& of, const Control& control)
      : readerSide(of),
        shard(*of),
        folded_(shard.rows.size()),
        foldedOutgoing_(control.countOutgoing ? shard.rows.size() : 0),
        foldedWide_{LazyArray<FoldedWide>(shard.rows.size()),
                    LazyArray<FoldedWide>(control.countOutgoing ? shard.rows.size() : 0)},
        countOutgoing_(control.countOutgoing) {}

  /// Also keeps the shard.
  const std::shared_ptr<const ShardReaderSide> readerSide;
  ShardFoldSide shard;

  /// The counts of a row since the last time.
  struct RowDelta {
    std::array<Totals, 2> totals;
    std::array<Variance, 2> variances;
    bool isZero;
    [[nodiscard]] Weighed of(std::size_t direction) const noexcept { return {totals[direction], variances[direction]}; }
  };
  RowDelta takeRow(std::uint32_t row) noexcept;
  /// Adds to `totals`, by direction, what the row counted since it was taken last, and its variances. It stays to be
  /// taken.
  void addUntaken(std::uint32_t row, std::array<Totals, 2>& totals, std::array<Variance, 2>& variances) const noexcept;
  /// The number of the row's host, plus 1; 0: it is not known.
  [[nodiscard]] std::uint32_t& hostOf(std::uint32_t row) noexcept { return folded_[row].hostPlusOne; }
  [[nodiscard]] std::uint32_t hostOf(std::uint32_t row) const noexcept { return folded_[row].hostPlusOne; }
  void prefetchRow(std::uint32_t row) const noexcept;
  [[nodiscard]] std::uint32_t rows() const noexcept { return static_cast<std::uint32_t>(folded_.size()); }

  /// A row of a host that found no place among all hosts. Of those of a fold the last are kept: heavy hosts come first
  /// in it.
  void noteRefused(const Eviction& row) {
    if (refused_.size() < reserveRows(rows())) {
      refused_.push_back(row);
    } else {
      refused_[refusedAt_++ % refused_.size()] = row;
    }
  }
  [[nodiscard]] std::vector<Eviction>& refused() noexcept { return refused_; }
  /// Has the worker evict the row's host. There must be room for it.
  void evict(const Eviction& row, std::uint32_t fold) noexcept {
    shard.evictions.put(row);
    folded_[row.row].evictedFold = fold;
  }
  /// Whether the row may go from one host to another between this fold and the next.
  [[nodiscard]] bool mayChange(std::uint32_t row, std::uint32_t fold) const noexcept {
    const std::uint32_t evicted = folded_[row].evictedFold;
    return evicted != 0 && fold - evicted < kEvictedFolds;
  }
  /// Where the search for rows of light hosts goes on.
  std::uint32_t hand = 0;

  /// Calls `untracked(place, direction, weighed)` for what was counted to places of the present networks.
  template <typename Untracked>
  void takeUntracked(Untracked&& untracked) {
    const std::uint32_t writes = view_->writes();
    if (writes == foldedWrites_) return;
    foldedWrites_ = writes;
    for (std::size_t d = 0; d < 2; d++) {
      for (std::uint32_t place = 0; place < view_->places(d); place++) {
        const Counters now = view_->untrackedOf(d, place);
        Weighed delta{totalsBetween(now, foldedUntracked_[d][place]), {}};
        foldedUntracked_[d][place] = now;
        if (readerSide->isWide()) addUntrackedWide(d, place, delta);
        if (!delta.totals.isZero()) untracked(place, static_cast<Direction>(d), delta);
      }
    }
  }

  /// Lends the worker the networks and watched hosts that hold from its next epoch, `epoch`, on.
  void lend(const std::shared_ptr<const Networks>& networks, const std::shared_ptr<const WatchedHosts>& watched,
            std::uint32_t epoch);
  /// Frees what was lent before and is out of use now that the worker acknowledged `epoch`.
  void reclaim(std::uint32_t epoch) noexcept;

  [[nodiscard]] std::size_t residentBytes() const {
    return shard.residentBytes() + folded_.residentBytes() + foldedOutgoing_.residentBytes() +
           foldedWide_[0].residentBytes() + foldedWide_[1].residentBytes();
  }

  /// No handle is left. Shared with the handle's deleter.
  const std::shared_ptr<std::atomic<bool>> isClosed = std::make_shared<std::atomic<bool>>(false);
  /// Closed, and all of it taken over.
  bool isDone = false;

 private:
  /// In one cache line.
  struct alignas(64) Folded {
    std::uint32_t hostPlusOne;
    /// The fold that last had it evicted; 0: none.
    std::uint32_t evictedFold;
    Counters incoming;
  };
  struct alignas(64) FoldedWide {
    Weighed counts;
  };
  struct Lent {
    std::unique_ptr<const ShardView> view;
    std::shared_ptr<const WatchedHosts> watched;
    /// Out of use once the worker has acknowledged this epoch or a later one.
    std::uint32_t untilEpoch;
  };

  /// A worker that is not idle has evicted what it was given long before.
  static constexpr std::uint32_t kEvictedFolds = 64;

  LazyArray<Folded> folded_;
  LazyArray<Counters> foldedOutgoing_;
  /// By direction.
  std::array<LazyArray<FoldedWide>, 2> foldedWide_;
  [[nodiscard]] std::size_t directions() const noexcept { return countOutgoing_ ? 2 : 1; }
  void addUntrackedWide(std::size_t direction, std::uint32_t place, Weighed& delta);

  bool countOutgoing_;
  std::unique_ptr<const ShardView> view_;
  std::shared_ptr<const WatchedHosts> watched_;
  std::array<std::vector<Counters>, 2> foldedUntracked_;
  /// Empty until there are such counts.
  std::array<std::vector<Weighed>, 2> foldedUntrackedWide_;
  std::uint32_t foldedWrites_ = 0;
  std::vector<Lent> lentBefore_;
  std::vector<Eviction> refused_;
  std::uint32_t refusedAt_ = 0;
};

}  // namespace floodwall
