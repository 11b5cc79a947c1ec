// Rows that the fold wants back from a crowded shard, since their hosts are light: a list of fixed size that the fold
// fills and the worker empties. Neither waits for the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"

namespace floodwall {

struct Eviction {
  /// Of the row's host as the fold knows it. The row may have another one by now.
  Address address;
  std::uint32_t row;
};

class Evictions {
 public:
  explicit Evictions(std::uint32_t most) : entries_(most, Pages::small) {}

  // The fold.
  /// Those that the worker has not taken yet.
  [[nodiscard]] std::uint32_t pending() const noexcept {
    return static_cast<std::uint32_t>(put_.load(std::memory_order_relaxed) - taken_.load(std::memory_order_acquire));
  }
  [[nodiscard]] std::uint32_t room() const noexcept { return static_cast<std::uint32_t>(entries_.size()) - pending(); }
  /// There must be room.
  void put(const Eviction& eviction) noexcept {
    const std::uint64_t at = put_.load(std::memory_order_relaxed);
    entries_[at % entries_.size()] = eviction;
    put_.store(at + 1, std::memory_order_release);
  }

  // The worker.
  /// Lets it take what was put up to now.
  void adopt() noexcept { end_ = put_.load(std::memory_order_acquire); }
  [[nodiscard]] bool take(Eviction& eviction) noexcept {
    const std::uint64_t at = taken_.load(std::memory_order_relaxed);
    if (at == end_) return false;
    eviction = entries_[at % entries_.size()];
    taken_.store(at + 1, std::memory_order_release);
    return true;
  }

  [[nodiscard]] std::size_t residentBytes() const { return entries_.residentBytes(); }

 private:
  LazyArray<Eviction> entries_;
  alignas(64) std::atomic<std::uint64_t> put_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  std::uint64_t end_ = 0;
};

}  // namespace floodwall
