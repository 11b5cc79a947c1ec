// Finds the row of an address: open addressing over 4-byte slots, at most half full, so that a search reads one cache
// line and seldom a second. Holds no keys; who owns the rows compares them.
#pragma once

#include <bit>
#include <cstdint>

#include "base/lazy_array.h"

namespace floodwall {

inline constexpr std::uint32_t kNoRow = 0xffffffff;
/// A slot has 24 bits for a row and for being empty.
inline constexpr std::uint32_t kIndexRowsMax = (1U << 24) - 1;

class HostIndex {
 public:
  /// At most `entries` of rows below kIndexRowsMax.
  explicit HostIndex(std::uint32_t entries)
      : bits_(static_cast<unsigned>(std::bit_width(entries < 8 ? 15U : 2 * entries - 1))),
        slots_(std::size_t{1} << bits_) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&slots_[home(hash)]); }

  /// The first row whose tag fits, very probably the right one: good enough to prefetch it.
  [[nodiscard]] std::uint32_t candidate(std::uint64_t hash) const noexcept {
    return find(hash, [](std::uint32_t) { return true; });
  }

  /// The row for which `isKey(row)` holds among those whose tag fits, or kNoRow.
  template <typename IsKey>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsKey&& isKey) const noexcept {
    const std::uint32_t tag = tagOf(hash);
    for (std::uint32_t at = home(hash);; at = next(at)) {
      const std::uint32_t slot = slots_[at];
      if (slot == 0) return kNoRow;
      if ((slot & kTagMask) == tag && isKey(rowIn(slot))) return rowIn(slot);
    }
  }

  void insert(std::uint64_t hash, std::uint32_t row) noexcept {
    std::uint32_t at = home(hash);
    while (slots_[at] != 0) at = next(at);
    slots_[at] = tagOf(hash) | (row + 1);
  }

  /// The row must be in the index. Moves later slots of the run up, so that no tombstones gather; `hashOf(row)` is
  /// asked for each of them.
  template <typename HashOf>
  void erase(std::uint64_t hash, std::uint32_t row, HashOf&& hashOf) noexcept {
    std::uint32_t hole = home(hash);
    while (rowIn(slots_[hole]) != row) hole = next(hole);
    for (std::uint32_t at = next(hole); slots_[at] != 0; at = next(at)) {
      // A slot may move to the hole only when its home does not lie behind the hole.
      if (distance(home(hashOf(rowIn(slots_[at]))), at) < distance(hole, at)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = 0;
  }

  [[nodiscard]] std::size_t residentBytes() const { return slots_.residentBytes(); }
  void commit(std::size_t mostBytes) const noexcept { slots_.commit(mostBytes); }

 private:
  /// A slot is eight bits of the hash, then the row plus 1; 0 is empty, which is what fresh memory holds.
  static constexpr std::uint32_t kRowMask = kIndexRowsMax, kTagMask = ~kRowMask;

  [[nodiscard]] static std::uint32_t tagOf(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash) & kTagMask;
  }
  [[nodiscard]] static std::uint32_t rowIn(std::uint32_t slot) noexcept { return (slot & kRowMask) - 1; }
  [[nodiscard]] std::uint32_t home(std::uint64_t hash) const noexcept {
    return static_cast<std::uint32_t>(hash >> (64 - bits_));
  }
  [[nodiscard]] std::uint32_t mask() const noexcept { return (1U << bits_) - 1; }
  [[nodiscard]] std::uint32_t next(std::uint32_t at) const noexcept { return (at + 1) & mask(); }
  [[nodiscard]] std::uint32_t distance(std::uint32_t from, std::uint32_t to) const noexcept {
    return (to - from) & mask();
  }

  unsigned bits_;
  LazyArray<std::uint32_t> slots_;
};

}  // namespace floodwall
