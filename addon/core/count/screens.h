// Which hosts are worth a look: the lowest values of each group at which a host is handed over.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/counters.h"
#include "count/totals.h"
#include "count/weighed.h"

namespace floodwall {

/// 13 incoming rates, then 13 outgoing.
using HostRates = std::array<double, 2 * kMetrics>;

class Screens {
 public:
  Screens() = default;
  /// HostRates by group, in one array.
  explicit Screens(std::span<const double> values) : values_(values.begin(), values.end()) {
    for (std::size_t first = 0; first < values_.size(); first += kMetrics) {
      const Least least = leastOf(&values_[first]);
      Least& ofAll = leastOfAll_[lowest_.size() % 2];
      ofAll.packets = std::min(ofAll.packets, least.packets);
      ofAll.bytes = std::min(ofAll.bytes, least.bytes);
      ofAll.newFlows = std::min(ofAll.newFlows, least.newFlows);
      lowest_.push_back(least);
    }
    for (std::size_t i = 0; i < values_.size(); i++) {
      const std::size_t metric = i % kMetrics;
      if (metric == 0) isOn_.push_back(0);
      if (values_[i] < std::numeric_limits<double>::infinity()) isOn_.back() |= 1U << metric;
      least_.push_back(isOfBytes(metric) ? values_[i] * kBytesPerMegabit * kLess : values_[i] * kLess);
    }
  }

  /// The largest rate / screen; at least 1 means that the host is screened. A screen of 0 lets everything through.
  [[nodiscard]] double excess(const HostRates& rates, std::uint32_t group) const noexcept {
    const std::size_t first = std::size_t{group} * rates.size();
    if (first + rates.size() > values_.size()) return 0;
    double most = 0;
    for (std::size_t i = 0; i < rates.size(); i++) {
      const double screen = values_[first + i];
      const double ratio = screen > 0 ? rates[i] / screen : std::numeric_limits<double>::max();
      most = ratio > most ? ratio : most;
    }
    return most;
  }

  /// The lowest screens of packets, bytes and new flows, per second. A screen of 0 does not count.
  struct Least {
    double packets = std::numeric_limits<double>::infinity();
    double bytes = std::numeric_limits<double>::infinity();
    double newFlows = std::numeric_limits<double>::infinity();

    /// Whether `scale` times these counts is a rate per second that reaches one of them.
    [[nodiscard]] bool isReachedBy(const Totals& totals, double scale) const noexcept {
      return static_cast<double>(totals.packets()) * scale >= packets ||
             static_cast<double>(totals.bytes()) * scale >= bytes ||
             static_cast<double>(totals.counts[Totals::kNewFlows]) * scale >= newFlows;
    }
  };
  /// The least of all groups, in one direction.
  [[nodiscard]] const Least& leastOfAll(std::size_t direction) const noexcept { return leastOfAll_[direction]; }
  /// Counts by direction; cheaper than excess(), and never less than it.
  [[nodiscard]] bool mayRise(const std::array<Totals, 2>& totals, double scale, std::uint32_t group) const noexcept {
    const std::size_t first = std::size_t{2} * group;
    return first + 1 < lowest_.size() &&
           (lowest_[first].isReachedBy(totals[0], scale) || lowest_[first + 1].isReachedBy(totals[1], scale));
  }

  /// False only if excess() is below 1 for rates with these totals of one direction over `seconds`.
  [[nodiscard]] bool mayReach(const Totals& totals, double seconds, std::uint32_t group,
                              Direction direction) const noexcept {
    const std::size_t side = std::size_t{group} * 2 + static_cast<std::size_t>(direction);
    if (side >= isOn_.size()) return false;
    for (std::uint32_t on = isOn_[side]; on != 0; on &= on - 1) {
      const auto metric = static_cast<std::size_t>(std::countr_zero(on));
      if (static_cast<double>(countOf(totals, metric)) >= least_[side * kMetrics + metric] * seconds) return true;
    }
    return false;
  }

 private:
  static constexpr double kBytesPerMegabit = 125'000;
  /// Far more than what rounding makes of a rate.
  static constexpr double kLess = 1 - 1e-9;

  /// mbps, tcp_mbps and so on.
  [[nodiscard]] static constexpr bool isOfBytes(std::size_t metric) noexcept {
    return metric == 1 || (metric > 2 && metric % 2 == 0);
  }

  [[nodiscard]] static std::uint64_t countOf(const Totals& totals, std::size_t metric) noexcept {
    if (metric == 0) return totals.packets();
    if (metric == 1) return totals.bytes();
    if (metric == 2) return totals.counts[Totals::kNewFlows];
    return totals.counts[kMetricClasses[(metric - 3) / 2] + (isOfBytes(metric) ? Totals::kBytes : 0)];
  }

  /// `screens` are of one direction, in the order of Metric.
  static Least leastOf(const double* screens) noexcept {
    Least least;
    const auto lower = [](double& to, double screen) { to = screen > 0 && screen < to ? screen : to; };
    lower(least.newFlows, screens[2]);
    lower(least.packets, screens[0]);
    lower(least.bytes, screens[1] * kBytesPerMegabit);
    for (std::size_t metric = 3; metric + 1 < kMetrics; metric += 2) {
      lower(least.packets, screens[metric]);
      lower(least.bytes, screens[metric + 1] * kBytesPerMegabit);
    }
    return least;
  }

  std::vector<double> values_;
  /// By group, then direction.
  std::vector<Least> lowest_;
  std::array<Least, 2> leastOfAll_;
  /// By group and direction: a bit for each metric whose screen is not off.
  std::vector<std::uint32_t> isOn_;
  /// The same as packets, bytes and flows per second, a little lower.
  std::vector<double> least_;
};

/// A screened host that is handed over, as it was at the end of the fold.
struct ScreenedHost {
  Address address;
  std::uint32_t network;
  std::uint32_t group;
  double idleMs;
  HostRates rates;
  RowWeights weights;
};

}  // namespace floodwall
