// Which hosts are worth a look: the lowest values of each group at which a host is handed over.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/counters.h"

namespace floodwall {

/// 13 incoming rates, then 13 outgoing.
using HostRates = std::array<double, 2 * kMetrics>;

class Screens {
 public:
  Screens() = default;
  /// HostRates by group, in one array.
  explicit Screens(std::span<const double> values) : values_(values.begin(), values.end()) {}

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

 private:
  std::vector<double> values_;
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
