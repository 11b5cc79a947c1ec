#include "collector/interface_table.h"

#include <algorithm>

namespace floodwall {
namespace {

constexpr unsigned kFirstShift = 28;

}  // namespace

InterfaceTable::InterfaceTable() : shift_(kFirstShift), slots_(std::size_t{1} << (32 - kFirstShift), kFree) {}

InterfaceUse& InterfaceTable::find(std::uint32_t index, const ExporterRule& rule, const FlowExporter& names) {
  std::size_t slot = slotOf(index);
  for (; slots_[slot] != kFree; slot = (slot + 1) & (slots_.size() - 1)) {
    if (entries_[slots_[slot]].index == index) return entries_[slots_[slot]];
  }
  const InterfaceRole role = rule.roleOf(index, names.interfaceName(index));
  if (entries_.size() == kExporterInterfacesMax) {
    others_.role = role;
    return others_;
  }
  slots_[slot] = static_cast<std::uint16_t>(entries_.size());
  entries_.push_back({.index = index, .role = role});
  if (2 * entries_.size() > slots_.size()) grow();
  return entries_.back();
}

void InterfaceTable::grow() {
  shift_--;
  slots_.assign(2 * slots_.size(), kFree);
  for (std::size_t i = 0; i < entries_.size(); i++) {
    std::size_t slot = slotOf(entries_[i].index);
    while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<std::uint16_t>(i);
  }
}

void InterfaceTable::setRoles(const ExporterRule& rule, const FlowExporter& names) noexcept {
  for (InterfaceUse& use : entries_) use.role = rule.roleOf(use.index, names.interfaceName(use.index));
}

}  // namespace floodwall
