// Hosts that may reach their screen before the next fold, so that they can be looked at in between.
#pragma once

#include <cstdint>

#include "count/shard_ledger.h"

namespace floodwall {

/// Hosts that are looked at between two folds at most: those that grow the fastest.
inline constexpr std::uint32_t kRisingMax = 1024;
/// Rows that a fold considers for it at most.
inline constexpr std::uint32_t kRisingRowsMax = 32'768;

/// A row in which much was counted since the fold before.
struct RisingRow {
  const ShardLedger* ledger;
  std::uint32_t row;
  std::uint32_t host;
  /// What that adds to the host's excess over its screen.
  double growth;
};

struct RisingHost {
  std::uint32_t host;
  /// As it was last handed over, or at the fold; see Screens::excess.
  double excess;
  /// The rate in the last tick, in parts of that in the window.
  double rise;
  /// Where its rows are among the rising ones.
  std::uint32_t firstRow;
  std::uint32_t endRow;
};

}  // namespace floodwall
