// The results that the last fold hands over to readers: the hosts that it screened, and the counts of watched hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/columns.h"
#include "count/counters.h"
#include "count/totals.h"
#include "count/weighed.h"

namespace floodwall {

/// Screened rows at most.
inline constexpr std::uint32_t kScreenedMax = 8192;

/// In columns as they are read. Memory follows what is written.
class ScreenedRows {
 public:
  [[nodiscard]] HostColumns columns() const noexcept {
    return {.addresses = of(addresses_),
            .groups = of(groups_),
            .networks = of(networks_),
            .idleMs = of(idleMs_),
            .incoming = of(incoming_),
            .outgoing = of(outgoing_),
            .weights = of(weights_)};
  }
  [[nodiscard]] std::size_t residentBytes() const {
    return addresses_.residentBytes() + groups_.residentBytes() + networks_.residentBytes() + idleMs_.residentBytes() +
           incoming_.residentBytes() + outgoing_.residentBytes() + weights_.residentBytes();
  }

 private:
  template <typename T>
  static std::span<T> of(const LazyArray<T>& column) noexcept {
    return {column.data(), column.size()};
  }

  LazyArray<std::uint8_t> addresses_{kScreenedMax * sizeof(Address), Pages::small};
  LazyArray<std::uint32_t> groups_{kScreenedMax, Pages::small}, networks_{kScreenedMax, Pages::small};
  LazyArray<double> idleMs_{kScreenedMax, Pages::small};
  LazyArray<double> incoming_{kScreenedMax * kMetrics, Pages::small};
  LazyArray<double> outgoing_{kScreenedMax * kMetrics, Pages::small};
  LazyArray<double> weights_{kScreenedMax * kWeights, Pages::small};
};

/// The counts of a watched host in a fold, or those that were in the window before that.
struct CountRow {
  Address address;
  /// From the end of its span to the fold.
  double ageMs;
  double spanMs;
  /// The sum of a whole window that ended before the present one began.
  bool isBefore;
  std::array<Totals, 2> totals;
  RowWeights weights;
};

struct HandedOver {
  ScreenedRows screened;
  /// How many of them were written, and how many there are.
  std::uint32_t screenedRows = 0;
  std::uint32_t screenedCount = 0;
  std::vector<CountRow> counts;
};

}  // namespace floodwall
