// The pairs of source and victim that the kernel drops. Its rows and ways are all the state there is: whoever finds the
// maps after a crash finds every pair that was put. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "bucket_table.h"
#include "filter_maps.h"

namespace floodwall {

struct PairKey {
  inline_address source;
  inline_address victim;
};

class PairTable {
 public:
  /// Takes the pairs up that the maps hold, and puts right what a crash left half done.
  explicit PairTable(const FilterMaps& maps);

  /// Adds pairs, or changes when they lapse; all or, with a FilterError, none. `expiresAtNs` is one for each.
  void put(std::span<const PairKey> keys, std::span<const std::uint64_t> expiresAtNs);
  /// Those that are not there are left alone.
  void remove(std::span<const PairKey> keys);
  /// Removes what lapsed.
  void sweep(std::uint64_t nowNs);

  /// Calls see(row, hits) for the pairs of rows from `cursor` on that have not lapsed, until `most` were seen; returns
  /// where to go on, or -1.
  template <typename See>
  [[nodiscard]] std::int64_t read(std::uint32_t cursor, std::size_t most, std::uint64_t nowNs, See&& see) const {
    for (std::uint32_t row = cursor; row < rows_.size(); row++) {
      if (rows_[row].expires_at_ns <= nowNs) continue;
      if (most-- == 0) return row;
      see(rows_[row], hitsOf(row));
    }
    return -1;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  /// Of all CPUs.
  [[nodiscard]] filter_count hitsOf(std::uint32_t row) const {
    const filter_count& owned = rows_[row].owned;
    const filter_count& others = hits_[row];
    return {.packets = owned.packets + others.packets, .bytes = owned.bytes + others.bytes};
  }
  [[nodiscard]] std::uint64_t hashOf(const PairKey& key) const;
  [[nodiscard]] std::optional<std::uint32_t> find(const PairKey& key) const;
  /// Its row; absent when there is no place.
  std::optional<std::uint32_t> add(const PairKey& key, std::uint64_t expiresAtNs);
  void removeRow(std::uint32_t row);
  void setSize(std::uint32_t size);
  void repair();

  filter_head& head_;
  std::span<filter_bucket> buckets_;
  std::span<filter_pair> rows_;
  std::span<filter_count> hits_;
  BucketTable table_;
  /// Rows that nobody uses, the longest unused first.
  std::deque<std::uint32_t> free_;
  std::uint32_t size_ = 0;
};

}  // namespace floodwall
