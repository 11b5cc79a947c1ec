// Named sets of prefixes in the kernel: an array that is filled before anything looks at it, and put in force for all
// programs by one update of the outer map's slot.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.h"
#include "filter/filter_maps.h"
#include "filter/named_set_table.h"

namespace floodwall {

/// By bit; empty: no set.
using SetNames = std::array<std::string, NAMED_SETS_MAX>;

/// One generation, in the kernel's memory. In force only where it was put.
class NamedSets {
 public:
  /// Flattens the prefixes and fills the array, which takes about a second for a million. Throws FilterError,
  /// std::invalid_argument and std::length_error.
  explicit NamedSets(std::span<const NamedPrefixes> sets);

  [[nodiscard]] int fd() const noexcept { return map_.fd(); }
  [[nodiscard]] const SetNames& names() const noexcept { return names_; }
  [[nodiscard]] std::uint32_t prefixes() const noexcept { return prefixes_; }
  [[nodiscard]] std::uint32_t ranges() const noexcept { return ranges_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  SetNames names_;
  RowMap map_;
  std::uint32_t prefixes_ = 0;
  std::uint32_t ranges_ = 0;
  std::uint64_t bytes_ = 0;
};

/// Puts a generation in force in place of the one before. Returns once no program reads that one any more, which takes
/// the kernel some milliseconds. Throws FilterError and leaves the one before.
void putNamedSets(const FilterMaps& maps, const NamedSets& sets);

/// The names of the sets in force. After a crash in between there may be some that have no prefix yet, or no longer.
[[nodiscard]] SetNames namesInForce(const FilterMaps& maps);

}  // namespace floodwall
