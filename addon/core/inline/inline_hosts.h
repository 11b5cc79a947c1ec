// Reads the hosts of one lane of the inline program: hands what was counted since the last reading to a shard, and
// removes hosts that are idle. Costs memory for what was read last, since the kernel's counters only grow.
#pragma once

#include <cstdint>
#include <vector>

#include "base/lazy_array.h"
#include "base/prefix_table.h"
#include "count/shard.h"
#include "inline/inline_counts.h"
#include "inline/inline_table.h"

namespace floodwall {

class InlineHosts {
 public:
  /// The table outlives it.
  InlineHosts(InlineTable& table, std::uint32_t lane, Direction direction, std::uint32_t maxHosts,
              std::uint32_t idleMs);

  struct Reading {
    std::uint64_t nowMs;
    /// When not null, it has just replaced others: hosts outside of it leave.
    const PrefixTable* networks;
    /// Some host found no row. Where the table is full, light hosts leave for others.
    bool isShortOfRows;
  };
  /// Reads all rows once.
  void read(Shard& shard, const Reading& reading);

 private:
  /// A row leaves in two readings: first the program must not find it any more, then it has written its last there.
  enum class Stage : std::uint32_t { unused, counting, leaving, free };
  struct Seen {
    Counters last;
    std::uint32_t changedMs;
    Stage stage;
    /// Counts of the last readings, each with half the weight of the next one.
    std::uint32_t recentSize;
  };

  void readRow(Shard& shard, std::uint32_t row, const PrefixTable* networks);
  /// Whether there was anything.
  bool handOver(Shard& shard, const inline_row& row, Seen& seen);
  void unlink(std::uint32_t row);
  void unlinkLight(const Shard& shard, std::uint32_t used);
  [[nodiscard]] bool isIdle(const Seen& seen) const noexcept;

  InlineTable& table_;
  std::uint32_t lane_;
  Direction direction_;
  std::uint32_t maxHosts_;
  std::uint32_t idleMs_;
  LazyArray<Seen> seen_;
  std::vector<std::uint32_t> freed_;
  std::uint32_t nowMs_ = 0;
  std::uint32_t counting_ = 0;
  /// A host that is silent for this time leaves, ms.
  std::uint32_t silentMs_ = 0;
  /// Where the search for light hosts goes on.
  std::uint32_t hand_ = 0;
};

}  // namespace floodwall
