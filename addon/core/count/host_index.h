// Finds the row of an address: open addressing over 4-byte slots, at most half full, so that a search reads one cache
// line and seldom a second. Holds no keys; who owns the rows compares them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/lazy_array.h"

namespace floodwall {

inline constexpr std::uint32_t kNoRow = 0xffffffff;
/// A slot has 24 bits for a row and for being empty.
inline constexpr std::uint32_t kIndexRowsMax = (1U << 24) - 1;

/// Doubles when it is half full, up to what `entries` need. Its slots are then moved to the larger table a few
/// at a time, so that a worker never stops to move all of them; until the last is moved, a search looks into both
/// tables.
class HostIndex {
 public:
  /// At most `entries` of rows below kIndexRowsMax.
  explicit HostIndex(std::uint32_t entries)
      : bitsMax_(static_cast<unsigned>(std::bit_width(entries < 8 ? 15U : 2 * entries - 1))),
        slots_(std::size_t{2} << bitsMax_, Pages::hugeFromSecond),
        present_(slots_, std::min(bitsMax_, kBitsMin)) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&present_.slots[present_.home(hash)]); }

  /// The first row whose tag fits, very probably the right one: good enough to prefetch it.
  [[nodiscard]] std::uint32_t candidate(std::uint64_t hash) const noexcept {
    return find(hash, [](std::uint32_t) { return true; });
  }

  /// The row for which `isKey(row)` holds among those whose tag fits, or kNoRow.
  template <typename IsKey>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsKey&& isKey) const noexcept {
    const std::uint32_t row = present_.find(hash, isKey);
    if (row != kNoRow || !isMoving()) [[likely]] {
      return row;
    }
    return before_.find(hash, isKey);
  }

  /// `hashOf(row)` is called for rows that move.
  template <typename HashOf>
  void insert(std::uint64_t hash, std::uint32_t row, HashOf&& hashOf) noexcept {
    if (isMoving()) {
      settle(kMovedAtOnce, hashOf);
    } else if (used_ >= present_.size() / 2 && present_.bits < bitsMax_) {
      before_ = present_;
      present_ = Table(slots_, before_.bits + 1);
      moved_ = 0;
    }
    present_.insert(hash, row);
    used_++;
  }

  /// The row must be in the index. `hashOf(row)` is called for rows whose slots move.
  template <typename HashOf>
  void erase(std::uint64_t hash, std::uint32_t row, HashOf&& hashOf) noexcept {
    used_--;
    const auto isRow = [row](std::uint32_t other) { return other == row; };
    if (isMoving() && present_.find(hash, isRow) == kNoRow) {
      before_.slots[before_.slotOf(hash, row)] = kMovedSlot;
    } else {
      present_.erase(hash, row, hashOf);
    }
  }

  /// Moves at most `most` slots; for a table with few insertions.
  template <typename HashOf>
  void settle(std::size_t most, HashOf&& hashOf) noexcept {
    if (!isMoving()) return;
    const std::size_t end = std::min(moved_ + most, before_.size());
    for (; moved_ < end; moved_++) {
      std::uint32_t& slot = before_.slots[moved_];
      if (slot == 0 || slot == kMovedSlot) continue;
      present_.insert(hashOf(rowIn(slot)), rowIn(slot));
      slot = kMovedSlot;
    }
    if (moved_ != before_.size()) return;
    slots_.release(before_.size(), before_.size());
    before_ = {};
  }

  [[nodiscard]] std::size_t residentBytes() const { return slots_.residentBytes(); }
  void commit(std::size_t mostBytes) const noexcept { slots_.commit(mostBytes); }

 private:
  /// A slot is eight bits of the hash, then the row plus 1; 0 is empty, which is what fresh memory holds.
  static constexpr std::uint32_t kRowMask = kIndexRowsMax, kTagMask = ~kRowMask;
  /// In the table before: its row has moved or left. A search goes on behind it.
  static constexpr std::uint32_t kMovedSlot = kTagMask;
  static constexpr unsigned kBitsMin = 14;
  /// With each insertion: the table before is empty long before the present one is to grow.
  static constexpr std::size_t kMovedAtOnce = 8;

  [[nodiscard]] static std::uint32_t tagOf(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash) & kTagMask;
  }
  [[nodiscard]] static std::uint32_t rowIn(std::uint32_t slot) noexcept { return (slot & kRowMask) - 1; }

  struct Table {
    Table() = default;
    Table(const LazyArray<std::uint32_t>& all, unsigned ofBits) : slots(&all[std::size_t{1} << ofBits]), bits(ofBits) {}

    [[nodiscard]] std::size_t size() const noexcept { return std::size_t{1} << bits; }
    [[nodiscard]] std::uint32_t home(std::uint64_t hash) const noexcept {
      return static_cast<std::uint32_t>(hash >> (64 - bits));
    }
    [[nodiscard]] std::uint32_t mask() const noexcept { return (1U << bits) - 1; }
    [[nodiscard]] std::uint32_t next(std::uint32_t at) const noexcept { return (at + 1) & mask(); }
    [[nodiscard]] std::uint32_t distance(std::uint32_t from, std::uint32_t to) const noexcept {
      return (to - from) & mask();
    }

    template <typename IsKey>
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsKey&& isKey) const noexcept {
      const std::uint32_t tag = tagOf(hash);
      for (std::uint32_t at = home(hash);; at = next(at)) {
        const std::uint32_t slot = slots[at];
        if (slot == 0) return kNoRow;
        if ((slot & kTagMask) == tag && slot != kMovedSlot && isKey(rowIn(slot))) return rowIn(slot);
      }
    }
    void insert(std::uint64_t hash, std::uint32_t row) noexcept {
      std::uint32_t at = home(hash);
      while (slots[at] != 0) at = next(at);
      slots[at] = tagOf(hash) | (row + 1);
    }
    [[nodiscard]] std::uint32_t slotOf(std::uint64_t hash, std::uint32_t row) const noexcept {
      std::uint32_t at = home(hash);
      while (rowIn(slots[at]) != row) at = next(at);
      return at;
    }
    /// Moves later slots of the run up, so that no tombstones gather.
    template <typename HashOf>
    void erase(std::uint64_t hash, std::uint32_t row, HashOf&& hashOf) noexcept {
      std::uint32_t hole = slotOf(hash, row);
      for (std::uint32_t at = next(hole); slots[at] != 0; at = next(at)) {
        // A slot may move to the hole only when its home does not lie behind the hole.
        if (distance(home(hashOf(rowIn(slots[at]))), at) < distance(hole, at)) continue;
        slots[hole] = slots[at];
        hole = at;
      }
      slots[hole] = 0;
    }

    std::uint32_t* slots = nullptr;
    unsigned bits = 0;
  };

  [[nodiscard]] bool isMoving() const noexcept { return before_.slots != nullptr; }

  unsigned bitsMax_;
  /// The table of 2^n slots begins at slot 2^n.
  LazyArray<std::uint32_t> slots_;
  Table present_;
  /// The table whose slots move; without slots while none do.
  Table before_;
  std::size_t moved_ = 0;
  std::uint32_t used_ = 0;
};

}  // namespace floodwall
