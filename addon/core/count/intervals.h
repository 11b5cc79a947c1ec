// The counts of each host since they were last taken: sums, and the highest rates of all folds. For the history, which
// takes them at each of its intervals. Knows hosts by number only.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/lazy_array.h"
#include "count/counters.h"
#include "count/totals.h"
#include "count/weighed.h"

namespace floodwall {

/// Values of a row: packets, 10^6 bits and new flows, then the highest packets, 10^6 bits and new flows per second,
/// then the standard deviation of each of the highest; 0: it is exact.
inline constexpr std::size_t kIntervalValues = 9;

class Intervals {
 public:
  Intervals(std::size_t hosts, bool countOutgoing)
      : counts_{LazyArray<Counts>(hosts), LazyArray<Counts>(countOutgoing ? hosts : 0)},
        deviations_{LazyArray<Deviations>(hosts), LazyArray<Deviations>(countOutgoing ? hosts : 0)} {}

  void prefetch(std::uint32_t host) const noexcept { __builtin_prefetch(&counts_[0][host], 1); }

  /// The host's sum over `seconds`. `weights`: of a sum that may be an estimate; null: nothing was ever sampled.
  struct Window {
    Totals totals;
    double seconds;
    const Weights* weights;
  };

  /// `window` has `delta` in it. Rates only rise where packets come, so that the highest is found without looking at
  /// hosts that have none.
  void add(std::uint32_t host, Direction direction, const Totals& delta, const Window& window) noexcept {
    Counts& counts = counts_[static_cast<std::size_t>(direction)][host];
    const std::array<float, 3> added = basics(delta, 1), rates = basics(window.totals, 1 / window.seconds);
    for (std::size_t i = 0; i < added.size(); i++) {
      counts.sums[i] += added[i];
      if (rates[i] <= counts.highest[i]) continue;
      counts.highest[i] = rates[i];
      if (window.weights == nullptr) continue;
      float& known = deviations_[static_cast<std::size_t>(direction)][host][i];
      const float deviation = deviationOf(i, rates[i], window);
      // Hosts without sampled traffic take no memory.
      if (known != deviation) known = deviation;
    }
  }

  /// `isSampled`: something was sampled, of any host.
  void read(std::uint32_t host, Direction direction, bool isSampled,
            std::span<double, kIntervalValues> values) const noexcept {
    const std::size_t at = static_cast<std::size_t>(direction);
    const Counts counts = counts_[at].size() == 0 ? Counts{} : counts_[at][host];
    for (std::size_t i = 0; i < counts.sums.size(); i++) {
      values[i] = counts.sums[i];
      values[3 + i] = counts.highest[i];
      // The rest of an earlier interval has no rate.
      values[6 + i] = isSampled && counts.highest[i] > 0 ? deviations_[at][host][i] : 0;
    }
  }

  [[nodiscard]] bool isEmpty(std::uint32_t host) const noexcept {
    return std::all_of(counts_.begin(), counts_.end(), [host](const LazyArray<Counts>& all) {
      return all.size() == 0 || all[host].sums == std::array<float, 3>{};
    });
  }
  void clear(std::uint32_t host) noexcept {
    for (const LazyArray<Counts>& all : counts_) {
      if (all.size() != 0) all[host] = {};
    }
  }

  [[nodiscard]] std::size_t residentBytes() const {
    return counts_[0].residentBytes() + counts_[1].residentBytes() + deviations_[0].residentBytes() +
           deviations_[1].residentBytes();
  }

 private:
  /// A float's 24 bits are enough: thousands of folds add up with an error below one in a thousand.
  struct Counts {
    std::array<float, 3> sums;
    std::array<float, 3> highest;
  };

  using Deviations = std::array<float, 3>;

  /// The variance of a rate over t seconds is weight * rate / t. A sampled SYN packet stands for as many flows as
  /// packets.
  static float deviationOf(std::size_t i, float rate, const Window& window) noexcept {
    constexpr double kBytesPerMegabit = 125'000;
    const double weight = i == 1 ? window.weights->at(1) / kBytesPerMegabit : window.weights->at(0);
    return static_cast<float>(std::sqrt(weight * static_cast<double>(rate) / window.seconds));
  }

  static std::array<float, 3> basics(const Totals& totals, double factor) noexcept {
    constexpr double kMegabitsPerByte = 8e-6;
    return {static_cast<float>(static_cast<double>(totals.packets()) * factor),
            static_cast<float>(static_cast<double>(totals.bytes()) * factor * kMegabitsPerByte),
            static_cast<float>(static_cast<double>(totals.counts[Totals::kNewFlows]) * factor)};
  }

  std::array<LazyArray<Counts>, 2> counts_;
  /// Deviations of the highest rates.
  std::array<LazyArray<Deviations>, 2> deviations_;
};

}  // namespace floodwall
