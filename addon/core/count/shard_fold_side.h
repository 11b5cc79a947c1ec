// The fold's side of a shard while its worker counts: it reads rows, and cannot change them.
#pragma once

#include "count/shard.h"

namespace floodwall {

class ShardFoldSide {
 public:
  explicit ShardFoldSide(Shard& shard)
      : rows(shard.rows_), handover(shard.handover_), evictions(shard.evictions_), shard_(shard) {}

  const HostRows& rows;
  HandoverFoldEnd handover;
  EvictionsFoldEnd evictions;

  /// The worker takes what is lent when it adopts its next epoch.
  void lendView(ShardView* view) noexcept { shard_.newView_.store(view, std::memory_order_release); }
  void lendWatched(const WatchedHosts* watched) noexcept {
    shard_.newWatched_.store(watched, std::memory_order_release);
  }
  void prepareGrowth() noexcept { shard_.flows_.prepareGrowth(); }
  [[nodiscard]] std::size_t residentBytes() const { return shard_.residentBytes(); }

 private:
  Shard& shard_;
};

}  // namespace floodwall
