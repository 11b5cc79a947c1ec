// Which hosts are worth a look: the lowest values of each group at which a host is handed over.
#pragma once

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
    for (std::size_t first = 0; first < values_.size(); first += kMetrics) least_.push_back(leastOf(&values_[first]));
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

  /// Whether `scale` times these counts, by direction, is a rate per second at or above the lowest screen of packets,
  /// bytes or new flows; cheaper than excess(), and never less than it. A screen of 0 does not count.
  [[nodiscard]] bool mayReach(const std::array<Totals, 2>& totals, double scale, std::uint32_t group) const noexcept {
    const std::size_t first = std::size_t{2} * group;
    if (first + 1 >= least_.size()) return false;
    for (std::size_t d = 0; d < 2; d++) {
      const Least& least = least_[first + d];
      if (static_cast<double>(totals[d].packets()) * scale >= least.packets ||
          static_cast<double>(totals[d].bytes()) * scale >= least.bytes ||
          static_cast<double>(totals[d].counts[Totals::kNewFlows]) * scale >= least.newFlows) {
        return true;
      }
    }
    return false;
  }

 private:
  /// The lowest screens, per second.
  struct Least {
    double packets = std::numeric_limits<double>::infinity();
    double bytes = std::numeric_limits<double>::infinity();
    double newFlows = std::numeric_limits<double>::infinity();
  };

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
  std::vector<Least> least_;
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
