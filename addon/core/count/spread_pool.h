// Counts of flow records that lasted longer than a window: they are released to their hosts over the time that they
// lasted, so that a record of a minute is a minute's rate and not a burst. Used by the worker alone; knows owners by
// number, not what counting is.
#pragma once

#include <array>
#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/counters.h"
#include "count/weighed.h"

namespace floodwall {

/// Records of one owner, direction and kind whose times are alike share an entry: the packets that are still to be
/// released, and the time for that, the mean over these packets. A steady stream of records keeps a steady rate: where
/// records of the length D come with p packets at intervals d, an entry settles at p/d packets a second. Records of
/// very different lengths, as of an attack beside a long download, do not share one.
///
/// Sums are exact: each packet and byte is released once, at the latest with the last of its entry.
class SpreadPool {
 public:
  /// To whom an entry goes: to a row, to a place of the networks without a row, or to whatever its address is counted
  /// to when it is released.
  enum class OwnerKind : std::uint8_t { row, place, address };
  struct Owner {
    OwnerKind kind;
    /// Number of the row or the place.
    std::uint32_t number;
  };
  /// A part of an entry's rate, in packets, and when it ends.
  struct End {
    std::uint32_t atMs;
    float perMs;
  };
  static constexpr std::size_t kEndsMax = 24;
  struct Entry {
    Address address;
    std::uint64_t packets;
    std::uint64_t bytes;
    /// Packets that are due and not yet released, at the pool's time `atMs`, and the rate of the others.
    float due;
    float perMs;
    std::uint32_t atMs;
    float packetVariance, byteVariance;
    std::uint32_t owner;
    /// The next entry of the owner, or the next that is free, plus 1; 0: none.
    std::uint32_t next;
    Kind kind;
    OwnerKind ownerKind;
    std::uint8_t direction;
    bool isInUse;
    std::uint8_t endCount;
    /// The next one first.
    std::array<End, kEndsMax> ends;
  };

  /// The largest number of entries, and the numbers of rows and places that they are for.
  struct Limits {
    std::uint32_t entries, rows, places;
    bool countOutgoing;
  };
  explicit SpreadPool(const Limits& limits);

  /// False, and nothing is kept, when the pool is full.
  [[nodiscard]] bool add(const Owner& owner, const Address& address, Direction direction, const Kind& kind,
                         const Amount& amount, std::uint32_t durationMs) noexcept;

  /// In two steps, for a row to which something is added soon.
  void prefetchHead(std::uint32_t row, std::size_t direction) const noexcept {
    __builtin_prefetch(&rowHeads_.at(direction)[row], 1);
  }
  void prefetchEntry(std::uint32_t row, std::size_t direction) const noexcept {
    const std::uint32_t head = rowHeads_.at(direction)[row];
    if (head == 0) return;
    const auto* line = reinterpret_cast<const std::uint8_t*>(&entries_[head - 1]);
    for (std::size_t at = 0; at < sizeof(Entry); at += 64) __builtin_prefetch(line + at, 1);
  }

  /// The time of all calls that follow; it begins with the first one.
  void setTime(std::uint64_t nowMs) noexcept;

  /// Looks at the next `entries` entries and calls `release(entry, amount)` for those of which something is due. An
  /// entry of which nothing is left is free afterwards.
  template <typename Prefetch, typename Release>
  void visit(std::uint32_t entries, Prefetch&& prefetch, Release&& release) noexcept {
    for (; entries != 0 && used_ != 0; entries--) {
      if (hand_ >= used_) hand_ = 0;
      if (hand_ + kAhead < used_ && entries_[hand_ + kAhead].isInUse) prefetch(entries_[hand_ + kAhead]);
      Entry& entry = entries_[hand_];
      if (entry.isInUse) {
        const Amount amount = take(entry);
        if (amount.packets != 0 || amount.bytes != 0) release(entry, amount);
        if (entry.packets == 0) free(hand_);
      }
      hand_++;
    }
  }

  /// The row goes to another host: what is left goes where its address is counted then.
  void leaveRow(std::uint32_t row) noexcept;
  [[nodiscard]] bool hasRow(std::uint32_t row) const noexcept;
  /// The networks changed: places are renumbered, and their entries lose their place.
  void leavePlaces() noexcept;
  /// Entries that were ever in use at once, which a whole round visits; 0 when nothing is pending.
  [[nodiscard]] std::uint32_t round() const noexcept { return inUse_ == 0 ? 0 : used_; }
  [[nodiscard]] std::uint32_t inUse() const noexcept { return inUse_; }
  [[nodiscard]] std::size_t residentBytes() const;

 private:
  static constexpr std::uint32_t kAhead = 8;

  [[nodiscard]] std::uint32_t& headOf(const Owner& owner, Direction direction) const noexcept;
  Entry* newEntry(const Owner& owner, Direction direction, std::uint32_t& head) noexcept;
  /// Takes the part that became due since the entry was looked at.
  void settle(Entry& entry) const noexcept;
  static void addEnd(Entry& entry, const End& end) noexcept;
  static void mergeEnds(Entry& entry) noexcept;
  [[nodiscard]] Amount take(Entry& entry) const noexcept;
  void free(std::uint32_t at) noexcept;

  LazyArray<Entry> entries_;
  /// By direction: each row's and place's first entry, plus 1.
  std::array<LazyArray<std::uint32_t>, 2> rowHeads_, placeHeads_;
  std::uint32_t used_ = 0;
  std::uint32_t inUse_ = 0;
  std::uint32_t freeEntry_ = 0;
  std::uint32_t hand_ = 0;
  bool hasTime_ = false;
  std::uint64_t lastMs_ = 0;
  std::uint32_t atMs_ = 0;
};

}  // namespace floodwall
