// Tells new flows from flows seen lately in fixed memory: signatures in sets of one cache line, the longest unused
// makes room. Knows hashes only, not what a flow is.
#pragma once

#include <cstdint>

#include "lazy_array.h"

namespace floodwall {

/// Remembers the last four million flows. At a million new flows a second, a flow that sends once a second is
/// forgotten (and counted again) with a chance of 2 in a million, once in two seconds with 1 %; a new flow is taken
/// for a known one with a chance of 16 / 2^20.
class FlowFilter {
 public:
  FlowFilter() : sets_(std::size_t{1} << kSetBits) {}

  void prefetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&sets_[setOf(hash)], 1); }

  /// Whether the flow was not known; it is afterwards. `now` counts up slowly (fold epochs) and may wrap around.
  bool isNew(std::uint64_t hash, std::uint32_t now) noexcept {
    Lanes& set = sets_[setOf(hash)];
    const std::uint32_t signature = static_cast<std::uint32_t>(hash) << kStampBits | kInUse;
    const std::uint32_t stamp = now << 1 & kStampMask;
    if (any(set == (signature | stamp))) return false;
    const auto same = (set & ~kStampMask) == signature;
    if (any(same)) {
      set = same ? (set & ~kStampMask) | stamp : set;
      return false;
    }
    set[oldest(set, stamp)] = signature | stamp;
    return true;
  }

  [[nodiscard]] std::size_t residentBytes() const { return sets_.residentBytes(); }

 private:
  /// A lane is signature, stamp, and one bit that tells it from an empty lane.
  using Lanes = std::uint32_t __attribute__((vector_size(64)));
  static constexpr unsigned kWays = 16, kSetBits = 18, kStampBits = 12;
  static constexpr std::uint32_t kInUse = 1, kStampMask = (1U << kStampBits) - 2;

  [[nodiscard]] static std::size_t setOf(std::uint64_t hash) noexcept {
    return static_cast<std::size_t>(hash >> (64 - kSetBits));
  }

  template <typename Mask>
  [[nodiscard]] static bool any(const Mask& mask) noexcept {
    using Words = std::uint64_t __attribute__((vector_size(64)));
    const auto words = reinterpret_cast<const Words&>(mask);
    return ((words[0] | words[1]) | (words[2] | words[3]) | (words[4] | words[5]) | (words[6] | words[7])) != 0;
  }

  [[nodiscard]] static unsigned oldest(const Lanes& set, std::uint32_t stamp) noexcept {
    unsigned at = 0;
    std::uint32_t best = 0;
    for (unsigned i = 0; i < kWays; i++) {
      const std::uint32_t age = set[i] == 0 ? kStampMask + 1 : (stamp - set[i]) & kStampMask;
      if (age < best) continue;
      best = age;
      at = i;
    }
    return at;
  }

  LazyArray<Lanes> sets_;
};

}  // namespace floodwall
