// Distinguishes new flows from recent ones in fixed memory: signatures in sets of one cache line, of which the longest
// unused is replaced. Knows hashes only, not what a flow is.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/lazy_array.h"

namespace floodwall {

/// Remembers the last four million flows, in memory that grows with their number from 256 KB to 16 MB. At a million new
/// flows a second, a flow that sends once a second is forgotten (and counted again) with a chance of 2 in a million,
/// once in two seconds with 1 %; a new flow is taken for a known one with a chance of 16 / 2^20.
class FlowFilter {
 public:
  FlowFilter() : sets_(std::size_t{1} << kSetBitsMax) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&sets_[setOf(hash)], 1); }

  /// Whether the flow was not known; it is afterwards. `now` counts up slowly (fold epochs) and may wrap around.
  bool isNew(std::uint64_t hash, std::uint32_t now) noexcept {
    const std::size_t at = setOf(hash);
    Set& set = sets_[at];
    const std::uint32_t signature = static_cast<std::uint32_t>(hash) << kStampBits | kInUse;
    const std::uint32_t stamp = now << 1 & kStampMask;
    const std::uint32_t fresh = signature | stamp;
    const auto& [a, b, c, d] = set.quads;
    if (any((a == fresh) | (b == fresh) | (c == fresh) | (d == fresh))) return false;
    if (!any(a | b | c | d)) inherit(at);
    // All lanes at once: where in the set a flow lies cannot be predicted.
    const auto isSame = [signature](const Quad& quad) { return (quad & ~kStampMask) == signature; };
    const auto inA = isSame(a), inB = isSame(b), inC = isSame(c), inD = isSame(d);
    if (any(inA | inB | inC | inD)) {
      set = {{inA ? fresh : a, inB ? fresh : b, inC ? fresh : c, inD ? fresh : d}};
      return false;
    }
    const unsigned lane = oldest(set, stamp);
    set.quads[lane / 4][lane % 4] = fresh;
    if (bits_ != kSetBitsMax) noteNew(now);
    return true;
  }

  [[nodiscard]] std::size_t residentBytes() const { return sets_.residentBytes(); }

  /// Has the kernel commit the memory that is used without prepareGrowth().
  void commit() const noexcept { sets_.commit(committedBytes_); }
  /// Call this regularly on one other thread: it commits a part of the memory that the filter waits for to grow. Page
  /// by page that would hold up the thread that counts, as a flood of new flows begins.
  void prepareGrowth() noexcept {
    const unsigned ready = readyBits_.load(std::memory_order_relaxed);
    if (wantedBits_.load(std::memory_order_relaxed) <= ready) return;
    const std::size_t next = sizeof(Set) << (ready + 1);
    committedBytes_ = std::min(committedBytes_ + kCommittedAtOnce, next);
    sets_.commit(committedBytes_);
    if (committedBytes_ == next) readyBits_.store(ready + 1, std::memory_order_relaxed);
  }

 private:
  /// A lane is signature, stamp, and one bit that distinguishes it from an empty lane. Four of them are a register of
  /// every processor that matters.
  using Quad = std::uint32_t __attribute__((vector_size(16)));
  struct alignas(64) Set {
    Quad quads[4];
  };
  static constexpr unsigned kWays = 16, kSetBitsMin = 12, kSetBitsReady = 15, kSetBitsMax = 18, kStampBits = 12;
  static constexpr std::size_t kCommittedAtOnce = std::size_t{2} << 20;
  static constexpr std::uint32_t kInUse = 1, kStampMask = (1U << kStampBits) - 2;
  /// New flows of this number of epochs fill a quarter of the lanes at most, while there may be more.
  static constexpr std::uint32_t kPeriodEpochs = 600;

  [[nodiscard]] std::size_t setOf(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash >> (64 - kSetBitsMax)) & ((std::size_t{1} << bits_) - 1);
  }

  /// A set that growth added begins with the flows of the set that it takes half of; the other half ages out of it.
  void inherit(std::size_t at) noexcept {
    for (std::size_t from = at; from >> kSetBitsMin != 0;) {
      from ^= std::bit_floor(from);
      const auto& [a, b, c, d] = sets_[from].quads;
      if (!any(a | b | c | d)) continue;
      sets_[at] = sets_[from];
      return;
    }
  }

  void noteNew(std::uint32_t now) noexcept {
    if (now - periodBegan_ >= kPeriodEpochs) {
      periodBegan_ = now;
      newInPeriod_ = 0;
    }
    if (++newInPeriod_ <= (kWays / 4) << bits_) return;
    if (bits_ < readyBits_.load(std::memory_order_relaxed)) {
      bits_++;
    } else {
      wantedBits_.store(bits_ + 1, std::memory_order_relaxed);
    }
  }

  template <typename Mask>
  [[nodiscard]] static bool any(const Mask& mask) noexcept {
    using Words = std::uint64_t __attribute__((vector_size(16)));
    const auto words = reinterpret_cast<const Words&>(mask);
    return (words[0] | words[1]) != 0;
  }

  [[nodiscard]] static unsigned oldest(const Set& set, std::uint32_t stamp) noexcept {
    unsigned at = 0;
    std::uint32_t best = 0;
    for (unsigned i = 0; i < kWays; i++) {
      const std::uint32_t lane = set.quads[i / 4][i % 4];
      const std::uint32_t age = lane == 0 ? kStampMask + 1 : (stamp - (lane & kStampMask)) & kStampMask;
      if (age < best) continue;
      best = age;
      at = i;
    }
    return at;
  }

  LazyArray<Set> sets_;
  unsigned bits_ = kSetBitsMin;
  std::uint32_t periodBegan_ = 0;
  std::uint32_t newInPeriod_ = 0;
  /// How far it may grow, and how far it would.
  std::atomic<unsigned> readyBits_{kSetBitsReady}, wantedBits_{0};
  std::size_t committedBytes_ = sizeof(Set) << kSetBitsReady;
};

}  // namespace floodwall
