// Sums the rates of the hosts of each prefix in one pass over all hosts: the counting part of carpet detection. Hosts
// of different hostgroups are never summed together. Judges nothing; its owner has the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/fair_lock.h"
#include "base/lazy_array.h"
#include "count/address_hash.h"
#include "count/engine.h"
#include "count/host_index.h"

namespace floodwall {

/// The prefixes of one network: as long as configured, or the network itself if it is smaller.
struct SummedNetwork {
  /// Bits of the address of its family.
  std::uint8_t length = 0;
  bool isIpv4 = false;
};

/// Columns of prefixes, owned by the caller.
struct PrefixColumns {
  std::span<double> sums;
  std::span<double> squares;
  std::span<double> variances;
};
/// Names of each prefix, by its number.
struct PrefixNames {
  std::span<std::uint32_t> groups;
  std::span<std::uint32_t> networks;
  std::span<double> bits;
  /// Address of any of its hosts.
  std::span<std::uint8_t> addresses;
};

class PrefixSums {
 public:
  /// Variances of packets and of bytes.
  static constexpr std::size_t kVariances = 2;
  /// Significant bits of an IPv6 prefix: as many as a double represents exactly.
  static constexpr unsigned kBitsMax = 52;

  /// At most `capacity` prefixes.
  explicit PrefixSums(std::uint32_t capacity);

  /// By network; empty: nothing is summed. Forgets all prefixes.
  void setNetworks(std::vector<SummedNetwork> networks);
  [[nodiscard]] bool isOn() const noexcept { return !networks_.empty(); }

  /// Call this before each pass.
  void begin() noexcept;
  /// Adds the incoming rates of a row. Returns whether the host's prefix is attacked.
  bool add(const HostColumns& rows, std::size_t row);

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  /// Another one when all prefixes were forgotten: numbers are assigned again.
  [[nodiscard]] std::uint32_t generation() const noexcept { return generation_; }
  /// Hosts that were not summed because of too many prefixes.
  [[nodiscard]] std::uint64_t overflow() const noexcept { return overflow_; }
  /// The sums of the first prefixes, as many as fit; and which those from `first` on are.
  void read(const PrefixColumns& out) const;
  void readNames(std::uint32_t first, const PrefixNames& out) const;
  /// By number, 1 for an attacked one; nothing is learned from its hosts. Those beyond are not attacked.
  void setAttacked(std::span<const std::uint8_t> isAttacked) noexcept;

 private:
  struct Sums {
    std::array<double, kMetrics> sums;
    std::array<double, kMetrics> squares;
    /// Variances of the estimates, as counts in the window.
    std::array<double, kVariances> variances;
  };
  struct Prefix {
    /// Group, network and bits.
    Address key;
    Address host;
    bool isAttacked;
  };

  /// kNoRow: it is not summed.
  std::uint32_t prefixOf(const HostColumns& rows, std::size_t row);
  [[nodiscard]] bool isTooSmall(const double* rates) const noexcept;
  [[nodiscard]] auto hashOfPrefix() const noexcept {
    return [this](std::uint32_t prefix) { return hash_.of(prefixes_[prefix].key); };
  }
  void clear() noexcept;

  std::uint32_t capacity_;
  std::vector<SummedNetwork> networks_;
  AddressHash hash_;
  std::optional<HostIndex> index_;
  LazyArray<Prefix> prefixes_;
  LazyArray<Sums> sums_;
  std::uint32_t count_ = 0;
  std::uint32_t generation_ = 0;
  /// That of the last host, which most hosts share with the next one.
  std::uint32_t last_ = kNoRow;
  /// Size of a host below which it starts no prefix of its own; 0 unless there were too many.
  double least_ = 0;
  std::uint64_t overflow_ = 0;
};

/// As its owner and a thread that learns share it.
struct GuardedSums {
  explicit GuardedSums(std::uint32_t capacity) : sums(capacity) {}

  mutable FairLock lock;
  PrefixSums sums;
};

}  // namespace floodwall
