// Finds the row of an address: open addressing over 8-byte slots, at most half full, so that a search reads one cache
// line and seldom a second. Holds no keys; who owns the rows compares them.
#pragma once

#include <bit>
#include <cstdint>

#include "lazy_array.h"

namespace floodwall {

inline constexpr std::uint32_t kNoRow = 0xffffffff;

class HostIndex {
 public:
  explicit HostIndex(std::uint32_t rows)
      : bits_(static_cast<unsigned>(std::bit_width(rows < 8 ? 15U : 2 * rows - 1))), slots_(std::size_t{1} << bits_) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&slots_[home(tagOf(hash))]); }

  /// The first row whose tag fits, very probably the right one: good enough to prefetch it.
  [[nodiscard]] std::uint32_t candidate(std::uint64_t hash) const noexcept {
    return find(hash, [](std::uint32_t) { return true; });
  }

  /// The row for which `isKey(row)` holds among those whose tag fits, or kNoRow.
  template <typename IsKey>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, IsKey&& isKey) const noexcept {
    const std::uint32_t tag = tagOf(hash);
    for (std::uint32_t at = home(tag);; at = next(at)) {
      const Slot slot = slots_[at];
      if (slot.rowPlusOne == 0) return kNoRow;
      if (slot.tag == tag && isKey(slot.rowPlusOne - 1)) return slot.rowPlusOne - 1;
    }
  }

  void insert(std::uint64_t hash, std::uint32_t row) noexcept {
    const std::uint32_t tag = tagOf(hash);
    std::uint32_t at = home(tag);
    while (slots_[at].rowPlusOne != 0) at = next(at);
    slots_[at] = {tag, row + 1};
  }

  /// The row must be in the index. Moves later slots of the run up, so that no tombstones gather.
  void erase(std::uint64_t hash, std::uint32_t row) noexcept {
    std::uint32_t hole = home(tagOf(hash));
    while (slots_[hole].rowPlusOne != row + 1) hole = next(hole);
    for (std::uint32_t at = next(hole); slots_[at].rowPlusOne != 0; at = next(at)) {
      // A slot may move to the hole only when its home does not lie behind the hole.
      const std::uint32_t mask = (1U << bits_) - 1;
      if (((at - home(slots_[at].tag)) & mask) < ((at - hole) & mask)) continue;
      slots_[hole] = slots_[at];
      hole = at;
    }
    slots_[hole] = {};
  }

  [[nodiscard]] std::size_t residentBytes() const { return slots_.residentBytes(); }

 private:
  struct Slot {
    std::uint32_t tag;
    /// 0 is an empty slot, which is what fresh memory holds.
    std::uint32_t rowPlusOne;
  };

  [[nodiscard]] static std::uint32_t tagOf(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  /// The tag's upper bits, so that a slot's home is known from the slot alone.
  [[nodiscard]] std::uint32_t home(std::uint32_t tag) const noexcept { return tag >> (32 - bits_); }
  [[nodiscard]] std::uint32_t next(std::uint32_t at) const noexcept { return (at + 1) & ((1U << bits_) - 1); }

  unsigned bits_;
  LazyArray<Slot> slots_;
};

}  // namespace floodwall
