// How a worker hands rows over to the fold without a lock: an epoch that the fold raises, a word in which the worker
// says how far it has come, and lists of the rows it touched.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/lazy_array.h"
#include "count/host_rows.h"

namespace floodwall {

/// The worker's end. It pushes each row once in each epoch that it adopts. When it adopts the next one, everything
/// before is the fold's to read: no row in it may be given to another host until the fold has said so (folded).
///
/// Each adopted epoch has a list of its own, three lists in turn. They never overflow: the worker adopts only epochs
/// that a fold raised, and each fold drains all that was acknowledged, so that at most three epochs are outstanding:
/// the one before the last that was acknowledged when the fold looked, the one the worker went on with, and the one
/// that the next fold raised. Each has a row once at most. Memory follows the largest number of rows touched in one
/// epoch.
class Handover {
 public:
  /// Positions: a list's end never is the beginning of the next.
  explicit Handover(std::uint32_t rows) : stride_(rows + 1), rows_(std::size_t{kLists} * stride_, Pages::small) {}

  void push(std::uint32_t row) noexcept { rows_[tail_++] = row; }
  void adopt(std::uint32_t epoch) noexcept {
    ends_[list_].store(tail_, std::memory_order_relaxed);
    list_ = after(list_);
    tail_ = list_ * stride_;
    adoptedTail_.store(tail_, std::memory_order_relaxed);
    word_.store(pack(epoch, tail_, false), std::memory_order_release);
  }
  void enterIdle(std::uint32_t epoch) noexcept { word_.store(pack(epoch, tail_, true), std::memory_order_release); }
  /// Must be followed by a sequentially consistent look at the engine's epoch: either the fold sees that the worker
  /// left, or the worker sees the epoch that the fold raised before it looked here, and adopts it.
  void leaveIdle(std::uint32_t epoch) noexcept {
    word_.store(pack(epoch, adoptedTail_.load(std::memory_order_relaxed), false), std::memory_order_seq_cst);
  }
  /// Rows last touched before this epoch have been folded.
  [[nodiscard]] std::uint32_t folded() const noexcept { return folded_.load(std::memory_order_acquire); }

  [[nodiscard]] std::size_t residentBytes() const { return rows_.residentBytes(); }
  void commit(std::size_t mostBytes) const noexcept { rows_.commit(mostBytes); }

 private:
  friend class HandoverFoldEnd;

  static constexpr std::uint32_t kLists = 3;
  static constexpr std::uint64_t kIdleBit = std::uint64_t{1} << 63;

  static std::uint64_t pack(std::uint32_t epoch, std::uint32_t tail, bool isIdle) noexcept {
    return (isIdle ? kIdleBit : 0) | static_cast<std::uint64_t>(epoch) << 32 | tail;
  }

  static std::uint32_t after(std::uint32_t list) noexcept { return list + 1 == kLists ? 0 : list + 1; }

  const std::uint32_t stride_;
  LazyArray<std::uint32_t> rows_;
  std::uint32_t list_ = 0;
  std::uint32_t tail_ = 0;
  /// Where the closed lists end; published by the word.
  std::array<std::atomic<std::uint32_t>, kLists> ends_{};
  /// Where the list of the worker's epoch begins.
  std::atomic<std::uint32_t> adoptedTail_{0};
  /// The words that cross, each away from what the other side writes. The worker's: idle, the epoch that it adopted,
  /// and the tail up to which rows may be read.
  alignas(64) std::atomic<std::uint64_t> word_{kIdleBit};
  alignas(64) std::atomic<std::uint32_t> folded_{0};
};

/// The fold's end. There is one.
class HandoverFoldEnd {
 public:
  explicit HandoverFoldEnd(Handover& of) : of_(of) {}

  /// How far a fold may read.
  struct Readable {
    /// The position after the last row; each may be touched again, and is then pushed again.
    std::uint32_t tail;
    /// Rows last touched before this epoch are all before the tail.
    std::uint32_t beforeEpoch;
    /// The epoch that the worker adopted last.
    std::uint32_t adopted;
    /// Nothing is left behind the tail.
    bool isAll;
  };
  /// For a fold that raised `epoch`. An idle worker touches nothing, so that the rows of its last epoch may be read
  /// too, if only it adopts another one when it goes on. In the fold's own epoch it would go on without pushing them
  /// again.
  [[nodiscard]] Readable readable(std::uint32_t epoch) const noexcept {
    const std::uint64_t word = of_.word_.load(std::memory_order_seq_cst);
    const std::uint32_t adopted = static_cast<std::uint32_t>(word >> 32) & kEpochMask;
    const auto tail = static_cast<std::uint32_t>(word);
    const bool isIdle = (word & Handover::kIdleBit) != 0;
    // The worker is about to go on with a later epoch; what it had before is taken.
    if (adopted == takenIdle_) return {head_, nextEpoch(adopted), adopted, isIdle};
    if (!isIdle) return {tail, adopted, adopted, false};
    if (adopted != epoch) return {tail, nextEpoch(adopted), adopted, true};
    return {of_.adoptedTail_.load(std::memory_order_relaxed), adopted, adopted, false};
  }
  /// Whether everything that was counted before the fold raised `epoch` may be read.
  [[nodiscard]] bool isReady(std::uint32_t epoch) const noexcept {
    const Readable now = readable(epoch);
    return now.isAll || now.adopted == epoch;
  }
  /// The next row before `tail`, or false.
  bool pop(std::uint32_t tail, std::uint32_t& row) noexcept {
    // The tail lies in the list that is read, or in a later one; then this one is closed.
    while (head_ != tail) {
      const std::uint32_t first = list_ * of_.stride_;
      const bool isLast = tail >= first && tail - first < of_.stride_;
      if (isLast || head_ != of_.ends_[list_].load(std::memory_order_relaxed)) {
        row = of_.rows_[head_++];
        return true;
      }
      list_ = Handover::after(list_);
      head_ = list_ * of_.stride_;
    }
    return false;
  }
  /// All rows up to the tail have been read.
  void finish(const Readable& readable) noexcept {
    if (readable.isAll) takenIdle_ = readable.adopted;
    of_.folded_.store(readable.beforeEpoch, std::memory_order_release);
  }

 private:
  Handover& of_;
  std::uint32_t list_ = 0;
  std::uint32_t head_ = 0;
  /// The epoch at whose end the fold last found the worker idle.
  std::uint32_t takenIdle_ = ~0U;
};

}  // namespace floodwall
