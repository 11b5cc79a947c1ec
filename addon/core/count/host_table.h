// All hosts that are tracked, over all shards: their numbers, addresses and places.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/lazy_array.h"
#include "count/address_hash.h"
#include "count/counters.h"
#include "count/host_index.h"
#include "count/networks.h"

namespace floodwall {

struct TrackedHost {
  enum class State : std::uint8_t {
    free,
    host,
    /// Stands for the packets of a place that belong to no tracked host; has no address.
    untracked,
    /// Replaced by a heavier host: no longer shown, but still part of its group until the last of it has left the
    /// window, and keeps its number until then.
    replaced,
    /// No longer shown, nor part of a group; keeps its number until the last of it has left the window.
    leaving,
  };

  Address address;
  std::uint32_t place;
  /// Milliseconds of the engine's time at the fold that last found packets; wraps around.
  std::uint32_t activeMs;
  /// The last fold that put it on the list of hosts to screen.
  std::uint32_t listedFold;
  State state;
  /// Its counts are kept tick by tick.
  bool isWatched;
};
static_assert(sizeof(TrackedHost) == 32);

class HostTable {
  // Before its first use, since its type is deduced.
  [[nodiscard]] auto hashOfHost() const noexcept {
    return [this](std::uint32_t host) { return hash_.of(hosts_[host].address); };
  }

 public:
  static constexpr std::uint32_t kNone = kNoRow;

  /// At most `maxHosts` hosts, of `numbers` that there are for them, for places, and for replaced hosts.
  HostTable(std::uint32_t maxHosts, std::uint32_t numbers, const AddressHash& hash)
      : maxHosts_(maxHosts), hash_(hash), index_(maxHosts), hosts_(numbers) {}

  [[nodiscard]] TrackedHost& operator[](std::uint32_t host) noexcept { return hosts_[host]; }
  [[nodiscard]] const TrackedHost& operator[](std::uint32_t host) const noexcept { return hosts_[host]; }
  void prefetch(std::uint32_t host) const noexcept { __builtin_prefetch(&hosts_[host], 1); }

  [[nodiscard]] std::uint32_t find(const Address& address) const noexcept {
    return index_.find(hash_.of(address), [&](std::uint32_t host) { return hosts_[host].address == address; });
  }
  /// kNone when there are maxHosts already.
  std::uint32_t add(const Address& address, std::uint32_t place) noexcept {
    if (tracked_ == maxHosts_) return kNone;
    const std::uint32_t host = take(TrackedHost::State::host, place);
    if (host == kNone) return kNone;
    hosts_[host].address = address;
    index_.insert(hash_.of(address), host, hashOfHost());
    tracked_++;
    return host;
  }
  std::uint32_t addUntracked(std::uint32_t place) noexcept { return take(TrackedHost::State::untracked, place); }

  /// Takes the host, or the stand-in for a place, out of sight. Its number is given back by release().
  void retire(std::uint32_t host) noexcept { remove(host, TrackedHost::State::leaving); }
  /// Takes only the host out of sight: its group keeps what it has in the window.
  void replace(std::uint32_t host) noexcept { remove(host, TrackedHost::State::replaced); }
  /// A removed host of which nothing is left in the window.
  void release(std::uint32_t host) noexcept {
    hosts_[host].state = TrackedHost::State::free;
    hosts_[host].place = freeHost_;
    freeHost_ = host;
  }

  /// See HostIndex.
  void settleIndex(std::size_t most) noexcept { index_.settle(most, hashOfHost()); }

  /// Numbers that are or were in use are below this.
  [[nodiscard]] std::uint32_t end() const noexcept { return usedHosts_; }
  [[nodiscard]] std::uint32_t tracked() const noexcept { return tracked_; }
  [[nodiscard]] bool isHost(std::uint32_t host) const noexcept {
    return hosts_[host].state == TrackedHost::State::host;
  }
  [[nodiscard]] std::size_t residentBytes() const { return index_.residentBytes() + hosts_.residentBytes(); }

 private:
  void remove(std::uint32_t host, TrackedHost::State state) noexcept {
    TrackedHost& removed = hosts_[host];
    if (removed.state == TrackedHost::State::host) {
      index_.erase(hash_.of(removed.address), host, hashOfHost());
      tracked_--;
    }
    removed.state = state;
  }

  std::uint32_t take(TrackedHost::State state, std::uint32_t place) noexcept {
    std::uint32_t host = freeHost_;
    if (host != kNone) {
      freeHost_ = hosts_[host].place;
    } else {
      if (usedHosts_ == hosts_.size()) return kNone;
      host = usedHosts_++;
    }
    hosts_[host] = {};
    hosts_[host].state = state;
    hosts_[host].place = place;
    return host;
  }

  std::uint32_t maxHosts_;
  const AddressHash& hash_;
  HostIndex index_;
  LazyArray<TrackedHost> hosts_;
  std::uint32_t usedHosts_ = 0;
  std::uint32_t freeHost_ = kNone;
  std::uint32_t tracked_ = 0;
};

}  // namespace floodwall
