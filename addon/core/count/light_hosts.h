// Makes room for heavy hosts in tables that are full, at any rate of those that fill them: of some hosts taken in
// turn the lightest one is replaced. Sizes are over the window and over all shards.
#pragma once

#include <cstdint>

#include "count/folded_state.h"
#include "count/shard_ledger.h"

namespace floodwall {

/// The fold's.
class LightHosts {
 public:
  explicit LightHosts(std::uint32_t replacedMax) : replacedMax_(replacedMax) {}

  void beginFold() noexcept;
  /// In a full table. Makes room for a host of this size where a lighter one is found. Those that are not heavier than
  /// the one that is next cost no search.
  bool replaceLighter(FoldedState& state, std::uint64_t size) noexcept;

 private:
  [[nodiscard]] std::uint32_t next(const FoldedState& state) noexcept;

  /// Hosts that may be replaced in one fold at most, and in the present one.
  std::uint32_t replacedMax_;
  std::uint32_t replacedLeft_ = 0;
  /// The host that is replaced next, or HostTable::kNone; and where the search for it goes on.
  std::uint32_t host_ = HostTable::kNone;
  std::uint32_t at_ = 0;
};

/// Chooses as many rows of a shard as it has beyond its limit, first those of hosts that found no place among all.
void evictRows(const FoldedState& state, ShardLedger& ledger, std::uint32_t fold);

}  // namespace floodwall
