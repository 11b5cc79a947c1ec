// What each host had since its counts were last taken: sums, and the highest rates of all folds. For the history, which
// takes them at each of its intervals. Knows hosts by number only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/lazy_array.h"
#include "count/counters.h"
#include "count/totals.h"

namespace floodwall {

/// Values of a row: packets, 10^6 bits and new flows, then the highest packets, 10^6 bits and new flows per second.
inline constexpr std::size_t kIntervalValues = 6;

class Intervals {
 public:
  Intervals(std::size_t hosts, bool countOutgoing)
      : counts_{LazyArray<Counts>(hosts), LazyArray<Counts>(countOutgoing ? hosts : 0)} {}

  void prefetch(std::uint32_t host) const noexcept { __builtin_prefetch(&counts_[0][host], 1); }

  /// `window` is the host's sum with `delta` in it, over `seconds`. Rates only rise where packets come, so that the
  /// highest is found without looking at hosts that have none.
  void add(std::uint32_t host, Direction direction, const Totals& delta, const Totals& window,
           double seconds) const noexcept {
    Counts& counts = counts_[static_cast<std::size_t>(direction)][host];
    const double perSecond = 1 / seconds;
    const std::array<float, 3> added = basics(delta, 1), rates = basics(window, perSecond);
    for (std::size_t i = 0; i < added.size(); i++) {
      counts.sums[i] += added[i];
      counts.highest[i] = std::max(counts.highest[i], rates[i]);
    }
  }

  void read(std::uint32_t host, Direction direction, std::span<double, kIntervalValues> values) const noexcept {
    const LazyArray<Counts>& all = counts_[static_cast<std::size_t>(direction)];
    const Counts counts = all.size() == 0 ? Counts{} : all[host];
    std::copy(counts.sums.begin(), counts.sums.end(), values.begin());
    std::copy(counts.highest.begin(), counts.highest.end(), values.begin() + counts.sums.size());
  }

  [[nodiscard]] bool isEmpty(std::uint32_t host) const noexcept {
    return std::all_of(counts_.begin(), counts_.end(), [host](const LazyArray<Counts>& all) {
      return all.size() == 0 || all[host].sums == std::array<float, 3>{};
    });
  }
  void clear(std::uint32_t host) const noexcept {
    for (const LazyArray<Counts>& all : counts_) {
      if (all.size() != 0) all[host] = {};
    }
  }

  [[nodiscard]] std::size_t residentBytes() const { return counts_[0].residentBytes() + counts_[1].residentBytes(); }

 private:
  /// A float's 24 bits are enough: thousands of folds add up with an error below one in a thousand.
  struct Counts {
    std::array<float, 3> sums;
    std::array<float, 3> highest;
  };

  static std::array<float, 3> basics(const Totals& totals, double factor) noexcept {
    constexpr double kMegabitsPerByte = 8e-6;
    return {static_cast<float>(static_cast<double>(totals.packets()) * factor),
            static_cast<float>(static_cast<double>(totals.bytes()) * factor * kMegabitsPerByte),
            static_cast<float>(static_cast<double>(totals.counts[Totals::kNewFlows]) * factor)};
  }

  std::array<LazyArray<Counts>, 2> counts_;
};

}  // namespace floodwall
