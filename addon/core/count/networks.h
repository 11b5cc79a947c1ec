// The configured networks and hostgroups: which place an address has in them. Immutable; a reload makes a new one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "base/prefix_table.h"
#include "count/counters.h"

namespace floodwall {

/// The configured prefixes, column by column, as NetworksTable in native.d.ts: 16 bytes an address, lengths of the
/// 128-bit form.
struct NetworksColumns {
  std::span<const std::uint8_t> addresses;
  std::span<const std::uint8_t> lengths;
  std::span<const std::uint32_t> networks;
  std::span<const std::uint32_t> groups;
  std::uint32_t networkCount = 0;
  std::uint32_t groupCount = 0;
};

/// A network and the hostgroup that holds in this part of it.
struct Place {
  std::uint32_t network;
  std::uint32_t group;
};

inline constexpr std::uint32_t kNoPlace = PrefixTable::kNone;
/// Prefixes of a table; networks and groups are as many at most.
inline constexpr std::size_t kPrefixesMax = 200'000;

class Networks {
 public:
  Networks() = default;
  /// Throws std::invalid_argument where columns do not fit together or an identifier is not below its count.
  explicit Networks(const NetworksColumns& columns);

  /// Index into places(), or kNoPlace.
  [[nodiscard]] std::uint32_t match(const Address& address) const noexcept { return table_.match(address); }
  [[nodiscard]] std::span<const Place> places() const noexcept { return places_; }
  /// The place of a network as a whole: that of its shortest prefix. kNoPlace if there is none.
  [[nodiscard]] std::uint32_t placeOfNetwork(std::uint32_t network) const noexcept {
    return network < placeOfNetwork_.size() ? placeOfNetwork_[network] : kNoPlace;
  }
  [[nodiscard]] std::uint32_t networkCount() const noexcept {
    return static_cast<std::uint32_t>(placeOfNetwork_.size());
  }
  [[nodiscard]] std::uint32_t groupCount() const noexcept { return groupCount_; }
  [[nodiscard]] std::size_t memoryBytes() const noexcept {
    return table_.memoryBytes() + places_.capacity() * sizeof(Place) + placeOfNetwork_.capacity() * 4;
  }

 private:
  std::vector<Place> places_;
  std::vector<std::uint32_t> placeOfNetwork_;
  std::uint32_t groupCount_ = 0;
  PrefixTable table_;
};

}  // namespace floodwall
