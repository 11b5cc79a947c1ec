// The pairs of source and victim that the kernel drops. Its rows are all the state there is: a process that finds the
// maps after a crash finds every pair that was put. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "filter/filter_maps.h"
#include "filter/pair_bits.h"

namespace floodwall {

using PairKey = filter_pair_key;

struct PairHits {
  std::uint64_t expiresAtNs;
  filter_count hits;
};

class PairTable {
 public:
  /// Called by read() with a pair, its expiry, and its hits.
  using See = std::function<void(const PairKey&, std::uint64_t, const filter_count&)>;

  /// Adopts the pairs that the maps hold, and corrects what a crash left half done.
  explicit PairTable(const FilterMaps& maps);

  /// Adds pairs, or changes their expiry; all or, with a FilterError, none. `expiresAtNs` is one for each.
  void put(std::span<const PairKey> keys, std::span<const std::uint64_t> expiresAtNs);
  /// Those that are not there are left alone.
  void remove(std::span<const PairKey> keys);
  /// Removes what expired.
  void sweep(std::uint64_t nowNs);

  /// Calls see(key, expiresAtNs, hits) for the pairs of rows from `cursor` on that have not expired, until `most` were
  /// seen; returns where to go on, or -1. Hits may lack the last FILTER_HELD_PACKETS_MAX packets that were counted
  /// meanwhile.
  [[nodiscard]] std::int64_t read(std::uint32_t cursor, std::size_t most, std::uint64_t nowNs, const See& see) const {
    for (std::uint32_t row = cursor; row < pairs_.size(); row++) {
      if (pairs_[row].expires == 0 || rows_[row].expires_at_ns <= nowNs) continue;
      if (most-- == 0) return row;
      see(rows_[row].key, std::uint64_t{rows_[row].expires_at_ns}, hitsOf(row));
    }
    return -1;
  }
  /// The expiry and the hits of one pair, also of an expired one that is still there; absent: it is not there.
  [[nodiscard]] std::optional<PairHits> readOne(const PairKey& key) const {
    const auto row = find(key);
    if (!row) return std::nullopt;
    return PairHits{.expiresAtNs = rows_[*row].expires_at_ns, .hits = hitsOf(*row)};
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

 private:
  static constexpr std::size_t kLeftAlone = 100;

  /// Sum of all CPUs. The counts that the owner CPU holds are read last: it may add them to the row meanwhile, and they
  /// must not count twice.
  [[nodiscard]] filter_count hitsOf(std::uint32_t row) const {
    const filter_count& counted = rows_[row].hits;
    const std::uint64_t packets = __atomic_load_n(&counted.packets, __ATOMIC_ACQUIRE);
    const std::uint64_t bytes = __atomic_load_n(&counted.bytes, __ATOMIC_ACQUIRE);
    const std::uint32_t held = __atomic_load_n(&pairs_[row].held, __ATOMIC_RELAXED);
    return {.packets = packets + (held >> FILTER_OWNER_BITS & FILTER_HELD_PACKETS_MAX),
            .bytes = bytes + (held >> FILTER_HELD_BYTES_SHIFT)};
  }
  [[nodiscard]] std::uint64_t hashOf(const PairKey& key) const;
  [[nodiscard]] std::optional<std::uint32_t> find(const PairKey& key) const;
  /// By its rows alone.
  [[nodiscard]] std::optional<std::uint32_t> findFrom(std::uint64_t hash, const PairKey& key) const;
  /// How many groups after its home a row is; beyond FILTER_REACH_MAX when it is before it.
  [[nodiscard]] std::uint32_t distanceOf(std::uint64_t hash, std::uint32_t row) const;
  /// The first row from its home on for which `is` holds, at most `reach` groups away.
  template <typename Is>
  [[nodiscard]] std::optional<std::uint32_t> firstRow(std::uint64_t hash, std::uint32_t reach, Is&& is) const {
    const std::uint32_t first = filter_home_of(hash, head_.pair_groups) * FILTER_GROUP_PAIRS;
    for (std::uint32_t row = first; row < first + (reach + 1) * FILTER_GROUP_PAIRS; row++) {
      if (is(row)) return row;
    }
    return std::nullopt;
  }
  /// One that is free, or the longest left alone; absent when there is none near its home.
  std::optional<std::uint32_t> takeRow(std::uint64_t hash);
  /// Its row; absent when there is no place.
  std::optional<std::uint32_t> add(const PairKey& key, std::uint64_t expiresAtNs);
  void setExpiry(std::uint32_t row, std::uint64_t expiresAtNs);
  void giveUp(std::uint32_t row);
  void removeRow(std::uint32_t row);
  void setSize(std::uint32_t size);
  void repair();

  filter_head& head_;
  std::span<filter_pair> pairs_;
  std::span<filter_pair_row> rows_;
  PairBits bits_;
  std::vector<bool> isFree_;
  /// Rows that were given up, the oldest first. Each stays unused until kLeftAlone others were given up after it, if
  /// there is room.
  std::deque<std::uint32_t> leftAlone_;
  std::uint32_t size_ = 0;
};

}  // namespace floodwall
