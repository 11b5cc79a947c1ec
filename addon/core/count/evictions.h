// Rows that the fold wants back from a crowded shard, since their hosts are light: a list of fixed size that the fold
// fills and the worker empties. Neither waits for the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"

namespace floodwall {

struct Eviction {
  /// Address of the row's host as the fold knows it. The row may have another one by now.
  Address address;
  std::uint32_t row;
};

/// The worker's end.
class Evictions {
 public:
  explicit Evictions(std::uint32_t most) : entries_(most, Pages::small) {}

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
  friend class EvictionsFoldEnd;

  LazyArray<Eviction> entries_;
  alignas(64) std::atomic<std::uint64_t> put_{0};
  alignas(64) std::atomic<std::uint64_t> taken_{0};
  std::uint64_t end_ = 0;
};

/// The fold's end.
class EvictionsFoldEnd {
 public:
  explicit EvictionsFoldEnd(Evictions& of) : of_(of) {}

  /// Those that the worker has not taken yet.
  [[nodiscard]] std::uint32_t pending() const noexcept {
    return static_cast<std::uint32_t>(of_.put_.load(std::memory_order_relaxed) -
                                      of_.taken_.load(std::memory_order_acquire));
  }
  [[nodiscard]] std::uint32_t room() const noexcept {
    return static_cast<std::uint32_t>(of_.entries_.size()) - pending();
  }
  /// There must be room.
  void put(const Eviction& eviction) noexcept {
    const std::uint64_t at = of_.put_.load(std::memory_order_relaxed);
    of_.entries_[at % of_.entries_.size()] = eviction;
    of_.put_.store(at + 1, std::memory_order_release);
  }

 private:
  Evictions& of_;
};

}  // namespace floodwall
