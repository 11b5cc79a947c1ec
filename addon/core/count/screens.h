// Which hosts are worth a look: the lowest values of each group at which a host is handed over.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/counters.h"
#include "count/totals.h"

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
  /// Of all groups, in one direction.
  [[nodiscard]] const Least& leastOfAll(std::size_t direction) const noexcept { return leastOfAll_[direction]; }
  /// Counts by direction; cheaper than excess(), and never less than it.
  [[nodiscard]] bool mayRise(const std::array<Totals, 2>& totals, double scale, std::uint32_t group) const noexcept {
    const std::size_t first = std::size_t{2} * group;
    return first + 1 < lowest_.size() &&
           (lowest_[first].isReachedBy(totals[0], scale) || lowest_[first + 1].isReachedBy(totals[1], scale));
  }

 private:
  /// `screens` are of one direction, in the order of Metric.
  static Least leastOf(const double* screens) noexcept {
    constexpr double kBytesPerMegabit = 125'000;
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
};

/// What is handed over of a screened host, as it was at the end of the fold.
struct ScreenedHost {
  Address address;
  std::uint32_t network;
  std::uint32_t group;
  double idleMs;
  HostRates rates;
};

}  // namespace floodwall
