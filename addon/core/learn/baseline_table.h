// The table of normal rates, one row for each host or hostgroup, found by 16-byte keys: 36 bytes per row with one
// direction and 52 with two, plus 8 to 16 for the index. Memory follows the number of rows. When the table is full, the
// row with the least learned time among idle candidates is replaced.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/address_hash.h"
#include "count/host_index.h"
#include "learn/season_table.h"

namespace floodwall {

/// First byte of the key of a whole hostgroup: that of multicast addresses, which no host has.
inline constexpr std::uint8_t kGroupKey = 0xff;

class BaselineTable {
 public:
  static constexpr std::uint32_t kNone = kNoRow;
  /// A row with traffic within this time is not replaced, seconds.
  static constexpr std::uint32_t kIdleSeconds = 600;
  /// Far beyond any warm-up; a larger count would exceed the precision of a float.
  static constexpr double kLearnedMax = 1e7;

  /// One direction of a row.
  struct Side {
    /// Seconds with traffic.
    float learned;
    std::array<float, kBaseTrio> normal;
  };

  /// At most `capacity` rows, below kIndexRowsMax; one direction or two.
  BaselineTable(std::uint32_t capacity, std::uint32_t directions);

  [[nodiscard]] std::uint32_t directions() const noexcept { return directions_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// Number of keys without a row.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

  [[nodiscard]] std::uint64_t hashOf(const Address& key) const noexcept { return hash_.of(key); }
  void prefetchIndex(std::uint64_t hash) const noexcept { index_.prefetch(hash); }
  void prefetchRow(std::uint64_t hash) const noexcept {
    const std::uint32_t row = index_.candidate(hash);
    if (row != kNone) __builtin_prefetch(at(row), 1);
  }

  /// kNone: not found.
  [[nodiscard]] std::uint32_t find(const Address& key) const noexcept { return find(key, hashOf(key)); }
  [[nodiscard]] std::uint32_t find(const Address& key, std::uint64_t hash) const noexcept {
    return index_.find(hash, [&](std::uint32_t row) { return head(row).key == key; });
  }
  /// Adds a row if needed; kNone: the table is full.
  std::uint32_t findOrAdd(const Address& key, std::uint32_t nowSeconds) {
    return findOrAdd(key, hashOf(key), nowSeconds);
  }
  std::uint32_t findOrAdd(const Address& key, std::uint64_t hash, std::uint32_t nowSeconds);

  /// `side`: 0 incoming, 1 outgoing.
  [[nodiscard]] Side& side(std::uint32_t row, std::uint32_t side) const noexcept {
    return *std::launder(reinterpret_cast<Side*>(at(row) + sizeof(Head) + side * sizeof(Side)));
  }
  [[nodiscard]] const Address& key(std::uint32_t row) const noexcept { return head(row).key; }
  [[nodiscard]] std::uint32_t lastTraffic(std::uint32_t row) const noexcept { return head(row).lastTraffic; }
  void setLastTraffic(std::uint32_t row, std::uint32_t nowSeconds) const noexcept {
    head(row).lastTraffic = nowSeconds;
  }
  /// False for a hostgroup.
  [[nodiscard]] bool isHost(std::uint32_t row) const noexcept { return head(row).key.bytes[0] != kGroupKey; }

  /// null until a hostgroup is seasonal.
  [[nodiscard]] SeasonTable* seasons() const noexcept { return seasons_.get(); }
  void addSeasons(std::uint32_t hosts, std::uint32_t groups) {
    if (!seasons_) seasons_ = std::make_unique<SeasonTable>(capacity_, directions_, std::min(capacity_, hosts), groups);
  }

 private:
  struct Head {
    Address key;
    /// Seconds of the caller's clock.
    std::uint32_t lastTraffic;
  };

  [[nodiscard]] std::byte* at(std::uint32_t row) const noexcept { return &rows_[std::size_t{row} * stride_]; }
  [[nodiscard]] Head& head(std::uint32_t row) const noexcept { return *std::launder(reinterpret_cast<Head*>(at(row))); }
  [[nodiscard]] auto hashOfRow() const noexcept {
    return [this](std::uint32_t row) { return hash_.of(head(row).key); };
  }
  std::uint32_t leastLearnedIdle(std::uint32_t nowSeconds) noexcept;

  std::uint32_t capacity_;
  std::uint32_t directions_;
  std::size_t stride_;
  AddressHash hash_;
  HostIndex index_;
  LazyArray<std::byte> rows_;
  std::unique_ptr<SeasonTable> seasons_;
  std::uint32_t count_ = 0;
  std::uint32_t hand_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace floodwall
