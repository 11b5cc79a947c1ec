// Reads the hosts that the kernel counts, one direction: hands the differences to a shard, and removes hosts that are
// idle. Costs memory for what was read last, since the kernel's counters only grow.
#pragma once

#include <cstdint>
#include <vector>

#include "address_hash.h"
#include "host_index.h"
#include "inline_counts.h"
#include "lazy_array.h"
#include "prefix_table.h"
#include "shard.h"

namespace floodwall {

class InlineHosts {
 public:
  InlineHosts(int mapFd, Direction direction, std::uint32_t maxHosts, std::uint32_t idleMs);

  /// Reads all hosts once. `networks`, when not null, has just replaced others: hosts outside of it leave.
  void read(Shard& shard, std::uint64_t nowMs, const PrefixTable* networks);
  /// Hosts that the last reading found.
  [[nodiscard]] std::uint32_t found() const noexcept { return found_; }

 private:
  struct Row {
    Address key;
    Counters last;
    std::uint32_t changedMs;
  };
  static_assert(sizeof(Row) == 72);

  void readHost(Shard& shard, const inline_address& key, const Counters& now, const PrefixTable* networks);
  void remove(Shard& shard, std::uint32_t row);
  [[nodiscard]] bool isIdle(const Row& row) const noexcept;
  [[nodiscard]] std::uint32_t takeRow(const Address& key, std::uint64_t hash);
  void handOver(Shard& shard, Row& row, const Counters& now);
  /// Of the i-th host that was read last.
  [[nodiscard]] Counters countsOf(std::size_t i) const noexcept;

  int mapFd_;
  Direction direction_;
  std::uint32_t maxHosts_;
  std::uint32_t idleMs_;
  std::size_t cpus_;
  AddressHash hash_;
  HostIndex index_;
  LazyArray<Row> rows_;
  std::vector<std::uint32_t> freeRows_;
  std::uint32_t usedRows_ = 0;
  std::uint32_t nowMs_ = 0;
  std::uint32_t found_ = 0;
  bool isCrowded_ = false;

  std::vector<inline_address> keys_;
  std::vector<inline_counts> values_;
  std::vector<std::uint32_t> leaving_;
};

}  // namespace floodwall
