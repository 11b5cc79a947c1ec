// The numbers of one record, by slot.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "flow/record_layout.h"
#include "flow/waiting_sets.h"

namespace floodwall {

class SlotValues {
 public:
  /// Before the records of another layout: what it does not have is 0.
  void clear() noexcept { values_ = {}; }
  void load(const RecordLayout& layout, const std::uint8_t* record) noexcept {
    for (const NumberField& field : layout.numbers) {
      values_[static_cast<std::size_t>(field.slot)] = big64(record + field.at) << field.shift >> field.shift;
    }
  }
  [[nodiscard]] std::uint64_t operator[](Slot slot) const noexcept { return values_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::uint32_t u32(Slot slot) const noexcept { return static_cast<std::uint32_t>((*this)[slot]); }

 private:
  std::array<std::uint64_t, kSlots> values_{};
};

struct FlowTimes {
  std::uint32_t durationMs = 0;
  std::uint32_t ageMs = 0;
  /// By the exporter's clock or uptime; 0: not known.
  std::int64_t startMs = 0;
};
/// Both by the exporter's uptime: most of NetFlow.
[[nodiscard]] inline FlowTimes uptimesOf(std::uint32_t start, std::uint32_t end, const MessageTimes& times) noexcept {
  const auto since = [](std::uint32_t later, std::uint32_t earlier) {
    return static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(later - earlier), 0));
  };
  if (start == 0 && end == 0) return {};
  return {since(end, start), times.hasUptime ? since(times.uptimeMs, end) : 0, start};
}

/// Times that cannot be, as an end before the start, are taken for unknown: 0.
[[nodiscard]] FlowTimes timesOf(const RecordLayout& layout, const SlotValues& values,
                                const MessageTimes& times) noexcept;

}  // namespace floodwall
