// The sums of busy hosts over the last few windows, so that something is known of a host from before it is watched.
// Bounded, and lossy where two busy hosts share a place: who came first keeps it while it is busy.
#pragma once

#include <array>
#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/totals.h"

namespace floodwall {

class RecentHosts {
 public:
  /// A share of its screen, in any metric: a lower rate is a flat line beside an attack.
  static constexpr double kBusyShare = 1.0 / 32;
  static constexpr std::uint32_t kHosts = 1024, kReadings = 8;

  struct Reading {
    /// The end of the window; 0: there is none.
    std::uint64_t endNs;
    std::array<Totals, 2> totals;
  };

  explicit RecentHosts(std::uint64_t windowNs) : windowNs_(windowNs), hosts_(kHosts, Pages::small) {}

  /// Takes `sums()` once a window.
  template <typename Sums>
  void note(std::uint32_t host, const Address& address, std::uint64_t nowNs, Sums&& sums) {
    Host& place = hosts_[host % kHosts];
    const std::uint64_t last = place.readings[(place.next + kReadings - 1) % kReadings].endNs;
    if (last != 0 && nowNs - last < windowNs_) return;
    if (place.address != address) {
      if (last != 0 && nowNs - last < kReadings * windowNs_) return;
      place = {};
      place.address = address;
    }
    place.readings[place.next] = {nowNs, sums()};
    place.next = (place.next + 1) % kReadings;
  }

  /// Calls `found(reading)` for those that end by then and are at most kReadings windows older, newest first.
  template <typename Found>
  void forReadings(std::uint32_t host, const Address& address, std::uint64_t untilNs, Found&& found) const {
    const Host& place = hosts_[host % kHosts];
    if (place.address != address) return;
    for (std::uint32_t age = 1; age <= kReadings; age++) {
      const Reading& reading = place.readings[(place.next + kReadings - age) % kReadings];
      const bool isRecent = reading.endNs != 0 && untilNs - reading.endNs <= kReadings * windowNs_;
      if (reading.endNs <= untilNs && isRecent) found(reading);
    }
  }

  [[nodiscard]] std::size_t residentBytes() const { return hosts_.residentBytes(); }

 private:
  struct Host {
    Address address;
    std::uint32_t next;
    std::array<Reading, kReadings> readings;
  };

  std::uint64_t windowNs_;
  LazyArray<Host> hosts_;
};

}  // namespace floodwall
