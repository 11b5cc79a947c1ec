// The traffic in and out by each interface of one exporter, and the role of each. Looked up for every record.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collector/exporter_rules.h"
#include "collector/flow_limits.h"
#include "flow/flow_exporter.h"

namespace floodwall {

/// Counts all records, also those left out; packets and bytes are multiplied by the sampling rate.
struct InterfaceUse {
  std::uint32_t index = 0;
  InterfaceRole role = InterfaceRole::unset;
  std::uint64_t recordsIn = 0, packetsIn = 0, bytesIn = 0;
  std::uint64_t recordsOut = 0, packetsOut = 0, bytesOut = 0;
};

class InterfaceTable {
 public:
  InterfaceTable();

  /// Valid until the next call that meets a new interface. Over kExporterInterfacesMax all others share one.
  [[nodiscard]] InterfaceUse& of(std::uint32_t index, const ExporterRule& rule, const FlowExporter& names) {
    const std::uint32_t entry = slots_[slotOf(index)];
    if (entry != kFree && entries_[entry].index == index) [[likely]] {
      return entries_[entry];
    }
    return find(index, rule, names);
  }
  /// After a change of the rule, or of names.
  void setRoles(const ExporterRule& rule, const FlowExporter& names) noexcept;

  [[nodiscard]] std::span<const InterfaceUse> uses() const noexcept { return entries_; }

 private:
  static constexpr std::uint16_t kFree = 0xffff;

  [[nodiscard]] std::size_t slotOf(std::uint32_t index) const noexcept { return (index * 0x9e3779b1U) >> shift_; }
  InterfaceUse& find(std::uint32_t index, const ExporterRule& rule, const FlowExporter& names);
  void grow();

  /// Two slots an interface at least; a number of the form 2^(32 - shift_).
  unsigned shift_;
  std::vector<std::uint16_t> slots_;
  std::vector<InterfaceUse> entries_;
  InterfaceUse others_;
};

}  // namespace floodwall
