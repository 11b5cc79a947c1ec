// Puts a set of prefixes into the kernel as a whole: written into a copy that is not in force, then put into force by
// one store. Knows nothing of what the prefixes are for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filter/filter_maps.h"

namespace floodwall {

struct SetPrefix {
  /// The first address; no host bits.
  ip_address address{};
  /// In the mapped form; kAnyLength: every address of both families.
  std::uint32_t length = 0;
  /// The number of the rule, and what filter_entry has of it.
  std::uint32_t rule = 0;
  /// The details of the rule that are not in filter_rule: enum details_asks.
  std::uint32_t detailsAsked = 0;
  filter_traits mask{};
  filter_traits wanted{};
  bool asksMore = false;
};

inline constexpr std::uint32_t kAnyLength = UINT32_MAX;

[[nodiscard]] bool isIpv4Prefix(const SetPrefix& prefix);

/// Throws FilterError if there are too many prefixes of a kind, or too many entries of one prefix.
void requireRoom(const FilterMaps& maps, filter_set_kind kind, std::vector<SetPrefix> prefixes);

/// Replaces the set of a kind. Where several have the same prefix, they are tried in the order given. Throws
/// FilterError and leaves the set as it was when it has too many.
void publishSet(const FilterMaps& maps, filter_set_kind kind, std::vector<SetPrefix> prefixes);

/// The entries in force.
[[nodiscard]] std::span<const filter_entry> activeEntries(const FilterMaps& maps, filter_set_kind kind);

}  // namespace floodwall
