// How a worker hands rows over to the fold without a lock: an epoch that the fold raises, a word in which the worker
// says how far it has come, and a ring of the rows it touched.
#pragma once

#include <atomic>
#include <cstdint>

#include "host_rows.h"
#include "lazy_array.h"

namespace floodwall {

/// The worker pushes each row once in each epoch that it adopts. When it adopts the next one, everything before is
/// the fold's to read: no row in it may be given to another host until the fold has said so (setFolded).
///
/// The ring never overflows. The worker adopts only epochs that a fold raised, and each fold drains all that was
/// acknowledged, so that at most three epochs are outstanding: the one before the last that was acknowledged when the
/// fold looked, the one the worker went on with, and the one that the next fold raised. Each has a row once at most.
class Handover {
 public:
  explicit Handover(std::uint32_t rows) : capacity_(3 * rows + 1), ring_(capacity_) {}

  struct Progress {
    /// Rows touched in epochs before this one are all in the ring before `tail`.
    std::uint32_t epoch;
    std::uint32_t tail;
    bool isIdle;
  };

  // The worker.
  void push(std::uint32_t row) noexcept {
    ring_[tail_] = row;
    tail_ = tail_ + 1 == capacity_ ? 0 : tail_ + 1;
  }
  void acknowledge(std::uint32_t epoch) noexcept {
    word_.store(pack({epoch, tail_, false}), std::memory_order_release);
  }
  /// An idle worker touches nothing, so that what it touched in its present epoch may be read too. Leaving must be
  /// ordered before the next look at the engine's epoch: either the fold sees that the worker left, or the worker
  /// sees the epoch that the fold raised before it looked.
  void setIdle(std::uint32_t epoch, bool isIdle) noexcept {
    word_.store(pack({epoch, tail_, isIdle}), std::memory_order_seq_cst);
  }
  /// Rows last touched before this epoch have been folded.
  [[nodiscard]] std::uint32_t folded() const noexcept { return folded_.load(std::memory_order_acquire); }

  // The fold.
  [[nodiscard]] Progress progress() const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_seq_cst);
    return {static_cast<std::uint32_t>(word >> 32) & kEpochMask, static_cast<std::uint32_t>(word) & kTailMask,
            (word & kIdleBit) != 0};
  }
  /// The next row before `tail`, or false.
  bool pop(std::uint32_t tail, std::uint32_t& row) noexcept {
    if (head_ == tail) return false;
    row = ring_[head_];
    head_ = head_ + 1 == capacity_ ? 0 : head_ + 1;
    return true;
  }
  void setFolded(std::uint32_t epoch) noexcept { folded_.store(epoch, std::memory_order_release); }

  [[nodiscard]] std::size_t residentBytes() const { return ring_.residentBytes(); }

 private:
  static constexpr std::uint64_t kIdleBit = std::uint64_t{1} << 63;
  static constexpr std::uint32_t kTailMask = 0xffffffff;

  static std::uint64_t pack(const Progress& progress) noexcept {
    return (progress.isIdle ? kIdleBit : 0) | static_cast<std::uint64_t>(progress.epoch) << 32 | progress.tail;
  }

  const std::uint32_t capacity_;
  LazyArray<std::uint32_t> ring_;
  std::uint32_t tail_ = 0;
  /// The two words that cross, away from what each side writes for itself.
  alignas(64) std::atomic<std::uint64_t> word_{kIdleBit};
  alignas(64) std::atomic<std::uint32_t> folded_{0};
  std::uint32_t head_ = 0;
};

}  // namespace floodwall
