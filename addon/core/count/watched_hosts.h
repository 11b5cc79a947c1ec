// The hosts whose packets are sampled apart, each with a slot of its own. Immutable; every change makes a new one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/counters.h"

namespace floodwall {

inline constexpr std::uint32_t kWatchedMax = 1024;
inline constexpr std::uint32_t kNoSlot = 0xffffffff;

struct WatchedHost {
  Address address;
  std::uint32_t slot;
};

class WatchedHosts {
 public:
  WatchedHosts() = default;
  /// `addresses` of 16 bytes each, at most kWatchedMax hosts. A host that was watched before keeps its slot, and with
  /// it the samples that it has.
  WatchedHosts(std::span<const std::uint8_t> addresses, const WatchedHosts& before) {
    std::vector<bool> isTaken(kWatchedMax, false);
    for (std::size_t at = 0; at + 16 <= addresses.size(); at += 16) {
      WatchedHost host{{}, kNoSlot};
      std::memcpy(host.address.bytes.data(), &addresses[at], 16);
      host.slot = before.slotOf(host.address);
      if (host.slot != kNoSlot) isTaken[host.slot] = true;
      hosts_.push_back(host);
    }
    std::sort(hosts_.begin(), hosts_.end(), isBefore);
    hosts_.erase(std::unique(hosts_.begin(), hosts_.end(),
                             [](const WatchedHost& a, const WatchedHost& b) { return a.address == b.address; }),
                 hosts_.end());
    std::uint32_t free = 0;
    for (WatchedHost& host : hosts_) {
      if (host.slot != kNoSlot) continue;
      while (isTaken[free]) free++;
      host.slot = free++;
    }
  }

  [[nodiscard]] std::span<const WatchedHost> hosts() const noexcept { return hosts_; }
  [[nodiscard]] std::uint32_t slotOf(const Address& address) const noexcept {
    const WatchedHost wanted{address, kNoSlot};
    const auto found = std::lower_bound(hosts_.begin(), hosts_.end(), wanted, isBefore);
    return found != hosts_.end() && found->address == address ? found->slot : kNoSlot;
  }

 private:
  static bool isBefore(const WatchedHost& a, const WatchedHost& b) noexcept {
    return std::memcmp(a.address.bytes.data(), b.address.bytes.data(), 16) < 0;
  }

  std::vector<WatchedHost> hosts_;
};

}  // namespace floodwall
