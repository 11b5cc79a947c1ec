// The configured networks in the form that the kernel reads: tries, a filter of first bits, and counters for packets of
// hosts without a row. Made whole, then put in place by InlineProgram.
#pragma once

#include <cstdint>
#include <span>

#include "base/prefix_table.h"
#include "base/unique_fd.h"
#include "inline_abi.h"

namespace floodwall {

struct InlineNetworks {
  /// Throws SourceError.
  InlineNetworks(std::span<const PrefixValue> prefixes, std::uint32_t networkCount, std::uint32_t lanes);

  /// Lets through what these networks hold, besides what already gets through.
  void addTo(inline_filter& live) const noexcept;
  void writeTo(inline_filter& live) const noexcept;

  UniqueFd trie4;
  UniqueFd trie6;
  /// For each network counts of all lanes.
  UniqueFd counts;
  inline_filter filter{};
};

}  // namespace floodwall
